"""Why a query changed: read from where its relevant places stood before, and stand now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kb.evaluate.asking import DEPTH
from kb.evaluate.rank import NOWHERE, Position
from kb.evaluate.report import ModeReport, Moved, QueryChange

COUNTED = 10  # ranks that nDCG@10 looks at: what moved beneath them explains nothing
LEGS = ((1, "lexical"), (2, "vector"))  # where a Position holds them


def explain(
    change: QueryChange, before: Mapping[str, Any] | None, row: ModeReport, text: str | None, *, legs_measured: bool
) -> QueryChange:
    """With its text, the places that moved and what moved them; ``before`` is None where the saved run kept no ranks.

    ``legs_measured``: both runs measured each leg alone, so that a leg without a rank is known not to have one.
    """
    if before is None:
        return replace(change, text=text)
    after = row.ranks.get(change.query_id, {})
    pairs = [
        (place, _position(before.get(place)), after.get(place, NOWHERE)) for place in dict.fromkeys([*after, *before])
    ]
    moved = [Moved(place, then, now) for place, then, now in pairs if then[0] != now[0] and _best(then, now) <= COUNTED]
    moved.sort(key=lambda move: (_best(move.before, move.after), move.place))
    because: tuple[str, ...] = (row.mode,) if moved else ()
    if row.mode == "hybrid":
        because = _because(moved, legs_measured)
    return replace(change, text=text, because=because, moved=tuple(moved))


def _best(then: Position, now: Position) -> int:
    """The better of its ranks in the two answers."""
    return min(then[0] or DEPTH + 1, now[0] or DEPTH + 1)


def _because(moved: list[Moved], legs_measured: bool) -> tuple[str, ...]:
    """The legs that rank a place otherwise; the fusion where both are known not to."""
    changes = [{leg: _leg_changed(move, at, legs_measured) for at, leg in LEGS} for move in moved]
    legs = tuple(leg for _, leg in LEGS if any(change[leg] for change in changes))
    if not legs and any(not any(known is None for known in change.values()) for change in changes):
        return ("fusion",)
    return legs


def _leg_changed(move: Moved, at: int, legs_measured: bool) -> bool | None:
    """None is not known: what an answer does not show has ranks only from a leg that was measured alone."""
    then, now = move.before[at], move.after[at]
    if move.before[0] is not None and move.after[0] is not None:
        return then != now
    if not legs_measured:
        return None if then is None or now is None else then != now
    return _seen(then) != _seen(now)


def _seen(rank: int | None) -> int | None:
    """A leg alone is asked to this depth; an answer also shows deeper ones."""
    return rank if rank is not None and rank <= DEPTH else None


def places(saved: Any) -> Mapping[str, Any] | None:
    return saved if isinstance(saved, dict) else None


def _position(saved: Any) -> Position:
    """A file may hold anything: what is no position is nowhere."""
    if not isinstance(saved, list) or len(saved) != 3 or any(not _is_rank(rank) for rank in saved):
        return NOWHERE
    answer, lexical, vector = saved
    return (answer, lexical, vector)


def _is_rank(rank: Any) -> bool:
    return rank is None or (isinstance(rank, int) and rank > 0)
