"""From a fused ranking to the order of the answer: a second opinion, neighbours as one, variety, a limit per document.

All of it acts on the whole ranking, to a depth that does not depend on ``top``: pages cut one and the same order.
``score`` stays what the profile ranks and cuts by; the rank says the order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kb.analysis import stems
from kb.config import Profile
from kb.errors import UsageError
from kb.protocols import Reranker, Snapshot
from kb.search.fuse import Fused
from kb.types import Shape, StoredChunk, Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Arranged(Value):
    """The order of the answer. ``opinions`` are the reranker's, of the fused ranking, for the pages that follow."""

    ranking: tuple[Fused, ...]
    fused: tuple[Fused, ...]
    opinions: tuple[float, ...] = ()

    def told(self, shown: Sequence[Fused]) -> dict[str, Any]:
        """For ``--explain``: where each hit stood before. {} where nothing changed."""
        before = {item.chunk_id: rank for rank, item in enumerate(self.fused, start=1)}
        after = {item.chunk_id: rank for rank, item in enumerate(self.ranking, start=1)}
        if self.ranking == self.fused:
            return {}
        hits = [
            {
                "chunk_id": item.chunk_id,
                "before": before[item.chunk_id],
                "after": after[item.chunk_id],
                "rerank_score": item.rerank,
            }
            for item in shown
        ]
        return {"arranged": {"reranked": len(self.opinions), "hits": hits}}


def arrange(
    snapshot: Snapshot, fused: Sequence[Fused], shape: Shape, *, opinions: Sequence[float], weight: float
) -> Arranged:
    """The steps in order; those that were not asked for cost nothing."""
    ranking = list(fused)
    if opinions:
        from kb.search.rerank import blend

        ranking = blend(ranking, opinions, weight)
    if shape.merge:
        from kb.search import neighbours

        head = snapshot.chunks([item.chunk_id for item in ranking[: neighbours.DEPTH]])
        ranking = neighbours.merge(ranking, head)
    if shape.mmr is not None:
        ranking = _varied(snapshot, ranking, shape.mmr)
    if shape.per_doc is not None:
        from kb.search.variety import per_document

        chunks = snapshot.chunks([item.chunk_id for item in ranking])
        ranking = per_document(ranking, _documents(chunks), shape.per_doc)
    return Arranged(tuple(ranking), tuple(fused), tuple(opinions))


def _varied(snapshot: Snapshot, ranking: Sequence[Fused], share: float) -> list[Fused]:
    """By the cosine of their vectors where each of them has one, else by the words that they share."""
    from kb.search import variety

    names = [item.chunk_id for item in ranking[: variety.DEPTH]]
    vectors = snapshot.vectors_of(names)
    if len(vectors) == len(names):
        return variety.mmr(ranking, variety.cosines([vectors[name] for name in names]), share)
    chunks = snapshot.chunks(names)
    words = [frozenset(stems(chunks[name].chunk.text)) for name in names]
    return variety.mmr(ranking, variety.overlaps(words), share)


def _documents(chunks: Mapping[str, StoredChunk]) -> dict[str, str]:
    return {chunk_id: chunk.doc_id for chunk_id, chunk in chunks.items()}


def wants_reranker(shape: Shape, profile: Profile) -> bool:
    """A search may say yes or no; else its profile does."""
    return profile.rerank if shape.rerank is None else shape.rerank


def no_reranker() -> Reranker:
    """Where an engine was given none."""
    raise UsageError("no reranker is configured", fix="kb config set rerank.model onnx-dir:PATH")


def check(shape: Shape) -> None:
    """UsageError where a value makes no sense."""
    if shape.per_doc is not None and shape.per_doc < 1:
        raise UsageError(f"per_doc must be at least 1, not {shape.per_doc}", fix="--per-doc 2")
    if shape.mmr is not None and not (math.isfinite(shape.mmr) and 0 <= shape.mmr <= 1):
        raise UsageError(f"mmr must be between 0 and 1, not {shape.mmr}", fix="--mmr 0.7")
