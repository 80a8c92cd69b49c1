"""Whether a difference is more than chance. Pure: per-query values in, a verdict out."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2000
SEED = 20  # any constant: the same values give the same verdict


@dataclass(frozen=True, slots=True)
class Proof:
    """Two settings over the same questions, paired."""

    questions: int
    before: float  # weighted means
    after: float
    gain: float
    interval: tuple[float, float]  # 95 %, by drawing the questions anew
    p: float  # how often flipping the signs of the differences by chance gives a gain as large, either way

    @property
    def is_clear(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.interval[0] > 0


def prove(before: Sequence[float], after: Sequence[float], weights: Sequence[float]) -> Proof:
    """The gain of ``after`` over ``before``; each question counts by its weight."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    return Proof(
        questions=len(gains),
        before=weighted_mean(before, weights),
        after=weighted_mean(after, weights),
        gain=weighted_mean(gains, weights),
        interval=_interval(gains, weights),
        p=_chance(gains, weights),
    )


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = math.fsum(weights)
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else 0.0


def _interval(gains: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Questions are drawn with their weights, so that the interval knows of both."""
    if len(gains) < 2:
        return (-math.inf, math.inf)
    draw = random.Random(SEED)
    pairs = [(gain * weight, weight) for gain, weight in zip(gains, weights, strict=True)]
    means = []
    for _ in range(RESAMPLES):
        drawn = draw.choices(pairs, k=len(pairs))
        means.append(math.fsum(pair[0] for pair in drawn) / math.fsum(pair[1] for pair in drawn))
    means.sort()
    return (means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1])


def _chance(gains: Sequence[float], weights: Sequence[float]) -> float:
    """A sign test by size: without a difference, each question might as well have gained what it lost."""
    shares = [gain * weight for gain, weight in zip(gains, weights, strict=True) if gain]
    seen = abs(math.fsum(shares)) - 1e-12
    draw = random.Random(SEED)
    larger = 0
    for _ in range(RESAMPLES):
        bits = draw.getrandbits(len(shares)) if shares else 0
        larger += abs(sum(share if bits >> at & 1 else -share for at, share in enumerate(shares))) >= seen
    return (larger + 1) / (RESAMPLES + 1)
