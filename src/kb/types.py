"""Every value that crosses a boundary. This module imports nothing of kb."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

Vector = bytes  # little-endian float32 components of unit length; b"" and all-zero mean "nothing to compare"

Mode = Literal["hybrid", "lexical", "vector"]
Kind = Literal["code", "info"]
DocType = Literal["pdf", "markdown", "code", "note"]
Trust = Literal["generated", "secondary", "primary"]
Tier = Literal["fts", "trigram", "like", "raw"]

DOC_TYPES: tuple[DocType, ...] = ("pdf", "markdown", "code", "note")
TRUST_LEVELS: tuple[Trust, ...] = ("generated", "secondary", "primary")  # ascending
DEFAULT_COLLECTION = "default"


class Value:
    """Equality, hash and text of frozen dataclasses, shared instead of generated anew for each of them.

    A search from the command line meets fifty of them, and generating that code was a sixth of the instructions that
    its imports took (423 million, now 351); a search as a process of its own went from 229 to 218 ms.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in zip(_names(self), _values(self), strict=True))
        return f"{self.__class__.__qualname__}({told})"


def _names(value: object) -> tuple[str, ...]:
    return value.__match_args__  # type: ignore[attr-defined, no-any-return]


def _values(value: object) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in _names(value))


# ---------------------------------------------------------------- documents and chunks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Span(Value):
    """Where a chunk comes from. Lines and pages count from 1 and are inclusive.

    Offsets are byte offsets into the original file for ``line`` and ``code`` sources, and character offsets into
    the text of the page for ``page`` sources.
    """

    kind: Literal["line", "page"]
    start: int
    end: int
    offset_start: int
    offset_end: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chunk(Value):
    """A searchable piece of a document: an exact piece of the original text with its place."""

    text: str
    span: Span
    kind: Kind = "info"
    heading_path: tuple[str, ...] = ()
    symbol: str | None = None  # "Class.method" for code
    lang: str | None = None  # "python", "ko", ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Document(Value):
    """A record that is not a file, as given to ``KB.put``."""

    path: str
    text: str
    title: str | None = None
    tags: tuple[str, ...] | list[str] = ()
    type: DocType | None = None
    collection: str | None = None
    lang: str | None = None
    repo: str | None = None
    version: str | None = None
    trust: Trust | None = None
    date: date | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FileStamp(Value):
    """What tells a changed file from an unchanged one without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredDocument(Value):
    """A document as a store keeps it."""

    doc_id: str
    path: str  # unique within its collection; relative to the root it was found under, POSIX slashes
    title: str
    type: DocType
    collection: str = DEFAULT_COLLECTION
    tags: tuple[str, ...] = ()
    lang: str | None = None
    repo: str | None = None
    version: str | None = None
    trust: Trust = "primary"
    date: str | None = None  # ISO day: of the file name, else the front matter, else the file
    source: str | None = None  # absolute path of the file (surrogateescape); None for records
    root: str | None = None  # absolute path of the folder given to `add`
    stamp: FileStamp | None = None
    content_hash: str = ""  # of the original bytes
    signature: str = ""  # parser, chunker and the settings that change their output
    chunker_version: str = ""
    encoding: str = "utf-8"  # of the original bytes
    indexed_at: str = ""  # RFC 3339, UTC


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredChunk(Value):
    """A chunk as a store keeps it, together with what a hit needs of its document."""

    chunk_id: str
    doc_id: str
    ordinal: int
    chunk: Chunk
    embed_hash: str  # of exactly the text that is embedded: title, headings, chunk


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entry(Value):
    """One document with its chunks and, where known, their vectors: the unit of a write."""

    document: StoredDocument
    chunks: tuple[StoredChunk, ...]
    vectors: tuple[Vector | None, ...] = ()  # () or one per chunk; None where there is nothing to embed
    by_model: Mapping[str, tuple[Vector | None, ...]] = field(default_factory=dict)  # by label; None: not known yet


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelInfo(Value):
    """The identity of an embedding model. Vectors of two identities are never mixed."""

    id: str
    revision: str  # first 12 hex digits of the hash of its weights or settings
    dimension: int
    scripts: tuple[str, ...] = ()  # scripts it reads, such as ("latin",); () is all
    query_prefix: str = ""
    passage_prefix: str = ""
    remote: bool = False
    spec: str = ""  # how it is named in the settings, where its id does not say it

    @property
    def label(self) -> str:
        return f"{self.id}@{self.revision}"


# ---------------------------------------------------------------- asking


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Filters(Value):
    """What a hit must satisfy. Every leg obeys all of it, before its ranking is cut."""

    tags: tuple[str, ...] = ()  # all of them
    tags_any: tuple[str, ...] = ()  # at least one
    types: tuple[DocType, ...] = ()  # one of
    kind: Kind | None = None
    lang: str | None = None
    path: str | None = None  # glob: `*` stays within a folder, `**` does not
    collection: str | None = None
    repo: str | None = None
    version: str | None = None
    since: str | None = None  # ISO day, inclusive
    before: str | None = None  # ISO day, exclusive
    trust_min: Trust | None = None

    @property
    def empty(self) -> bool:
        return self == Filters()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shape(Value):
    """How a ranking becomes an answer. All of it acts on the whole ranking, before a page is cut from it."""

    per_doc: int | None = None  # at most so many hits of one document
    mmr: float | None = None  # 1 is relevance alone, 0 variety alone; None is off
    merge: bool = False  # neighbouring chunks that both match become one hit
    parent: bool = False  # each hit with the section that it stands in
    rerank: bool | None = None  # None: as the profile says


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Query(Value):
    """A search, complete: nothing about it is read from anywhere else. None means the profile's default."""

    text: str
    top: int | None = None
    mode: Mode = "hybrid"
    profile: str | None = None
    filters: Filters = Filters()
    threshold: float | None = None
    min_score: float | None = None
    alpha: float | None = None
    cursor: str | None = None
    budget: int | None = None  # tokens
    explain: bool = False
    now: date | None = None  # for decay; None is today
    shape: Shape = Shape()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Term(Value):
    """A word, or with ``phrase`` a run of words in this order."""

    text: str
    phrase: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LexicalQuery(Value):
    """A keyword query that a store can run. ``raw`` is an FTS5 expression of the user's own."""

    tier: Tier
    terms: tuple[Term, ...] = ()
    join: Literal["any", "all"] = "any"
    raw: str | None = None
    deadline: float | None = None  # time.monotonic() after which the store raises QueryTimeout
    repeats: bool = False  # a word that is asked for twice counts twice (join "any")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidate(Value):
    """A chunk that a leg found, best first.

    ``score`` is bm25 turned positive, the number of distinct words for the ``like`` tier, or the cosine.
    """

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Extent(Value):
    """The size of a chunk and of its document, for comparing scores of long and short ones."""

    doc_id: str
    length: float  # words in the index, relative to those of the average chunk of the store
    siblings: int  # chunks of its document, itself included


