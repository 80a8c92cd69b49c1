"""Neighbours: what is merged, what is not, and that citations and texts still fit together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kb.search import neighbours
from kb.search.fuse import Fused
from kb.types import Chunk, Span, StoredChunk


def chunk(doc: str, ordinal: int, *, page: int | None = None, heading: str = "", text: str = "") -> StoredChunk:
    span = Span("page", page, page, ordinal, ordinal) if page else Span("line", 1 + 3 * ordinal, 2 + 3 * ordinal, 0, 0)
    body = Chunk(text or f"text {ordinal}", span, heading_path=(heading,) if heading else ())
    return StoredChunk(f"{doc}:{ordinal}", doc, ordinal, body, "")


def ranked(*found: tuple[str, float]) -> list[Fused]:
    return [Fused(name, score, score, None, None, None) for name, score in found]


def merged(items: list[Fused], *chunks: StoredChunk) -> list[tuple[str, ...]]:
    return [item.merged or (item.chunk_id,) for item in neighbours.merge(items, {c.chunk_id: c for c in chunks})]


def test_neighbours_become_one_at_the_rank_of_the_best() -> None:
    chunks = [chunk("a", n) for n in range(4)] + [chunk("b", 0)]
    items = ranked(("a:2", 1.0), ("b:0", 0.9), ("a:1", 0.8), ("a:0", 0.7))
    assert merged(items, *chunks) == [("a:0", "a:1", "a:2"), ("b:0",)]


def test_what_does_not_match_itself_is_no_part() -> None:
    found = merged(ranked(("a:1", 1.0), ("a:2", 0.5), ("a:0", 0.49)), *[chunk("a", n) for n in range(3)])
    assert found == [("a:1", "a:2"), ("a:0",)]


def test_pages_and_documents_are_never_crossed() -> None:
    chunks = [chunk("a", 0, page=1), chunk("a", 1, page=2), chunk("b", 2)]
    assert len(merged(ranked(("a:0", 1.0), ("a:1", 1.0), ("b:2", 1.0)), *chunks)) == 3


def test_what_is_longer_than_four_is_no_place() -> None:
    chunks = [chunk("a", n) for n in range(9)]
    found = merged(ranked(*((f"a:{n}", 1.0) for n in range(9))), *chunks)
    assert [len(parts) for parts in found] == [4, 4, 1]


@given(st.permutations([f"{doc}:{n}" for doc in "ab" for n in range(8)]), st.integers(0, 16))
def test_each_chunk_is_in_one_hit_and_parts_are_neighbours(order: list[str], count: int) -> None:
    everything = [chunk(doc, n) for doc in "ab" for n in range(8)]
    items = ranked(*((name, 1 - n / 40) for n, name in enumerate(order[:count])))
    found = merged(items, *everything)
    assert sorted(name for parts in found for name in parts) == sorted(order[:count])
    for parts in found:
        assert len(parts) <= neighbours.MOST_PARTS
        assert all(int(b[2:]) == int(a[2:]) + 1 and a[0] == b[0] for a, b in pairwise(parts))
        best = min(parts, key=order.index)
        assert min(range(count), key=lambda n: (order[n] not in parts, n)) == order.index(best)


def test_a_section_is_what_shares_its_headings_and_fits() -> None:
    chunks = [chunk("a", n, heading="x" if n < 2 else "y", text="word " * 60) for n in range(12)]
    found = neighbours.section(chunks, [chunks[4]])
    assert chunks[4] in found
    assert all(c.chunk.heading_path == ("y",) for c in found)
    assert sum(len(c.chunk.text) for c in found) <= neighbours.SECTION_CHARS
    assert [c.ordinal for c in found] == list(range(found[0].ordinal, found[-1].ordinal + 1))
    long = chunk("b", 0, text="long " * 900)
    assert neighbours.section([long, chunk("b", 1)], [long]) == [long]
