"""A run against a saved one: how much it differs, and which queries changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb.evaluate.metrics import interval, mean
from kb.evaluate.report import Comparison, EvalReport, ModeReport, QueryChange
from kb.evaluate.why import explain, places

NOTICEABLE = 1e-9  # a query whose nDCG moves by less has not changed
EXPLAINED = 5  # changes in either direction that say why


def compare(report: EvalReport, baseline: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[Comparison, ...]:
    """Every mode that both runs measured: with the same profile, or with the only one that the baseline has."""
    found = []
    for row in report.modes:
        saved = [entry for entry in baseline["modes"] if entry["mode"] == row.mode]
        same = [entry for entry in saved if _profile(entry, baseline) == row.profile]
        for entry in same[:1] or (saved if len(saved) == 1 else []):
            legs = {"lexical", "vector"}
            alone = legs <= {other.mode for other in report.modes} and legs <= {
                other["mode"] for other in baseline["modes"]
            }
            found.append(_compare(row, entry, _profile(entry, baseline), texts, alone))
    return tuple(found)


def _profile(entry: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    """A run of an earlier version had one profile, which it named once."""
    return str(entry.get("profile") or baseline.get("profile") or "")


def _compare(
    row: ModeReport, saved: Mapping[str, Any], profile: str, texts: Mapping[str, str], alone: bool
) -> Comparison:
    before: Mapping[str, float] = saved["per_query"]
    shared = [query for query in row.per_query if query in before]
    changes = [QueryChange(query, before[query], row.per_query[query]) for query in shared]
    changes.sort(key=lambda change: (-abs(change.after - change.before), change.query_id))
    differences = [row.per_query[query] - before[query] for query in shared]
    ranks = places(saved.get("ranks")) or {}

    def told(change: QueryChange) -> QueryChange:
        query = change.query_id
        return explain(change, places(ranks.get(query)), row, texts.get(query), legs_measured=alone)

    better = [change for change in changes if change.after - change.before > NOTICEABLE]
    worse = [change for change in changes if change.before - change.after > NOTICEABLE]
    return Comparison(
        mode=row.mode,
        profile=row.profile,
        baseline_profile=profile,
        queries=len(shared),
        difference=mean(differences),
        interval=interval(differences),
        better=(*map(told, better[:EXPLAINED]), *better[EXPLAINED:]),
        worse=(*map(told, worse[:EXPLAINED]), *worse[EXPLAINED:]),
    )
