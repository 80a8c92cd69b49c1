"""Measures in a store what questions get that it cannot answer: the scale of `no_good_match` and of confidence."""

from __future__ import annotations

import threading
from importlib.resources import files

from kb.errors import KBError
from kb.protocols import Store
from kb.search.confidence import KEPT, Usual, peaks
from kb.search.engine import Engine
from kb.text import LEXICAL_VERSION
from kb.types import Mode, Query

LEAST = 500  # chunks: below that the guess serves as well
GROWTH = 1.25  # measured again when the store has grown or shrunk by this factor
SHARE = 0.9  # of the questions that stay below


def bring_up_to_date(store: Store, engine: Engine, stop: threading.Event | None = None) -> bool:
    """Measure where that is due; whether it was. About a hundred searches: 1.6 s at 36,000 chunks.

    What was added is acknowledged by now: whoever wants to stop need not wait, and a search that fails fails nothing else.
    """
    status = store.status()
    with store.snapshot() as snapshot:
        known = Usual.of(snapshot.kept.get(KEPT))
    stamp = f"{status.model.label if status.model else None}+{LEXICAL_VERSION}"
    grown = not known.chunks or not 1 / GROWTH < status.chunks / known.chunks < GROWTH
    if status.chunks < LEAST or not (grown or known.model != stamp):
        return False
    near = status.model is not None and not status.model.remote  # no service is sent a hundred questions nobody asked
    try:
        found = measure(engine, status.chunks, stamp, mode="hybrid" if near else "lexical", stop=stop)
    except KBError:  # too slow, or a model that does not answer: the next run tries again
        return False
    if found is not None:
        store.keep(KEPT, found.to_json())
    return found is not None


def measure(
    engine: Engine, chunks: int, stamp: str, *, mode: Mode = "hybrid", stop: threading.Event | None = None
) -> Usual | None:
    """None when it was stopped. Without the vector leg the usual nearness of meaning stays a guess."""
    words, meaning = [], []
    for text in questions():
        if stop is not None and stop.is_set():
            return None
        most, nearest = peaks(*engine.blended(Query(text, profile="best", mode=mode)))
        words.append(most)
        meaning.append(nearest)
    at = int(SHARE * len(words))
    return Usual(sorted(words)[at], sorted(meaning)[at] if mode == "hybrid" else Usual().meaning, chunks, stamp)


def questions() -> list[str]:
    """Questions about everything: whatever a store is about, it answers few of them."""
    return files("kb").joinpath("search", "strangers.txt").read_text(encoding="utf-8").splitlines()
