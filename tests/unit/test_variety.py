"""Variety: maximal marginal relevance as its definition says, and the limit per document."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.search import variety
from kb.search.fuse import Fused
from kb.testing import direction


def ranking(count: int) -> list[Fused]:
    return [Fused(f"c{n:03d}", 1 - n / 1000, 1 - n / 1000, None, None, None) for n in range(count)]


def names(items: list[Fused]) -> list[str]:
    return [item.chunk_id for item in items]


def by_definition(count: int, alike: list[list[float]], share: float) -> list[int]:
    """The slow and obvious way: every time, each candidate against all that were chosen."""

    def value(i: int, chosen: list[int]) -> float:
        likest = max((alike[max(i, j)][min(i, j)] for j in chosen), default=0.0)
        return round(share * (1 - i / variety.DEPTH) - (1 - share) * likest, variety.DIGITS)

    chosen: list[int] = []
    while len(chosen) < count:
        left = [i for i in range(count) if i not in chosen]
        chosen.append(min(left, key=lambda i: (-value(i, chosen), i)))
    return chosen


@given(st.lists(st.integers(0, 5), max_size=12), st.floats(0, 1))
def test_it_is_the_definition(seeds: list[int], share: float) -> None:
    alike = variety.cosines([direction(seed) for seed in seeds])
    found = variety.mmr(ranking(len(seeds)), alike, share)
    assert [int(name[1:]) for name in names(found)] == by_definition(len(seeds), alike, share)


@given(st.lists(st.integers(0, 5), max_size=20), st.floats(0, 1))
def test_nothing_is_lost_and_the_first_stays_first(seeds: list[int], share: float) -> None:
    items = ranking(len(seeds) + 30)  # more than have a likeness: they follow as they were
    found = variety.mmr(items, variety.cosines([direction(seed) for seed in seeds]), share)
    assert sorted(names(found)) == names(items)
    assert found[len(seeds) :] == items[len(seeds) :]
    assert not seeds or found[0] == items[0]


def test_one_is_relevance_alone_and_less_brings_others_forward() -> None:
    alike = variety.cosines([direction(seed) for seed in ("a", "a", "a", "b")])
    assert names(variety.mmr(ranking(4), alike, 1.0)) == ["c000", "c001", "c002", "c003"]
    assert names(variety.mmr(ranking(4), alike, 0.5))[:2] == ["c000", "c003"]


def test_likeness_of_words() -> None:
    words = [frozenset("ab"), frozenset("ab"), frozenset("bc"), frozenset()]
    assert variety.overlaps(words) == [[], [1.0], [0.333333, 0.333333], [0.0, 0.0, 0.0]]


def test_it_is_fast_in_pure_python() -> None:
    """15 ms for 50 vectors of 256 components is the promise; here in seconds of this process, with slack for slow ones."""
    vectors = [direction(n, 256) for n in range(variety.DEPTH)]
    times = []
    for _ in range(5):
        started = time.process_time()
        variety.mmr(ranking(100), variety.cosines(vectors), 0.7)
        times.append(time.process_time() - started)
    assert min(times) < 0.060


@pytest.mark.parametrize("most", [1, 2, 3])
def test_at_most_so_many_of_a_document(most: int) -> None:
    items = ranking(12)
    doc_of = {item.chunk_id: f"d{n % 3}" for n, item in enumerate(items)}
    assert names(variety.per_document(items, doc_of, most)) == names(items)[: 3 * most]
