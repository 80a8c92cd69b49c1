"""The places where things plug in, and why they look so.

``Store`` and ``Embedder`` each have several real implementations; every one of them passes the suite that
``kb.testing`` ships. Calls are synchronous and take batches, ids are strings that mean the same on every engine, and
nothing assumes that a store is one file. Ranking stays above the store: it returns candidates with scores, best first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kb.types import (
    Candidate,
    CheckReport,
    Entry,
    Filters,
    LexicalQuery,
    ModelInfo,
    Query,
    SearchResult,
    Status,
    StoredChunk,
    StoredDocument,
    Vector,
)


class Embedder(Protocol):
    """Turns text into unit vectors. Both calls may raise EmbedderFailed; a zero vector means "no known word"."""

    @property
    def info(self) -> ModelInfo: ...

    def embed_query(self, text: str) -> Vector: ...

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]: ...


class Vocabulary(Protocol):
    """The words that the word index of one committed state holds."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages other than English whose words are held by their stems too (``kb.languages``), in order."""
        ...

    def terms(self, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each word or phrase stands in the word index; under "" the number of all chunks."""
        ...

    def spellings(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each word that stands in no chunk: at most five that it may have meant, the likeliest first.

        Words that stand somewhere, and those that have no spelling (numbers, scripts without spaces), are left out.
        """
        ...


class Snapshot(Protocol):
    """One committed state of a store, for as long as it is held: everything read through it is consistent."""

    @property
    def revision(self) -> int:
        """Grows with every committed write, by the number of documents written or removed."""
        ...

    @property
    def model(self) -> ModelInfo | None:
        """The model that made the stored vectors."""
        ...

    @property
    def lexical_engine(self) -> str:
        """What ``match`` runs on, such as "fts5"."""
        ...

    @property
    def vector_engine(self) -> str:
        """The way of ``nearest`` that answers, such as "sqlite-vec" or "numpy"."""
        ...

    def match(self, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
        """Chunks that hold the terms: score descending, then chunk id. Filters act before the limit."""
        ...

    def nearest(self, vector: Vector, where: Filters, limit: int) -> list[Candidate]:
        """Chunks by exact cosine, descending, then chunk id. Filters act before the limit."""
        ...

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The exact cosine of those of these chunks that have a vector: what ``nearest`` would say, best first."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of all chunks."""
        ...

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        """The chunks that exist among these ids."""
        ...

    def documents(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        """The documents that exist among these ids."""
        ...

    def find(self, where: Filters, *, after: str | None = None, limit: int | None = None) -> list[StoredDocument]:
        """Documents by collection and path; ``after`` is the doc_id of the last one seen."""
        ...

    def read(self, doc_id: str) -> tuple[StoredDocument, tuple[StoredChunk, ...]]:
        """One document with all its chunks in order; raises NotFound."""
        ...


class Store(Protocol):
    """Where documents, chunks and vectors live. Reads go through a snapshot, writes through these calls."""

    def snapshot(self) -> AbstractContextManager[Snapshot]: ...

    def put(self, entries: Iterable[Entry]) -> int:
        """Write each document whole, replacing what had its doc_id; durable when it returns. The new revision."""
        ...

    def remove(self, doc_ids: Iterable[str]) -> int:
        """Delete documents and everything derived from them; how many there were."""
        ...

    def vectors(self, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        """Vectors already stored for exactly these texts, so that nothing is embedded twice."""
        ...

    def set_model(self, model: ModelInfo) -> None:
        """Declare the model of all vectors from now on; vectors of another one are dropped in the same step."""
        ...

    def fill(self, vectors: Mapping[str, Vector]) -> int:
        """Store vectors for chunks that lack one, by chunk id; how many still lack one."""
        ...

    def status(self) -> Status: ...

    def check(self, *, repair: bool = False) -> CheckReport:
        """Verify every invariant; with ``repair`` rebuild what is derived and quarantine what is not."""
        ...

    def close(self) -> None: ...


class Retriever(Protocol):
    """One call: a query value in, an ordered answer out. Callers cannot tell a lexical one from a hybrid one."""

    @property
    def index_version(self) -> str: ...

    def retrieve(self, query: Query) -> SearchResult: ...
