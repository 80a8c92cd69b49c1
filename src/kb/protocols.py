"""The places where things plug in, and why they look so.

``Store`` and ``Embedder`` each have several real implementations; every one of them passes the suite that
``kb.testing`` ships. Calls are synchronous and take batches, ids are strings that mean the same on every engine, and
nothing assumes that a store is one file. Ranking stays above the store: it returns candidates with scores, best first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kb.models import Calibration, Choice, ModelStatus
from kb.types import (
    Candidate,
    CheckReport,
    Entry,
    Extent,
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


class Reranker(Protocol):
    """Reads the query and a text together and says how well the one answers the other."""

    @property
    def label(self) -> str:
        """What it is, for ``--explain``."""
        ...

    def rerank(self, query: str, texts: Sequence[str], deadline: float) -> list[float]:
        """A number in [0, 1] for each text, in order; the first ones only where ``time.monotonic()`` reaches the
        deadline before the last. Raises RerankFailed."""


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


class Facts(Protocol):
    """What a snapshot says of itself."""

    @property
    def revision(self) -> int:
        """Grows with every committed write, by the number of documents written or removed."""
        ...

    @property
    def model(self) -> ModelInfo | None:
        """The model that made the vectors that ``nearest`` compares: of the collection that was named, or the store."""
        ...

    @property
    def chosen(self) -> bool:
        """Whether that model was asked for by name (``kb model set``), so that the settings do not decide."""
        ...

    @property
    def calibration(self) -> Calibration | None:
        """What random pairs of the store's chunks have as cosines by that model; None while not measured."""
        ...

    @property
    def lexical_engine(self) -> str:
        """What ``match`` runs on, such as "fts5"."""
        ...

    @property
    def vector_engine(self) -> str:
        """The way of ``nearest`` that answers, such as "sqlite-vec" or "numpy"."""
        ...

    @property
    def kept(self) -> Mapping[str, str]:
        """What ``Store.keep`` was given, by name."""
        ...


class Snapshot(Facts, Protocol):
    """One committed state of a store, for as long as it is held: everything read through it is consistent."""

    def match(self, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
        """Chunks that hold the terms: score descending, then chunk id. Filters act before the limit."""
        ...

    def nearest(self, vector: Vector, where: Filters, limit: int) -> list[Candidate]:
        """Chunks by exact cosine, descending, then chunk id. Filters act before the limit."""
        ...

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The exact cosine of those of these chunks that have a vector: what ``nearest`` would say, best first."""
        ...

    def extents(self, chunk_ids: Sequence[str]) -> dict[str, Extent]:
        """How long those of these chunks that exist are, and how many chunks their documents have."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of all chunks."""
        ...

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        """The chunks that exist among these ids."""
        ...

    def vectors_of(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The stored vectors of these chunks; those that have none, or a zero vector, are left out."""
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

    def snapshot(self, collection: str | None = None) -> AbstractContextManager[Snapshot]:
        """``collection``: searches will be within this one alone, by the model that answers there."""
        ...

    @property
    def models(self) -> Models:
        """Which model answers, and how that changes without a pause."""
        ...

    def put(self, entries: Iterable[Entry]) -> int:
        """Write each document whole, replacing what had its doc_id; durable when it returns. The new revision."""
        ...

    def remove(self, doc_ids: Iterable[str]) -> int:
        """Delete documents and everything derived from them; how many there were."""
        ...

    def vectors(self, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        """Vectors of the answering model already stored for exactly these texts: nothing is embedded twice."""
        ...

    def set_model(self, model: ModelInfo) -> None:
        """Declare the model of all vectors from now on; those of any other are dropped in the same step.

        For a store without vectors worth keeping; ``models.want`` changes the model of a store while it answers.
        """
        ...

    def fill(self, vectors: Mapping[str, Vector]) -> int:
        """Store vectors of the answering model for chunks that lack one, by chunk id; how many still lack one."""
        ...

    def keep(self, name: str, text: str) -> None:
        """Remember something measured of the store, beside its documents. It is derived, and no new revision."""
        ...

    def status(self) -> Status: ...

    def check(self, *, repair: bool = False) -> CheckReport:
        """Verify every invariant; with ``repair`` rebuild what is derived and quarantine what is not."""
        ...

    def close(self) -> None: ...


class Models(Protocol):
    """The models of a store: one answers, others may be in building or kept. They go by their labels.

    A search never mixes two: it is answered by the one of its snapshot. Writes of vectors of a model that does not
    answer are no new revision, as no answer changes; the switch is one.
    """

    def choice(self) -> Choice:
        """Which model answers and which is wanted, for the store and for single collections."""
        ...

    def held(self) -> dict[str, ModelInfo]:
        """The models whose vectors the store holds, by label."""
        ...

    def want(self, model: ModelInfo, collection: str | None = None, *, chosen: bool = True) -> bool:
        """From now on this model is to answer, at once where all its vectors are there; whether answers may change.

        For a model that is new to the store, the vectors of those that are no longer used make room. Wanting the model
        that answers ends a change that is under way.
        """
        ...

    def waiting(self, label: str, collection: str | None, limit: int) -> list[str]:
        """Ids of chunks, of one collection or all, that have no vector of this model yet; none: there are no more."""
        ...

    def vectors(self, label: str, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        """``Store.vectors``, of this model."""
        ...

    def fill(self, label: str, vectors: Mapping[str, Vector], *, rate: float | None = None) -> None:
        """Store vectors for chunks that lack one, by the hash of their text; ``rate``: chunks per second."""
        ...

    def switch(self) -> bool:
        """Let each wanted model answer where nothing waits any more, in one step; whether one did."""
        ...

    def drop(self) -> int:
        """Forget the vectors of models that neither answer nor are to; how many bytes they took."""
        ...

    def note(self, label: str, problem: str | None) -> None:
        """Remember why the building of this model stopped."""
        ...

    def calibrate(self) -> None:
        """Measure the cosines of random pairs anew for models whose number of vectors changed by a quarter."""
        ...

    def building(self) -> AbstractContextManager[None]:
        """Held by the one process that builds; StoreBusy where another does."""
        ...

    def status(self) -> ModelStatus: ...


class Retriever(Protocol):
    """One call: a query value in, an ordered answer out. Callers cannot tell a lexical one from a hybrid one."""

    @property
    def index_version(self) -> str: ...

    def retrieve(self, query: Query) -> SearchResult: ...
