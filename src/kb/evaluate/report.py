"""What an evaluation found, as values; saved as JSON and compared with an earlier run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kb.errors import UsageError
from kb.evaluate.metrics import interval, mean
from kb.types import Mode

MEASURES = ("ndcg@10", "mrr@10", "recall@10", "recall@100", "success@1")
HEADLINE = "ndcg@10"
SCHEMA = "eval_report.v1"
NOTICEABLE = 1e-9  # a query whose nDCG moves by less has not changed


@dataclass(frozen=True, slots=True)
class ModeReport:
    """One mode: the mean of each measure with its 95 % interval, and each query's own headline value."""

    mode: Mode
    queries: int
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    per_query: Mapping[str, float]  # nDCG@10 by query id
    rejected: (
        tuple[int, int] | None
    )  # of the questions without an answer: answered with nothing, and how many there are
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class QueryChange:
    query_id: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One mode against the same mode of a saved run, over the queries that both have."""

    mode: Mode
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
class EvalReport:
    name: str
    profile: str
    documents: int
    chunks: int
    model: str | None
    modes: tuple[ModeReport, ...]
    comparisons: tuple[Comparison, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """False when a mode is worse than the baseline beyond chance."""
        return not any(comparison.is_worse for comparison in self.comparisons)


def compare(report: EvalReport, baseline: Mapping[str, Any]) -> tuple[Comparison, ...]:
    """Every mode that both runs measured."""
    saved = {entry["mode"]: entry["per_query"] for entry in baseline["modes"]}
    return tuple(_compare(mode, saved[mode.mode]) for mode in report.modes if mode.mode in saved)


def _compare(mode: ModeReport, before: Mapping[str, float]) -> Comparison:
    shared = [query for query in mode.per_query if query in before]
    changes = [QueryChange(query, before[query], mode.per_query[query]) for query in shared]
    differences = [change.after - change.before for change in changes]
    return Comparison(
        mode=mode.mode,
        queries=len(shared),
        difference=mean(differences),
        interval=interval(differences),
        better=tuple(sorted((c for c in changes if c.after - c.before > NOTICEABLE), key=_gain, reverse=True)),
        worse=tuple(sorted((c for c in changes if c.before - c.after > NOTICEABLE), key=_gain)),
    )


def _gain(change: QueryChange) -> tuple[float, str]:
    return (change.after - change.before, change.query_id)


def to_dict(report: EvalReport) -> dict[str, Any]:
    """The report as JSON shows it and as ``--save`` keeps it."""
    return {"schema_version": SCHEMA, **asdict(report), "ok": report.ok}


def save(report: EvalReport, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_dict(report), ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_baseline(path: Path) -> Mapping[str, Any]:
    """A saved run; UsageError when there is none or it is something else."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["schema_version"] == SCHEMA and all("per_query" in entry for entry in saved["modes"]):
            return dict(saved)
    except FileNotFoundError:
        raise UsageError(f"there is no saved run at {path}", fix=f"kb eval DIR --save {path}") from None
    except (ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{path} is not a saved run of kb eval", fix=f"kb eval DIR --save {path}")
