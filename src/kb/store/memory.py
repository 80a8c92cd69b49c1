"""The oracle: a store in plain dictionaries, slow and obvious, that every other engine is compared with."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kb.errors import NotFound, StaleCursor, StoreError
from kb.models import Choice, Seat
from kb.store import oracle
from kb.store.entries import no_model, prepare, unit
from kb.store.memorymodels import Held, MemoryModels, State, known
from kb.text import LEXICAL_VERSION
from kb.types import (
    Candidate,
    CheckReport,
    Entry,
    Extent,
    Filters,
    LexicalQuery,
    ModelInfo,
    Status,
    StoredChunk,
    StoredDocument,
    Vector,
)


class MemorySnapshot:
    def __init__(self, state: State, collection: str | None = None) -> None:
        self._state = state
        self._held = state.held(collection)
        self.revision = state.revision
        self.kept = state.kept
        self.model = self._held.info if self._held else None
        self.chosen = state.choice.store.chosen or state.choice.seat(collection).chosen
        self.calibration = self._held.calibration if self._held else None
        self.lexical_engine = "memory"
        self.vector_engine = "memory"
        self.vocabulary = oracle.Words(self._corpus())

    def match(self, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
        corpus = self._corpus()
        return _best(oracle.match(corpus, query, oracle.passing(corpus, where)), limit)

    def nearest(self, vector: Vector, where: Filters, limit: int) -> list[Candidate]:
        query = unit(vector, self.model) if vector and self.model else b""
        corpus = self._corpus()
        held = {name: found for name, found in self._held.vectors.items() if found} if self._held else {}
        names = [chunk.chunk_id for chunk in oracle.passing(corpus, where) if chunk.chunk_id in held]
        return _best({name: oracle.cosine(query, held[name]) for name in names} if query else {}, limit)

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        query = unit(vector, self.model) if vector and self.model else b""
        vectors = self._held.vectors if self._held else {}
        held = {name: vectors.get(name) for name in chunk_ids}
        found = {name: oracle.cosine(query, held_one) for name, held_one in held.items() if held_one} if query else {}
        return {candidate.chunk_id: candidate.score for candidate in _best(found, len(found))}

    def extents(self, chunk_ids: Sequence[str]) -> dict[str, Extent]:
        return oracle.extents(self._corpus(), chunk_ids)

    def _corpus(self) -> oracle.Corpus:
        return oracle.Corpus(self._state.documents, list(self._state.chunks.values()))

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        return {name: self._state.chunks[name] for name in chunk_ids if name in self._state.chunks}

    def vectors_of(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        return {name: found for name in chunk_ids if self._held and (found := self._held.vectors.get(name))}

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
        self.models = MemoryModels(self._open, self._change)

    @contextmanager
    def snapshot(self, collection: str | None = None) -> Iterator[MemorySnapshot]:
        yield MemorySnapshot(self._open(), collection)

    def put(self, entries: Iterable[Entry]) -> int:
        wanted = list(entries)
        with self._lock:
            state = self._writable()
            held, infos = state.held(), {label: each.info for label, each in state.models.items()}
            for entry in [prepare(entry, held.info if held else None, infos) for entry in wanted]:
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
        state = self._open()
        held = state.held()
        return known(state, held.info.label, embed_hashes) if held else {}

    def set_model(self, model: ModelInfo) -> None:
        with self._lock:
            state = self._writable()
            held = state.held()
            if held is None or held.info != model:
                choice, models = Choice(Seat(model.label)), {model.label: Held(model)}
                self._state = replace(state, choice=choice, models=models, revision=state.revision + 1)

    def fill(self, vectors: Mapping[str, Vector]) -> int:
        with self._lock:
            state = self._writable()
            held = state.held()
            if held is None:
                if vectors:
                    raise no_model()
                return len(state.chunks)
            units = {name: unit(vector, held.info) for name, vector in vectors.items()}
            new = {n: v for n, v in units.items() if n in state.chunks and n not in held.vectors}
            if new:
                held = replace(held, vectors={**held.vectors, **new})
                models = {**state.models, held.info.label: held}
                self._state = replace(state, models=models, revision=state.revision + 1)
            return len(state.chunks) - len(held.vectors)

    def keep(self, name: str, text: str) -> None:
        self._change(lambda state: replace(state, kept={**state.kept, name: text}))

    def status(self) -> Status:
        state = self._open()
        held = state.held()
        model, vectors = (held.info, held.vectors) if held else (None, {})
        documents = sorted(state.documents.values(), key=_place)
        return Status(
            location="memory:",
            engine="memory",
            schema_version=1,
            revision=state.revision,
            documents=len(documents),
            chunks=len(state.chunks),
            vectors=sum(map(bool, vectors.values())),
            bytes=0,
            model=model,
            embedder=None,
            pending=len(state.chunks) - len(vectors),
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

    def _change(self, change: Callable[[State], State]) -> None:
        with self._lock:
            self._state = change(self._writable())

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
    models = dict(state.models)
    for label, vectors in entry.by_model.items():
        pairs = zip((chunk.chunk_id for chunk in entry.chunks), vectors, strict=True)
        new = {name: vector for name, vector in pairs if vector is not None}
        models[label] = replace(models[label], vectors={**models[label].vectors, **new})
    return replace(
        state,
        documents={**state.documents, document.doc_id: document},
        chunks={**state.chunks, **{chunk.chunk_id: chunk for chunk in entry.chunks}},
        models=models,
    )


def _without(state: State, doc_ids: set[str]) -> State:
    chunks = {name: chunk for name, chunk in state.chunks.items() if chunk.doc_id not in doc_ids}
    return replace(
        state,
        documents={name: document for name, document in state.documents.items() if name not in doc_ids},
        chunks=chunks,
        models={
            label: replace(held, vectors={name: vector for name, vector in held.vectors.items() if name in chunks})
            for label, held in state.models.items()
        },
    )


def _place(document: StoredDocument) -> tuple[str, str]:
    return document.collection, document.path


def _best(scores: Mapping[str, float], limit: int) -> list[Candidate]:
    found = [Candidate(name, score) for name, score in scores.items()]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.chunk_id))[: max(limit, 0)]
