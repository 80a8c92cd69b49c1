"""Measures in a store what questions get that it cannot answer: the scale of `no_good_match` and of confidence."""

from __future__ import annotations

from importlib.resources import files

from kb.protocols import Store
from kb.search.confidence import KEPT, Usual, peaks
from kb.search.engine import Engine
from kb.text import LEXICAL_VERSION
from kb.types import Query

LEAST = 500  # chunks: below that the guess serves as well
GROWTH = 1.25  # measured again when the store has grown or shrunk by this factor
SHARE = 0.9  # of the questions that stay below


def bring_up_to_date(store: Store, engine: Engine) -> bool:
    """Measure where that is due; whether it was. About a hundred searches: 1.6 s at 36,000 chunks."""
    status = store.status()
    model = status.model.label if status.model else None
    with store.snapshot() as snapshot:
        known = Usual.of(snapshot.kept.get(KEPT))
    stamp = f"{model}+{LEXICAL_VERSION}"
    grown = not known.chunks or not 1 / GROWTH < status.chunks / known.chunks < GROWTH
    if status.chunks < LEAST or not (grown or known.model != stamp):
        return False
    store.keep(KEPT, measure(engine, status.chunks, stamp).to_json())
    return True


def measure(engine: Engine, chunks: int, stamp: str) -> Usual:
    found = [peaks(*engine.blended(Query(text, profile="best"))) for text in questions()]
    words = sorted(words for words, _ in found)
    meaning = sorted(meaning for _, meaning in found)
    at = int(SHARE * len(found))
    return Usual(words[at], meaning[at], chunks, stamp)


def questions() -> list[str]:
    """Questions about everything: whatever a store is about, it answers few of them."""
    return files("kb").joinpath("search", "strangers.txt").read_text(encoding="utf-8").splitlines()
