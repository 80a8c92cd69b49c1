"""The measures against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from kb.evaluate.metrics import interval, mean, measure, ndcg, recall, reciprocal_rank, success


def test_ndcg_of_one_answer_at_rank_three() -> None:
    assert ndcg([0, 0, 1], [1]) == pytest.approx(1 / math.log2(4))  # 0.5


def test_ndcg_is_one_for_the_best_order_and_uses_linear_gains() -> None:
    assert ndcg([3, 2, 1], [1, 2, 3]) == pytest.approx(1.0)
    # dcg = 1/1 + 3/log2(3) = 2.8928; best = 3/1 + 1/log2(3) = 3.6309
    assert ndcg([1, 3], [3, 1]) == pytest.approx(2.892789 / 3.630930, abs=1e-6)


def test_ndcg_counts_what_was_missed_and_cuts_at_its_depth() -> None:
    # one of two found, at rank 1: 1 / (1 + 1/log2(3))
    assert ndcg([1, 0], [1, 1]) == pytest.approx(1 / 1.630930, abs=1e-6)
    assert ndcg([0] * 10 + [1], [1]) == 0.0
    assert ndcg([], [1]) == 0.0
    assert ndcg([0], []) == 0.0


def test_reciprocal_rank_recall_and_success() -> None:
    assert reciprocal_rank([0, 0, 0, 2]) == 0.25
    assert reciprocal_rank([0] * 10 + [1]) == 0.0
    assert recall([0, 1, 0, 1], [1, 1, 1, 0], 10) == pytest.approx(2 / 3)
    assert recall([0, 1, 0, 1], [1, 1, 1, 0], 2) == pytest.approx(1 / 3)
    assert success([1, 0]) == 1.0
    assert success([0, 1]) == 0.0


def test_measure_holds_all_of_them() -> None:
    assert measure([1.0], [1.0]) == {
        "ndcg@10": 1.0,
        "mrr@10": 1.0,
        "recall@10": 1.0,
        "recall@100": 1.0,
        "success@1": 1.0,
    }


def test_the_interval_is_repeatable_and_holds_the_mean() -> None:
    values = [0.0, 1.0] * 100
    low, high = interval(values)
    assert (low, high) == interval(values)
    assert low < mean(values) < high
    # the standard error of the mean is 0.5 / sqrt(200) = 0.0354: the interval is about 0.5 ± 0.07
    assert low == pytest.approx(0.43, abs=0.03)
    assert high == pytest.approx(0.57, abs=0.03)
    assert interval([0.25]) == (0.25, 0.25)
    assert interval([]) == (0.0, 0.0)
