"""What an evaluation found, as values; saved as JSON and compared with an earlier run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kb.errors import UsageError
from kb.evaluate.metrics import Calibration
from kb.evaluate.rank import Position
from kb.types import Mode

MEASURES = ("ndcg@10", "mrr@10", "recall@10", "recall@100", "success@1")
HEADLINE = "ndcg@10"
SCHEMA = "eval_report.v1"


@dataclass(frozen=True, slots=True)
class Foreign:
    """Whether the store knows what it does not know: `no_good_match` on questions of another collection, and its own."""

    name: str
    questions: int
    recognised: int
    own_questions: int
    false_alarms: int


@dataclass(frozen=True, slots=True)
class ModeReport:
    """One mode of one profile: the mean of each measure with its 95 % interval, and what each query brought."""

    mode: Mode
    profile: str
    queries: int
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    per_query: Mapping[str, float]  # nDCG@10 by query id
    ranks: Mapping[str, Mapping[str, Position]]  # by query id, of the relevant places that were found
    rejected: tuple[int, int] | None  # of the questions without an answer: recognised as such, and how many there are
    p50_ms: float
    p95_ms: float
    calibration: Calibration | None = None  # of `confidence`, where the profile tells it
    foreign: Foreign | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A relevant place and where it stood in both runs."""

    place: str
    before: Position
    after: Position


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query that got better or worse. The largest changes say why.

    ``because`` names what ranks a relevant place otherwise than before: "lexical", "vector", or "fusion" where both legs
    rank them as before and the answer does not.
    """

    query_id: str
    before: float
    after: float
    text: str | None = None
    because: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One mode and profile against the same of a saved run, over the queries that both have."""

    mode: Mode
    profile: str
    baseline_profile: str
    queries: int
    difference: float  # of nDCG@10
    interval: tuple[float, float]  # paired bootstrap
    better: tuple[QueryChange, ...]
    worse: tuple[QueryChange, ...]

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval lies below zero."""
        return self.interval[1] < 0


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A mean below what ``--fail-under`` asks for."""

    mode: Mode
    profile: str
    measure: str
    value: float
    least: float


@dataclass(frozen=True, slots=True)
class EvalReport:
    name: str
    profile: str  # the first of them
    documents: int
    chunks: int
    model: str | None
    modes: tuple[ModeReport, ...]
    comparisons: tuple[Comparison, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """False when a mode is worse than the baseline beyond chance, or below what was asked for."""
        return not self.shortfalls and not any(comparison.is_worse for comparison in self.comparisons)

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.profile for row in self.modes))


def to_dict(report: EvalReport) -> dict[str, Any]:
    """The report as JSON shows it and as ``--save`` keeps it."""
    return {"schema_version": SCHEMA, **asdict(report), "ok": report.ok}


def save(report: EvalReport, path: Path) -> None:
    """Without blanks: the ranks of a thousand queries fill a line of 100 kB, and would fill thousands of lines."""
    text = json.dumps(to_dict(report), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def load_baseline(path: Path) -> Mapping[str, Any]:
    """A saved run; UsageError when there is none or it is something else."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["schema_version"] == SCHEMA and all(_is_measured(entry) for entry in saved["modes"]):
            return dict(saved)
    except FileNotFoundError:
        raise UsageError(f"there is no saved run at {path}", fix=f"kb eval DIR --save {path}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise UsageError(f"{path} is not a saved run of kb eval", fix=f"kb eval DIR --save {path}")


def _is_measured(entry: Mapping[str, Any]) -> bool:
    """Whether a comparison can read it; ``profile`` and ``ranks`` came later and may be missing."""
    return isinstance(entry["mode"], str) and all(
        isinstance(value, int | float) for value in entry["per_query"].values()
    )
