"""Measures of one ranking, as trec_eval defines them, confidence intervals of their means, and calibration.

A ranking is a list of gains: the grade of what stands at each rank, 0 where nothing relevant does. ``grades`` are
those of everything relevant to the query. nDCG uses linear gains (a grade of 2 is worth twice a grade of 1).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Bin:
    """Of a reliability table: the hits whose confidence lies in one tenth of [0, 1]."""

    low: float
    high: float
    hits: int
    confidence: float  # its mean
    relevant: float  # the share that was


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far confidence is from the truth: the expected calibration error, and the table that it sums up."""

    error: float
    hits: int
    bins: tuple[Bin, ...]


def calibration(judged: Sequence[tuple[float, bool]], bins: int = 10) -> Calibration:
    """Of (confidence, relevant) pairs, in ``bins`` of equal width; 1.0 belongs to the last one.

    The error is the distance between mean confidence and share of relevant hits, averaged over bins by their hits.
    """
    sorted_in: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, relevant in judged:
        sorted_in[min(int(confidence * bins), bins - 1)].append((confidence, relevant))
    table = tuple(
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            hits=len(within),
            confidence=mean([confidence for confidence, _ in within]),
            relevant=mean([float(relevant) for _, relevant in within]),
        )
        for number, within in enumerate(sorted_in)
    )
    error = math.fsum(row.hits * abs(row.confidence - row.relevant) for row in table) / (len(judged) or 1)
    return Calibration(error=error, hits=len(judged), bins=table)


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
