"""What ``kb why-not`` tells."""

from __future__ import annotations

from dataclasses import dataclass

from kb.types import Citation, Query, StoredDocument, Tier


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps the document out. ``fix`` is what to type where no other search would help."""

    code: str
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class FilterCheck:
    """One filter of the search, on its own."""

    flag: str  # "--tags"
    wanted: str
    passes: bool
    has: str  # what the document has instead


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word of the query that the nearest chunk does not hold."""

    word: str
    chunks: int  # of the whole store that hold it
    near: tuple[str, ...] = ()  # words of the document that look like it
    elsewhere: bool = False  # another chunk of the document holds it


@dataclass(frozen=True, slots=True)
class Words:
    """The document in the keyword leg: that of its chunks which stands highest."""

    ran: bool
    reason: str | None = None  # why it did not run
    tier: Tier | None = None
    rank: int | None = None  # however deep; None: it holds nothing that was looked for
    score: float | None = None
    depth: int = 0  # ranks that count
    place: Citation | None = None
    held: tuple[str, ...] = ()
    missing: tuple[MissingWord, ...] = ()
    dropped: tuple[str, ...] = ()  # common words that were not looked for


@dataclass(frozen=True, slots=True)
class Meaning:
    """The document in the vector leg: that of its chunks which is nearest."""

    ran: bool
    reason: str | None = None
    rank: int | None = None
    cosine: float | None = None
    depth: int = 0
    place: Citation | None = None
    vectors: int = 0  # of its chunks that have one


@dataclass(frozen=True, slots=True)
class Standing:
    """The document in the ranking that the answer is cut from."""

    score_kind: str
    rank: int | None = None  # None: it is not in it
    ranked: int = 0  # hits in that ranking
    score: float | None = None
    relevance: float | None = None
    decay: float | None = None
    last_score: float | None = None  # of the last hit that is shown


@dataclass(frozen=True, slots=True)
class Change:
    """A search that shows the document, tried."""

    told: tuple[str, ...]  # what differs: "--top 37", "without --tags ops"
    query: Query
    rank: int
    argv: tuple[str, ...]  # to type


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Whether a document is in an answer, what keeps it out, and the smallest change that was found to show it."""

    ref: str
    query: Query
    profile: str
    document: StoredDocument | None  # None: it is not in the store
    chunks: int
    rank: int | None  # in the answer; None: it is not in it
    reasons: tuple[Reason, ...] = ()
    filters: tuple[FilterCheck, ...] = ()
    words: Words = Words(False)
    meaning: Meaning = Meaning(False)
    standing: Standing | None = None
    change: Change | None = None
    warnings: tuple[str, ...] = ()
    revision: int = 0
    took_ms: float = 0.0

    @property
    def shown(self) -> bool:
        return self.rank is not None
