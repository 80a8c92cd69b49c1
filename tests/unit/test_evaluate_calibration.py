"""Expected calibration error and its table, against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.evaluate.metrics import calibration


def test_the_error_is_the_distance_in_each_bin_weighted_by_its_hits() -> None:
    # 0.9 and 0.94 share a bin: confidence .92, relevant .5, distance .42. 0.1 is off by .1, 0.35 by .65.
    found = calibration([(0.9, True), (0.94, False), (0.1, False), (0.35, True)])
    assert found.error == pytest.approx((2 * 0.42 + 0.1 + 0.65) / 4)
    assert found.hits == 4
    last = found.bins[9]
    assert (last.hits, last.confidence, last.relevant) == (2, pytest.approx(0.92), 0.5)
    assert found.bins[1].hits == 1
    assert found.bins[3].relevant == 1.0


def test_perfect_confidence_has_no_error() -> None:
    assert calibration([(0.0, False), (1.0, True)]).error == 0.0
    assert calibration([(0.25, True), (0.25, False), (0.25, False), (0.25, False)]).error == pytest.approx(0.0)


def test_an_edge_belongs_to_the_bin_above_and_one_to_the_last() -> None:
    bins = calibration([(0.5, True), (1.0, True), (0.0, False)]).bins
    assert [row.hits for row in bins] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert (bins[5].low, bins[5].high) == (0.5, 0.6)


def test_nothing_judged_has_an_empty_table() -> None:
    found = calibration([])
    assert (found.error, found.hits) == (0.0, 0)
    assert all(row.hits == 0 for row in found.bins)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_every_hit_is_in_one_bin_and_the_error_is_a_share(judged: list[tuple[float, bool]]) -> None:
    found = calibration(judged)
    assert sum(row.hits for row in found.bins) == len(judged)
    assert 0 <= found.error <= 1 + 1e-9
