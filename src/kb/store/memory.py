"""The oracle: a store in plain dictionaries, slow and obvious, that every other engine is compared with."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb.errors import NotFound, StaleCursor, StoreError
from kb.store import oracle
from kb.store.entries import prepare, unit
from kb.text import LEXICAL_VERSION
from kb.types import (
    Candidate,
    CheckReport,
    Entry,
    Filters,
    LexicalQuery,
    ModelInfo,
    Status,
    StoredChunk,
    StoredDocument,
    Vector,
)


@dataclass(frozen=True, slots=True)
class State:
    """All of a store at one revision. It is replaced as a whole and never changed."""

    revision: int = 0
    model: ModelInfo | None = None
    documents: dict[str, StoredDocument] = field(default_factory=dict)
    chunks: dict[str, StoredChunk] = field(default_factory=dict)
    vectors: dict[str, Vector] = field(default_factory=dict)  # by chunk id; b"": nothing to compare


class MemorySnapshot:
    def __init__(self, state: State) -> None:
        self._state = state
        self.revision = state.revision
        self.model = state.model
        self.lexical_engine = "memory"
        self.vector_engine = "memory"
        self.vocabulary = oracle.Words(self._corpus())

    def match(self, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
        corpus = self._corpus()
        return _best(oracle.match(corpus, query, oracle.passing(corpus, where)), limit)

    def nearest(self, vector: Vector, where: Filters, limit: int) -> list[Candidate]:
        query = unit(vector, self.model) if vector and self.model else b""
        corpus = self._corpus()
        held = {name: found for name, found in self._state.vectors.items() if found}
        names = [chunk.chunk_id for chunk in oracle.passing(corpus, where) if chunk.chunk_id in held]
        return _best({name: oracle.cosine(query, held[name]) for name in names} if query else {}, limit)

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        query = unit(vector, self.model) if vector and self.model else b""
        held = {name: self._state.vectors.get(name) for name in chunk_ids}
        found = {name: oracle.cosine(query, held_one) for name, held_one in held.items() if held_one} if query else {}
        return {candidate.chunk_id: candidate.score for candidate in _best(found, len(found))}

    def _corpus(self) -> oracle.Corpus:
        return oracle.Corpus(self._state.documents, list(self._state.chunks.values()))

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        return {name: self._state.chunks[name] for name in chunk_ids if name in self._state.chunks}

    def documents(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        return {name: self._state.documents[name] for name in doc_ids if name in self._state.documents}

    def find(self, where: Filters, *, after: str | None = None, limit: int | None = None) -> list[StoredDocument]:
        corpus = self._corpus()
        found = sorted(oracle.documents_passing(corpus, where), key=_place)
        if after is not None:
            if after not in self._state.documents:
                raise StaleCursor("the document after which to go on is gone", fix="start again from the first page")
            found = [document for document in found if _place(document) > _place(self._state.documents[after])]
        return found[:limit]

    def read(self, doc_id: str) -> tuple[StoredDocument, tuple[StoredChunk, ...]]:
        if doc_id not in self._state.documents:
            raise NotFound(f"there is no document '{doc_id}'", fix="kb list")
        chunks = [chunk for chunk in self._state.chunks.values() if chunk.doc_id == doc_id]
        return self._state.documents[doc_id], tuple(sorted(chunks, key=lambda chunk: chunk.ordinal))


class MemoryStore:
    """It lives as long as the object. Every write makes a new state; snapshots keep the one they began with."""

    def __init__(self, folder: str | Path = "", *, read_only: bool = False, create: bool = True) -> None:
        self._state: State | None = State()
        self._read_only = read_only
        self._lock = threading.RLock()

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        yield MemorySnapshot(self._open())

    def put(self, entries: Iterable[Entry]) -> int:
        wanted = list(entries)
        with self._lock:
            state = self._writable()
            for entry in [prepare(entry, state.model) for entry in wanted]:
                state = _with(state, entry)
            self._state = replace(state, revision=state.revision + len(wanted))
            return self._state.revision

    def remove(self, doc_ids: Iterable[str]) -> int:
        with self._lock:
            state = self._writable()
            gone = set(doc_ids) & set(state.documents)
            if gone:
                self._state = replace(_without(state, gone), revision=state.revision + len(gone))
            return len(gone)

    def vectors(self, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        state, wanted = self._open(), set(embed_hashes)
        pairs = [
            (c.embed_hash, state.vectors[c.chunk_id]) for c in state.chunks.values() if c.chunk_id in state.vectors
        ]
        blank_first = sorted((pair for pair in pairs if pair[0] in wanted), key=lambda pair: pair[1] != b"")
        return dict(blank_first)

    def set_model(self, model: ModelInfo) -> None:
        with self._lock:
            state = self._writable()
            if state.model != model:
                self._state = replace(state, model=model, vectors={}, revision=state.revision + 1)

    def fill(self, vectors: Mapping[str, Vector]) -> int:
        with self._lock:
            state = self._writable()
            units = {name: unit(vector, state.model) for name, vector in vectors.items()}
            new = {n: v for n, v in units.items() if n in state.chunks and n not in state.vectors}
            if new:
                state = replace(state, vectors={**state.vectors, **new}, revision=state.revision + 1)
                self._state = state
            return len(state.chunks) - len(state.vectors)

    def status(self) -> Status:
        state = self._open()
        model = state.model
        documents = sorted(state.documents.values(), key=_place)
        return Status(
            location="memory:",
            engine="memory",
            schema_version=1,
            revision=state.revision,
            documents=len(documents),
            chunks=len(state.chunks),
            vectors=sum(map(bool, state.vectors.values())),
            bytes=0,
            model=model,
            embedder=None,
            pending=len(state.chunks) - len(state.vectors),
            by_type=Counter(sorted(document.type for document in documents)),
            by_collection=Counter(document.collection for document in documents),
            tags=Counter(sorted(tag for document in documents for tag in document.tags)),
            roots=tuple(sorted({document.root for document in documents if document.root is not None})),
            index_version=f"hybrid:{LEXICAL_VERSION}+{model.label}" if model else f"lexical:{LEXICAL_VERSION}",
            last_indexed_at=max((document.indexed_at for document in documents), default=None) or None,
        )

    def check(self, *, repair: bool = False) -> CheckReport:
        state = self._open()
        return CheckReport((), {"documents": len(state.documents), "chunks": len(state.chunks)})

    def close(self) -> None:
        self._state = None

    def _open(self) -> State:
        if self._state is None:
            raise StoreError("the store is closed", fix="open it again")
        return self._state

    def _writable(self) -> State:
        if self._read_only:
            raise StoreError("the store was opened for reading only", fix="open it without read_only")
        return self._open()


def _with(state: State, entry: Entry) -> State:
    document = entry.document
    same_place = {d.doc_id for d in state.documents.values() if _place(d) == _place(document)}
    state = _without(state, {document.doc_id, *same_place})
    if any(chunk.chunk_id in state.chunks for chunk in entry.chunks):
        raise StoreError(f"a chunk id of {document.path!r} belongs to another document", fix="kb check")
    vectors = dict(zip((chunk.chunk_id for chunk in entry.chunks), entry.vectors, strict=False))
    return replace(
        state,
        documents={**state.documents, document.doc_id: document},
        chunks={**state.chunks, **{chunk.chunk_id: chunk for chunk in entry.chunks}},
        vectors={**state.vectors, **{name: vector or b"" for name, vector in vectors.items()}},
    )


def _without(state: State, doc_ids: set[str]) -> State:
    chunks = {name: chunk for name, chunk in state.chunks.items() if chunk.doc_id not in doc_ids}
    return replace(
        state,
        documents={name: document for name, document in state.documents.items() if name not in doc_ids},
        chunks=chunks,
        vectors={name: vector for name, vector in state.vectors.items() if name in chunks},
    )


def _place(document: StoredDocument) -> tuple[str, str]:
    return document.collection, document.path


def _best(scores: Mapping[str, float], limit: int) -> list[Candidate]:
    found = [Candidate(name, score) for name, score in scores.items()]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.chunk_id))[: max(limit, 0)]
