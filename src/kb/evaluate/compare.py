"""A run against a saved one: how much it differs, which queries changed, and what moved their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kb.evaluate.metrics import interval, mean
from kb.evaluate.rank import NOWHERE, Position
from kb.evaluate.report import Comparison, EvalReport, ModeReport, Moved, QueryChange

NOTICEABLE = 1e-9  # a query whose nDCG moves by less has not changed
EXPLAINED = 5  # changes in either direction that say why
LEGS = ((1, "lexical"), (2, "vector"))  # where a Position holds them


def compare(report: EvalReport, baseline: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[Comparison, ...]:
    """Every mode that both runs measured: with the same profile, or with the only one that the baseline has."""
    found = []
    for row in report.modes:
        saved = [entry for entry in baseline["modes"] if entry["mode"] == row.mode]
        same = [entry for entry in saved if _profile(entry, baseline) == row.profile]
        for entry in same[:1] or (saved if len(saved) == 1 else []):
            found.append(_compare(row, entry, _profile(entry, baseline), texts))
    return tuple(found)


def _profile(entry: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    """A run of an earlier version had one profile, which it named once."""
    return str(entry.get("profile") or baseline.get("profile") or "")


def _compare(row: ModeReport, saved: Mapping[str, Any], profile: str, texts: Mapping[str, str]) -> Comparison:
    before: Mapping[str, float] = saved["per_query"]
    shared = [query for query in row.per_query if query in before]
    changes = [QueryChange(query, before[query], row.per_query[query]) for query in shared]
    differences = [change.after - change.before for change in changes]
    better = sorted(
        (c for c in changes if c.after - c.before > NOTICEABLE), key=lambda c: (c.before - c.after, c.query_id)
    )
    worse = sorted(
        (c for c in changes if c.before - c.after > NOTICEABLE), key=lambda c: (c.after - c.before, c.query_id)
    )
    ranks = _places(saved.get("ranks")) or {}
    return Comparison(
        mode=row.mode,
        profile=row.profile,
        baseline_profile=profile,
        queries=len(shared),
        difference=mean(differences),
        interval=interval(differences),
        better=_with_reasons(better, ranks, row, texts),
        worse=_with_reasons(worse, ranks, row, texts),
    )


def _with_reasons(
    changes: list[QueryChange], before: Mapping[str, Any], row: ModeReport, texts: Mapping[str, str]
) -> tuple[QueryChange, ...]:
    return tuple(
        explain(
            change, _places(before.get(change.query_id)), row.ranks.get(change.query_id, {}), texts.get(change.query_id)
        )
        for change in changes[:EXPLAINED]
    ) + tuple(changes[EXPLAINED:])


def explain(
    change: QueryChange, before: Mapping[str, Any] | None, after: Mapping[str, Position], text: str | None
) -> QueryChange:
    """With the places that moved and what moved them; ``before`` is None where the saved run kept no ranks."""
    if before is None:
        return replace(change, text=text)
    moved = [
        Moved(place, then, now)
        for place in dict.fromkeys([*after, *before])
        if (then := _position(before.get(place))) != (now := after.get(place, NOWHERE))
    ]
    counted = [move for move in moved if move.before[0] != move.after[0]]
    because = [leg for at, leg in LEGS if any(move.before[at] != move.after[at] for move in counted)]
    if counted and not because:
        because = ["fusion"]
    counted.sort(key=lambda move: (min(move.before[0] or 1000, move.after[0] or 1000), move.place))
    return replace(change, text=text, because=tuple(because), moved=tuple(counted))


def _places(saved: Any) -> Mapping[str, Any] | None:
    return saved if isinstance(saved, dict) else None


def _position(saved: Any) -> Position:
    """A file may hold anything: what is no position is nowhere."""
    if (
        not isinstance(saved, list)
        or len(saved) != 3
        or not all(rank is None or isinstance(rank, int) for rank in saved)
    ):
        return NOWHERE
    answer, lexical, vector = saved
    return (answer, lexical, vector)
