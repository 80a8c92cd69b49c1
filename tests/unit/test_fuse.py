"""Fusion against numbers computed by hand."""

from __future__ import annotations

import pytest

from kb.config import Profile
from kb.search.fuse import RRF, Ranked, Single, Weighted, fusion_of, ranked


def leg(*ids: str) -> dict[str, Ranked]:
    return ranked([(chunk_id, 0.5) for chunk_id in ids])


def test_N08_ranks_two_and_five_give_0_0315() -> None:
    lexical = leg("a", "x", "b", "c", "d")
    vector = leg("e", "f", "g", "h", "x")
    fused = RRF(k=60).fuse(lexical, vector)
    assert fused[0].chunk_id == "x"
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 65, abs=1e-9)
    assert f"{fused[0].score:.4f}" == "0.0315"
    assert fused[0].score > max(item.score for item in fused[1:])


def test_N08_k_is_configurable() -> None:
    assert RRF(k=1).fuse(leg("a"), leg("a"))[0].score == 1.0
    assert fusion_of(Profile(name="p", rrf_k=7), None).k == 7  # type: ignore[union-attr]


def test_H02_absent_from_a_leg_gets_nothing_from_it() -> None:
    fused = {item.chunk_id: item for item in RRF(k=60).fuse(leg("a", "b"), leg("b"))}
    assert fused["a"].score == pytest.approx(1 / 61)
    assert fused["a"].vector is None
    assert fused["b"].score == pytest.approx(1 / 62 + 1 / 61)


def test_H03_first_in_both_legs_scores_one() -> None:
    fused = RRF(k=60, normalize=True).fuse(leg("a", "b"), leg("a", "c"))
    assert fused[0].normalized == 1.0
    assert fused[0].score == 1.0


def test_H03_found_by_one_leg_of_two_scores_at_most_half() -> None:
    fused = RRF(k=60, normalize=True).fuse(leg("a"), leg("b"))
    assert [item.normalized for item in fused] == [0.5, 0.5]


def test_H03_one_leg_that_ran_alone_scores_one() -> None:
    assert RRF(k=60).fuse(leg("a"), None)[0].normalized == 1.0


def test_H03_the_order_is_that_of_the_raw_scores() -> None:
    lexical, vector = leg(*"abcdef"), leg(*"fxaybz")
    raw = [item.chunk_id for item in RRF(k=60).fuse(lexical, vector)]
    normalized = [item.chunk_id for item in RRF(k=60, normalize=True).fuse(lexical, vector)]
    assert raw == normalized


def test_H05_ties_go_to_the_lexical_rank_then_to_the_chunk_id() -> None:
    fused = RRF(k=60).fuse(leg("z", "m"), leg("a", "n"))
    assert [item.chunk_id for item in fused] == ["z", "a", "m", "n"]
    both_absent = RRF(k=60).fuse({}, {"q": Ranked(1, 0.1), "b": Ranked(1, 0.1)})
    assert [item.chunk_id for item in both_absent] == ["b", "q"]


@pytest.mark.parametrize(("alpha", "expected"), [(0.5, 1 / 61 + 1 / 62), (0.25, 1.5 / 61 + 0.5 / 62)])
def test_S06_alpha_weighs_the_legs(alpha: float, expected: float) -> None:
    fused = {item.chunk_id: item for item in RRF(k=60, alpha=alpha).fuse(leg("a"), leg("b", "a"))}
    assert fused["a"].score == pytest.approx(expected)


def test_S06_alpha_one_half_is_plain_rrf() -> None:
    lexical, vector = leg(*"abc"), leg(*"cbd")
    assert RRF(k=60, alpha=0.5).fuse(lexical, vector) == RRF(k=60).fuse(lexical, vector)


def test_M02_seven_tenths_vector_and_three_tenths_keyword() -> None:
    fused = Weighted(0.7, 0.3).fuse({"a": Ranked(1, 0.5)}, {"a": Ranked(1, 0.8), "b": Ranked(2, 0.4)})
    assert [(item.chunk_id, item.score) for item in fused] == [("a", 0.71), ("b", 0.28)]


def test_M02_weights_are_divided_by_the_sum_of_those_whose_leg_ran() -> None:
    assert Weighted(0.7, 0.3).fuse({"a": Ranked(1, 0.5)}, None)[0].score == 0.5
    assert Weighted(3, 1).fuse({"a": Ranked(1, 0.4)}, {"a": Ranked(1, 0.8)})[0].score == pytest.approx(0.7)


def test_H01_a_single_leg_keeps_its_own_order_and_score() -> None:
    fused = Single("bm25").fuse({"b": Ranked(1, 0.9), "a": Ranked(2, 0.9)}, None)
    assert [(item.chunk_id, item.score, item.raw) for item in fused] == [("b", 0.9, None), ("a", 0.9, None)]


@pytest.mark.parametrize("fusion", [RRF(60), RRF(60, normalize=True), Weighted(0.7, 0.3), Single("bm25")])
def test_an_empty_leg_and_an_absent_one_give_no_hits_and_no_error(fusion: RRF | Weighted | Single) -> None:
    assert fusion.fuse({}, {}) == []
    assert fusion.fuse(None, {}) == []