# ---------------------------------------------------------------- answering


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Citation(Value):
    """The exact place of a hit: lines, a page, or the lines of a symbol in code."""

    kind: Literal["line", "page", "code"]
    uri: str
    path: str
    section: str | None
    start: int | None = None
    end: int | None = None
    page: int | None = None
    symbol: str | None = None
    lang: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Retrieval(Value):
    """How a hit was found: each leg's score and rank, or None where it took no part."""

    method: Mode
    fusion_score: float
    rrf_score: float | None
    lexical_score: float | None
    vector_score: float | None
    lexical_rank: int | None
    vector_rank: int | None
    decay: float | None
    tier: Tier | None
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Section(Value):
    """The section that a hit stands in; ``text`` is None where the answer has it already or the budget has no room."""

    citation: Citation
    text: str | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hit(Value):
    """One chunk of an answer, with everything needed to show and cite it."""

    rank: int
    score: float
    score_kind: str
    chunk_id: str
    doc_id: str
    doc_path: str
    title: str
    type: DocType
    kind: Kind
    collection: str
    tags: tuple[str, ...]
    heading_path: tuple[str, ...]
    section_label: str | None
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    citation: Citation
    retrieval: Retrieval
    index_version: str
    chunker_version: str
    embedding_model: str | None
    indexed_at: str
    stale: bool
    source: str | None = None  # absolute path on this machine, where there is one
    repo: str | None = None
    version: str | None = None
    text: str | None = None  # all of it, with a budget that has room; None where the snippet is all of it
    merged: tuple[str, ...] = ()  # chunk ids in the order of the document, where neighbours became one hit
    parent: Section | None = None
    confidence: float | None = None  # the probability that it is relevant, where the profile tells it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leg(Value):
    """What one way of finding did, and why not if it did not run."""

    engine: str
    ran: bool
    tier: Tier | None
    candidates: int
    ms: float
    reason: str | None = None  # why it did not run


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SearchResult(Value):
    """An answer: its hits in order, and how it came about."""

    query: str
    mode: Mode
    profile: str
    hits: tuple[Hit, ...]
    next_cursor: str | None
    truncated: bool
    lexical: Leg
    vector: Leg
    revision: int
    warnings: tuple[str, ...]
    took_ms: float
    trace: Mapping[str, Any] | None = None
    no_good_match: bool | None = None  # nothing in the store answers; None: the profile does not tell
    evidence: Mapping[str, Any] | None = None  # why, or why not

    @property
    def returned(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Passage(Value):
    """What ``get`` returns: exact text, with its place and, on request, its neighbours."""

    doc_id: str
    doc_path: str
    title: str
    text: str
    citation: Citation
    chunk_id: str | None = None
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()


# ---------------------------------------------------------------- reports


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Issue(Value):
    """A file that was skipped or failed, and why."""

    path: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AddReport(Value):
    """What an ``add`` or ``put`` did. ``ok`` is false when files failed or it was interrupted."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    skipped: tuple[Issue, ...] = ()
    failed: tuple[Issue, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    took_ms: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.failed and not self.interrupted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Progress(Value):
    """One event of a running ``add``. ``done`` counts documents that are committed, never earlier."""

    event: Literal["scan", "document", "skipped", "failed", "removed", "done", "interrupted"]
    path: str | None = None
    done: int = 0
    total: int = 0
    chunks: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Status(Value):
    """Counts, sizes, model and revision of a store."""

    location: str
    engine: str
    schema_version: int
    revision: int
    documents: int
    chunks: int
    vectors: int
    bytes: int
    model: ModelInfo | None
    embedder: str | None
    pending: int  # chunks that wait for a vector
    by_type: Mapping[str, int] = field(default_factory=dict)
    by_collection: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    index_version: str = ""
    last_indexed_at: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem(Value):
    """One broken promise that ``check`` found."""

    code: str
    detail: str
    repairable: bool = True  # derived data, which `kb repair` rebuilds; else it is quarantined


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckReport(Value):
    problems: tuple[Problem, ...]
    checked: Mapping[str, int] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


def utc_now(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
