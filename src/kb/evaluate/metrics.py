"""Measures of one ranking, as trec_eval defines them, and confidence intervals of their means.

A ranking is a list of gains: the grade of what stands at each rank, 0 where nothing relevant does. ``grades`` are
those of everything relevant to the query. nDCG uses linear gains (a grade of 2 is worth twice a grade of 1).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

RESAMPLES = 1000
SEED = 20  # any constant: the same run gives the same interval


def ndcg(gains: Sequence[float], grades: Sequence[float], depth: int = 10) -> float:
    """Discounted gain of the first ``depth`` results over the best possible; 0.0 with nothing relevant."""
    best = _discounted(sorted(grades, reverse=True)[:depth])
    return _discounted(gains[:depth]) / best if best > 0 else 0.0


def reciprocal_rank(gains: Sequence[float], depth: int = 10) -> float:
    """1 / rank of the first relevant result among the first ``depth``, else 0.0."""
    for rank, gain in enumerate(gains[:depth], start=1):
        if gain > 0:
            return 1 / rank
    return 0.0


def recall(gains: Sequence[float], grades: Sequence[float], depth: int) -> float:
    """The share of everything relevant that is among the first ``depth``."""
    relevant = sum(grade > 0 for grade in grades)
    return sum(gain > 0 for gain in gains[:depth]) / relevant if relevant else 0.0


def success(gains: Sequence[float], depth: int = 1) -> float:
    """1.0 when something relevant is among the first ``depth``."""
    return float(any(gain > 0 for gain in gains[:depth]))


def measure(gains: Sequence[float], grades: Sequence[float]) -> dict[str, float]:
    """Every measure of one query."""
    return {
        "ndcg@10": ndcg(gains, grades),
        "mrr@10": reciprocal_rank(gains),
        "recall@10": recall(gains, grades, 10),
        "recall@100": recall(gains, grades, 100),
        "success@1": success(gains),
    }


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def interval(values: Sequence[float], *, seed: int = SEED, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean: queries drawn anew, with replacement, ``resamples`` times."""
    if len(values) < 2:
        return (mean(values), mean(values))
    draw = random.Random(seed)
    means = sorted(math.fsum(draw.choices(values, k=len(values))) / len(values) for _ in range(resamples))
    return (means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1])


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
