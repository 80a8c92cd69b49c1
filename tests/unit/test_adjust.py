"""Decay and cuts against numbers computed by hand."""

from __future__ import annotations

import math
from datetime import date

import pytest

from kb.search import adjust
from kb.search.fuse import Fused

NOW = date(2026, 3, 31)


def hit(chunk_id: str, score: float) -> Fused:
    return Fused(chunk_id, score, score, None, None, None, relevance=score)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("2026-03-31.md", 1.0),
        ("2026-03-01.md", 0.5),  # 30 days: one half-life
        ("memory/deep/2026-01-30.md", 0.25),
        ("2026-03-01-standup.md", 0.5),
        ("2027-01-01.md", 1.0),  # the future counts as age 0
        ("2026-02-31.md", 1.0),  # no such day
        ("MEMORY.md", 1.0),
        ("notes-2026-03-01.md", 1.0),
        ("2026-03-01.txt", 1.0),
        ("2026-03-01.md.bak", 1.0),
        ("folder\\2026-03-01.md", 0.5),
    ],
)
def test_M07_decay_by_the_day_in_the_file_name(path: str, expected: float) -> None:
    assert adjust.decay_factor(path, now=NOW, half_life_days=30) == pytest.approx(expected)


def test_M07_half_life_is_configurable() -> None:
    assert adjust.decay_factor("2026-03-24.md", now=NOW, half_life_days=7) == pytest.approx(0.5)
    assert adjust.decay_factor("2026-03-30.md", now=NOW, half_life_days=30) == pytest.approx(
        math.exp(-math.log(2) / 30)
    )


def test_M07_decay_reorders_and_keeps_the_relevance() -> None:
    paths = {"old": "2026-03-01.md", "new": "MEMORY.md"}
    faded = adjust.decay([hit("old", 0.8), hit("new", 0.5)], paths.__getitem__, now=NOW, half_life_days=30)
    assert [(item.chunk_id, item.score, item.relevance) for item in faded] == [("new", 0.5, 0.5), ("old", 0.4, 0.8)]


def test_M08_min_score_cuts_the_relevance_before_decay() -> None:
    paths = {"old": "2020-01-01.md"}
    faded = adjust.decay([hit("old", 0.8)], paths.__getitem__, now=NOW, half_life_days=30)
    assert faded[0].score < 0.1
    assert adjust.cut(faded, threshold=None, min_score=0.1) == faded


def test_N11_equal_to_the_threshold_stays() -> None:
    hits = [hit("a", 0.03), hit("b", 0.02), hit("c", 0.019999999)]
    assert [item.chunk_id for item in adjust.cut(hits, threshold=0.02, min_score=None)] == ["a", "b"]


def test_zero_is_a_valid_min_score() -> None:
    assert len(adjust.cut([hit("a", 0.0)], threshold=None, min_score=0)) == 1
