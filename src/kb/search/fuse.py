"""Fusion: two rankings into one. Each way of fusing is a value that owns its scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kb.config import Profile
from kb.types import Value

ScoreKind = Literal["rrf", "rrf_normalized", "weighted", "calibrated", "bm25", "cosine"]
DIGITS = 9  # scores are rounded once, here, so that a threshold copied from the output keeps its hit


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranked(Value):
    """A chunk in one leg: its rank from 1, and its score as shown, in [0, 1)."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fused(Value):
    """A chunk in the fused ranking. ``score`` ranks and cuts, ``normalized`` is in [0, 1], ``raw`` is RRF's own."""

    chunk_id: str
    score: float
    normalized: float
    raw: float | None
    lexical: Ranked | None
    vector: Ranked | None
    decay: float | None = None
    relevance: float = 0.0  # the score before decay
    rerank: float | None = None  # what the reranker says, in [0, 1]
    merged: tuple[str, ...] = ()  # with the neighbours that became part of it, in the order of the document

    @classmethod
    def of(
        cls, chunk_id: str, score: float, normalized: float, raw: float | None, lexical: Leg | None, vector: Leg | None
    ) -> Fused:
        return cls(
            chunk_id=chunk_id,
            score=score,
            normalized=normalized,
            raw=raw,
            lexical=lexical.get(chunk_id) if lexical else None,
            vector=vector.get(chunk_id) if vector else None,
            relevance=score,
        )

    @property
    def order(self) -> tuple[float, float, str]:
        """Score descending, lexical rank ascending with absent last, chunk id."""
        return (-self.score, self.lexical.rank if self.lexical else float("inf"), self.chunk_id)


Leg = Mapping[str, Ranked]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RRF(Value):
    """Reciprocal rank fusion: the sum of weight / (k + rank) over the legs that returned a chunk.

    ``alpha`` moves weight between the legs: 2(1 - alpha) lexical and 2 alpha vector, so that 0.5 is the plain sum.
    """

    k: int
    alpha: float = 0.5
    normalize: bool = False

    @property
    def kind(self) -> ScoreKind:
        return "rrf_normalized" if self.normalize else "rrf"

    @property
    def weights(self) -> tuple[float, float]:
        """Of the lexical and the vector leg; a leg of weight 0 does not run."""
        return (2 * (1 - self.alpha), 2 * self.alpha)

    def fuse(self, lexical: Leg | None, vector: Leg | None) -> list[Fused]:
        """``None`` is a leg that did not run; a leg that ran and found nothing still counts in the normalisation."""
        legs = [(leg, weight) for leg, weight in zip((lexical, vector), self.weights, strict=True) if leg is not None]
        best = sum(weight / (self.k + 1) for _, weight in legs)
        fused = []
        for chunk_id in union(lexical, vector):
            raw = sum(weight / (self.k + leg[chunk_id].rank) for leg, weight in legs if chunk_id in leg)
            normalized = round(raw / best, DIGITS)
            score = normalized if self.normalize else round(raw, DIGITS)
            fused.append(Fused.of(chunk_id, score, normalized, round(raw, DIGITS), lexical, vector))
        return sorted(fused, key=lambda item: item.order)

    def contributions(self, item: Fused, ran: tuple[bool, bool]) -> tuple[float | None, float | None]:
        """What each leg adds to the raw score, for ``--explain``; ``ran`` says which legs did."""
        lexical, vector = self.weights
        return (
            round(lexical / (self.k + item.lexical.rank), DIGITS) if item.lexical else None,
            round(vector / (self.k + item.vector.rank), DIGITS) if item.vector else None,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weighted(Value):
    """A weighted sum of scores, the weights divided by the sum of those whose leg ran."""

    vector_weight: float
    keyword_weight: float

    kind: ScoreKind = "weighted"

    @property
    def weights(self) -> tuple[float, float]:
        return (self.keyword_weight, self.vector_weight)

    def fuse(self, lexical: Leg | None, vector: Leg | None) -> list[Fused]:
        keyword, cosine = self._shares(lexical is not None, vector is not None)
        fused = []
        for chunk_id in union(lexical, vector):
            in_lexical = lexical.get(chunk_id) if lexical else None
            in_vector = vector.get(chunk_id) if vector else None
            score = (in_lexical.score * keyword if in_lexical else 0.0) + (
                in_vector.score * cosine if in_vector else 0.0
            )
            score = round(score, DIGITS)
            fused.append(Fused.of(chunk_id, score, min(1.0, score), None, lexical, vector))
        return sorted(fused, key=lambda item: item.order)

    def contributions(self, item: Fused, ran: tuple[bool, bool]) -> tuple[float | None, float | None]:
        keyword, cosine = self._shares(*ran)
        return (
            round(item.lexical.score * keyword, DIGITS) if item.lexical else None,
            round(item.vector.score * cosine, DIGITS) if item.vector else None,
        )

    def _shares(self, lexical: bool, vector: bool) -> tuple[float, float]:
        total = self.keyword_weight * lexical + self.vector_weight * vector
        return (self.keyword_weight / total, self.vector_weight / total) if total else (0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Single(Value):
    """One leg alone: its own score, nothing fused."""

    kind: ScoreKind

    @property
    def weights(self) -> tuple[float, float]:
        return (1.0, 0.0) if self.kind == "bm25" else (0.0, 1.0)

    def fuse(self, lexical: Leg | None, vector: Leg | None) -> list[Fused]:
        leg = lexical if lexical is not None else vector or {}
        found = [Fused.of(chunk_id, item.score, item.score, None, lexical, vector) for chunk_id, item in leg.items()]
        return sorted(found, key=lambda item: leg[item.chunk_id].rank)

    def contributions(self, item: Fused, ran: tuple[bool, bool]) -> tuple[float | None, float | None]:
        return (item.lexical.score if item.lexical else None, item.vector.score if item.vector else None)


def fusion_of(profile: Profile, alpha: float | None) -> RRF | Weighted:
    """The fusion of ranks or scores that a profile names; an ``alpha`` of the query wins over the profile's weights."""
    alpha = profile.alpha if alpha is None else alpha
    if profile.fusion == "weighted":
        if alpha is not None:
            return Weighted(vector_weight=alpha, keyword_weight=1 - alpha)
        return Weighted(vector_weight=profile.vector_weight, keyword_weight=profile.keyword_weight)
    normalize = profile.fusion == "rrf_normalized"
    return RRF(k=profile.rrf_k, alpha=0.5 if alpha is None else alpha, normalize=normalize)


def ranked(scores: Sequence[tuple[str, float]]) -> dict[str, Ranked]:
    """A leg from its chunks in order; ranks count from one."""
    return {chunk_id: Ranked(rank, score) for rank, (chunk_id, score) in enumerate(scores, start=1)}


def union(lexical: Leg | None, vector: Leg | None) -> list[str]:
    return list(dict.fromkeys([*(lexical or ()), *(vector or ())]))
