"""Which model answers, which is being made ready, and how that changes: pure values, the same for every store.

One model answers for the store as a whole, and has vectors for all of it. A collection may have gone ahead of a change
that is under way, or have a model of its own; then both have vectors for its chunks. Models go by their labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from kb.models import Choice, Seat


def want(choice: Choice, label: str, collection: str | None = None, *, chosen: bool = True) -> Choice:
    """From now on this model is to answer; the one that answers goes on until the other is ready."""
    if collection is None:
        others = () if chosen else tuple(pair for pair in choice.collections if pair[1].chosen)
        wanted = None if label == choice.store.answering else label
        return Choice(replace(choice.store, wanted=wanted, chosen=chosen), others)
    own = choice.seat(collection)
    wanted = None if label == choice.label(collection) else label
    return _with(choice, collection, replace(own, wanted=wanted, chosen=True))


def promote(choice: Choice, collections: Iterable[str], whole: Callable[[str, str | None], bool]) -> Choice:
    """Let every wanted model answer where it has all vectors: ``whole(label, collection)``, None for the store."""
    for name, seat in choice.collections:
        if seat.wanted and whole(seat.wanted, name):
            choice = _with(choice, name, replace(seat, answering=seat.wanted, wanted=None, former=choice.label(name)))
    wanted = choice.store.wanted
    if wanted is None:
        return choice
    if whole(wanted, None):
        store = Seat(wanted, None, choice.store.answering, choice.store.chosen)
        own = tuple((name, seat) for name, seat in choice.collections if seat.chosen)
        return _tidy(Choice(store, own))
    for name in sorted(collections):
        seat = choice.seat(name)
        if not seat.chosen and seat.answering != wanted and whole(wanted, name):
            choice = _with(choice, name, Seat(wanted))
    return choice


def earlier(choice: Choice, collection: str | None = None) -> str | None:
    """What to go back to: what answers now if a change is under way, else what answered before it."""
    seat = choice.seat(collection)
    if seat.wanted:
        return choice.label(collection)
    if seat.former:
        return seat.former
    return choice.store.answering if collection is not None and seat.answering else None


def forget(choice: Choice, held: Iterable[str]) -> Choice:
    """The choice without models that are no longer there."""
    known = frozenset(held)

    def there(label: str | None) -> str | None:
        return label if label in known else None

    def cleared(seat: Seat) -> Seat:
        return replace(
            seat, answering=there(seat.answering), wanted=there(seat.wanted), former=there(seat.former)
        )  # fmt: skip

    return _tidy(Choice(cleared(choice.store), tuple((name, cleared(seat)) for name, seat in choice.collections)))


def _with(choice: Choice, collection: str, seat: Seat) -> Choice:
    return _tidy(replace(choice, collections=tuple(sorted({**dict(choice.collections), collection: seat}.items()))))


def _tidy(choice: Choice) -> Choice:
    """Without collections that only say what holds for the store anyway."""
    store = choice.store.answering
    kept = []
    for name, seat in choice.collections:
        if seat.wanted is None and seat.answering in (None, store):
            continue
        kept.append((name, seat))
    return replace(choice, collections=tuple(kept))


# ---------------------------------------------------------------- as text


def to_json(choice: Choice) -> str:
    return json.dumps({"store": _plain(choice.store), "collections": {n: _plain(s) for n, s in choice.collections}})


def from_json(text: str | None) -> Choice:
    """Raises ValueError, TypeError or KeyError for what is no choice."""
    if text is None:
        return Choice()
    known = json.loads(text)
    own = {str(name): _seat(value) for name, value in known["collections"].items()}
    return Choice(_seat(known["store"]), tuple(sorted(own.items())))


def _plain(seat: Seat) -> list[Any]:
    return [seat.answering, seat.wanted, seat.former, seat.chosen]


def _seat(value: Any) -> Seat:
    answering, wanted, former, chosen = value
    for label in (answering, wanted, former):
        if label is not None and not isinstance(label, str):
            raise TypeError(f"a model is called {label!r}")
    return Seat(answering, wanted, former, bool(chosen))


def labels(choice: Choice) -> frozenset[str]:
    """Every model that the choice names."""
    seats = (choice.store, *(seat for _, seat in choice.collections))
    return frozenset(
        label for seat in seats for label in (seat.answering, seat.wanted, seat.former) if label
    )  # fmt: skip
