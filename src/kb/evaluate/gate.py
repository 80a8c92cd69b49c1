"""What a run must reach to pass: ``--fail-under ndcg@10=0.6``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kb.errors import UsageError
from kb.evaluate.report import MEASURES, ModeReport, Shortfall

FIX = "--fail-under ndcg@10=0.6"


def parse(gates: Iterable[str]) -> dict[str, float]:
    """``measure=least`` texts as numbers."""
    wanted: dict[str, float] = {}
    for gate in gates:
        name, _, least = gate.partition("=")
        try:
            wanted[name.strip().lower()] = float(least)
        except ValueError:
            raise UsageError(f"{gate!r} does not say measure=value", fix=FIX) from None
        if not 0 <= float(least) <= 1:
            raise UsageError(f"{gate!r}: every measure is between 0 and 1", fix=FIX)
    return wanted


def shortfalls(rows: Iterable[ModeReport], wanted: Mapping[str, float]) -> tuple[Shortfall, ...]:
    """Every row must reach every value."""
    return tuple(
        Shortfall(row.mode, row.profile, name, row.means[name], least)
        for row in rows
        for name, least in wanted.items()
        if row.means[name] < least
    )


def check(wanted: Mapping[str, float], budgets: Iterable[int]) -> None:
    """UsageError for a measure that this run will not have: before it takes minutes, not after."""
    known = (*MEASURES, *(budget_measure(tokens) for tokens in budgets))
    for name in wanted:
        if name not in known:
            raise UsageError(f"{name!r} is not measured", fix=f"one of: {', '.join(known)}")


def budget_measure(tokens: int) -> str:
    """The name of the recall within so many tokens."""
    return f"recall@{tokens}t"
