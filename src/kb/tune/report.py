"""What tuning found, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kb.tune.proof import Proof

SCHEMA = "tune_report.v1"


@dataclass(frozen=True, slots=True)
class Tried:
    """One setting over the questions that the choice was made by."""

    label: str
    base: str
    alpha: float | None
    rerank: bool
    ndcg: float
    p50_ms: float


@dataclass(frozen=True, slots=True)
class Change:
    """A held-out question that the proposed setting answers better, or worse."""

    query: str
    kind: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Trial:
    """The chosen setting against the present one, over questions that had no part in the choice."""

    label: str
    proof: Proof
    before_ms: float  # medians of a query
    after_ms: float
    better: tuple[Change, ...]
    worse: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A profile to search with. ``settings`` is None where it is one that there is already."""

    profile: str
    collection: str | None
    settings: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class TuneReport:
    """``proposal`` is None where nothing is proposed; ``reason`` then says why."""

    collection: str | None
    documents: int
    chunks: int
    model: str | None
    now: str  # the present profile
    kinds: Mapping[str, int]  # questions by kind
    train: int
    held_out: int
    tried: tuple[Tried, ...] = ()
    trial: Trial | None = None
    proposal: Proposal | None = None
    reason: str = ""
    warnings: tuple[str, ...] = ()


def to_dict(report: TuneReport, applied: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The report as JSON shows it; ``applied`` is what was written where, and how to undo it."""
    return {"schema_version": SCHEMA, **asdict(report), "applied": applied}
