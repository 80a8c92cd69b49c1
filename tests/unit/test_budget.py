"""Packing: it fits, it keeps the order, it never loses a hit, and the tokens go where they say most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.search import budget, cursor
from kb.types import Citation, Hit, Retrieval, Section

CITED = Citation("line", "a.md#L1", "a.md", None, start=1, end=1)
WORDS = ("alpha", "beta", "gamma", "delta", "안녕하세요", "kubernetes", "one two three four five six")


def hit(rank: int, snippet: str, text: str | None = None, parent: str | None = None) -> Hit:
    return Hit(
        rank=rank, score=1 / rank, score_kind="rrf", chunk_id=f"c{rank}", doc_id="d", doc_path="a.md", title="A",
        type="markdown", kind="info", collection="default", tags=(), heading_path=(), section_label=None,
        snippet=snippet, highlights=(), citation=CITED,
        retrieval=Retrieval("hybrid", 1.0, 0.03, None, None, None, None, None, None),
        index_version="hybrid:x", chunker_version="c", embedding_model=None, indexed_at="", stale=False, text=text,
        parent=Section(CITED, parent) if parent else None,
    )  # fmt: skip


@st.composite
def pages(draw: st.DrawFn) -> list[Hit]:
    texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
    found = []
    for rank in range(1, draw(st.integers(0, 12)) + 1):
        text = draw(texts)
        whole = text if len(text) > 40 and draw(st.booleans()) else None
        found.append(hit(rank, text[:40], whole, draw(st.none() | texts) if whole is None else None))
    return found


@given(pages(), st.integers(1, 3000))
def test_it_fits_unless_it_is_one_hit(hits: list[Hit], tokens: int) -> None:
    packed = budget.pack(hits, tokens)
    assert len(packed) <= 1 or sum(map(budget.cost, packed)) <= tokens
    assert bool(packed) == bool(hits)


@given(pages(), st.integers(1, 3000))
def test_ranks_stay_in_order_and_the_first_is_there(hits: list[Hit], tokens: int) -> None:
    packed = budget.pack(hits, tokens)
    assert [each.rank for each in packed] == sorted({each.rank for each in packed})
    assert [each.rank for each in packed[:1]] == [each.rank for each in hits[:1]]
    for each in packed:
        assert each in (hits[each.rank - 1], budget.brief(hits[each.rank - 1]))


@given(pages())
def test_with_room_for_all_nothing_is_left_out(hits: list[Hit]) -> None:
    assert budget.pack(hits, sum(map(budget.cost, hits)) + 1) == hits


@given(pages(), st.integers(1, 900), st.integers(1, 15))
def test_pages_under_a_budget_never_repeat_or_lose_a_hit(hits: list[Hit], tokens: int, top: int) -> None:
    page: cursor.Cursor | None = cursor.first(top, 1, "q")
    given_ranks: list[int] = []
    while page is not None:
        places = cursor.places(page, top, len(hits))
        packed = budget.pack([hits[place] for place in places], tokens)
        given_ranks += [each.rank for each in packed]
        page = cursor.after(page, [each.rank - 1 for each in packed], len(hits))
        if page is not None:
            page = cursor.decode(page.encode(), question="q", revision=1)
    assert sorted(given_ranks) == [each.rank for each in hits]


def test_a_hit_too_large_is_skipped_for_later_ones() -> None:
    hits = [hit(1, "small"), hit(2, "x" * 4000), hit(3, "also small")]
    assert [each.rank for each in budget.pack(hits, 200)] == [1, 3]


def test_what_repeats_an_earlier_hit_comes_last() -> None:
    text = "the very same words in each of these two places"
    hits = [hit(1, text), hit(2, text), hit(3, "something else that nobody said before")]
    assert [each.rank for each in budget.pack(hits, 2 * budget.cost(hits[0]) + 5)] == [1, 3]


def test_what_is_left_buys_whole_texts_from_the_top() -> None:
    hits = [hit(n, f"snippet {n}", f"whole text {n} {'word ' * 50}{n}") for n in (1, 2, 3)]
    brief = sum(budget.cost(budget.brief(each)) for each in hits)
    more = budget.cost(hits[0]) - budget.cost(budget.brief(hits[0]))
    packed = budget.pack(hits, brief + 2 * more)
    assert [each.text is not None for each in packed] == [True, True, False]


def test_a_parent_without_room_keeps_its_place() -> None:
    found = budget.pack([replace(hit(1, "x", parent="long " * 500))], 100)[0]
    assert found.parent == Section(CITED, None)


@pytest.mark.parametrize(
    "fields",
    [
        [0, 10, 1, "q", [3], []],
        [5, 10, 1, "q", [3, 3], []],
        [5, 10, 1, "q", [-1], []],
        [5, 10, 1, "q", [], [2_000_000]],
        [5, 10, 1, "q", [], [-1]],
        [5, 10, 1, "q", [], [0] * 101],
        [5, 10, 1, "q", [1]],
        [5, 10, 1, "q", "12", None],
        [5, 10, 1, "q", [1e400], []],
        [5, 10, 1, "q", [], [1e400]],
    ],
)
def test_a_forged_cursor_is_refused(fields: list[object]) -> None:
    import base64
    import json

    from kb.errors import StaleCursor

    text = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")
    with pytest.raises(StaleCursor):
        cursor.decode(text, question="q", revision=1)
