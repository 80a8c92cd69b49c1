"""Variety: maximal marginal relevance, and a limit on the hits of one document. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from operator import mul

from kb.search.fuse import Fused
from kb.types import Vector

DEPTH = 50  # of a ranking that are put in another order: 13 ms for 256 components (docs/decisions/009-shape.md)
DIGITS = 6


def mmr(ranking: Sequence[Fused], alike: Sequence[Sequence[float]], share: float) -> list[Fused]:
    """Each next one is the best by ``share * relevance - (1 - share) * likeness`` to the most alike of those before.

    Relevance falls evenly from 1 with the rank: that means the same for every way of fusing, and after a reranker.
    ``alike`` holds for each of the first ``DEPTH`` its likeness to those before it. Each step costs one look at the rest.
    """
    count = len(alike)
    likest = [0.0] * count
    left = list(range(count))
    order: list[int] = []
    while left:
        best = max(left, key=lambda i: (round(share * (1 - i / DEPTH) - (1 - share) * likest[i], DIGITS), -i))
        left.remove(best)
        order.append(best)
        for i in left:
            likest[i] = max(likest[i], alike[max(i, best)][min(i, best)])
    return [ranking[i] for i in order] + list(ranking[count:])


def cosines(vectors: Sequence[Vector]) -> list[list[float]]:
    """The cosine of each vector with each one before it; opposites count as having nothing in common."""
    rows = [array("f", vector).tolist() for vector in vectors]
    return [[max(0.0, round(sum(map(mul, row, other)), DIGITS)) for other in rows[:i]] for i, row in enumerate(rows)]


def overlaps(texts: Sequence[frozenset[str]]) -> list[list[float]]:
    """The share of their words that each text has in common with each one before it (Jaccard)."""
    return [[overlap(words, other) for other in texts[:i]] for i, words in enumerate(texts)]


def overlap(words: frozenset[str], other: frozenset[str]) -> float:
    both = len(words & other)
    return round(both / (len(words) + len(other) - both), DIGITS) if both else 0.0


def per_document(ranking: Sequence[Fused], doc_of: Mapping[str, str], most: int) -> list[Fused]:
    """The first ``most`` of each document."""
    seen: dict[str, int] = {}
    kept: list[Fused] = []
    for item in ranking:
        doc_id = doc_of[item.chunk_id]
        seen[doc_id] = seen.get(doc_id, 0) + 1
        if seen[doc_id] <= most:
            kept.append(item)
    return kept
