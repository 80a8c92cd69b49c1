"""What a cosine is worth that says nothing: the cosines of random pairs of a store's own chunks.

Models differ: two unrelated texts are at 0.0 for one and at 0.7 for another. Fusion subtracts this background.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from operator import mul

from kb.models import Calibration
from kb.store.entries import floats
from kb.types import Vector

SAMPLE = 400  # chunks, and pairs of them: the mean of as many is known to a hundredth of a typical deviation of 0.15
GROWN = 1.25  # measured again when there are so many times more vectors, or fewer, than there were


def due(known: Calibration | None, vectors: int) -> bool:
    """Whether a store of so many vectors should be measured (again)."""
    if vectors < 2:
        return known is not None
    return known is None or not known.vectors / GROWN <= vectors <= known.vectors * GROWN


def sample(chunk_ids: Iterable[str]) -> list[str]:
    """As if drawn at random, and the same every time: the first by a hash of the id."""
    return heapq.nsmallest(SAMPLE, chunk_ids, key=_order)


def measure(vectors: Sequence[Vector], total: int) -> Calibration | None:
    """Mean and deviation of the cosines of these unit vectors, each with those that follow it in a ring."""
    pairs = islice(_pairs(len(vectors)), SAMPLE)
    values = [floats(vector) for vector in vectors]
    cosines = [math.fsum(map(mul, values[one], values[two])) for one, two in pairs]
    if not cosines:
        return None
    mean = math.fsum(cosines) / len(cosines)
    spread = math.sqrt(math.fsum((cosine - mean) ** 2 for cosine in cosines) / len(cosines))
    return Calibration(round(mean, 9), round(spread, 9), total)


def _pairs(count: int) -> Iterable[tuple[int, int]]:
    for step in range(1, count // 2 + 1):
        for one in range(count if 2 * step < count else step):
            yield one, (one + step) % count


def _order(chunk_id: str) -> tuple[bytes, str]:
    return blake2b(chunk_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), chunk_id
