"""``--explain``: how each hit came to its place. The only place where raw bm25 is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kb.protocols import Snapshot
from kb.search.blend import Fusion
from kb.search.fuse import Fused, Ranked
from kb.search.legs import Found
from kb.types import Filters, Query


def trace(
    snapshot: Snapshot, query: Query, fusion: Fusion, page: Sequence[Fused], lexical: Found, vector: Found
) -> dict[str, Any]:
    bm25 = {hit.chunk_id: round(-hit.score, 6) for hit in lexical.raw} if lexical.leg.tier != "like" else {}
    return {
        "fusion": {"kind": fusion.kind} | _settings(fusion),
        "filters": _filters(snapshot, query.filters),
        "candidates": {"lexical": lexical.leg.candidates, "vector": vector.leg.candidates},
        "timing": {"lexical_ms": lexical.leg.ms, "vector_ms": vector.leg.ms},
        "hits": [_contributions(item, fusion, (lexical.leg.ran, vector.leg.ran), bm25) for item in page],
    }


def _contributions(item: Fused, fusion: Fusion, ran: tuple[bool, bool], bm25: dict[str, float]) -> dict[str, Any]:
    lexical, vector = fusion.contributions(item, ran)
    return {
        "chunk_id": item.chunk_id,
        "score": item.score,
        "relevance": item.relevance,
        "decay": item.decay,
        "lexical": _leg(item.lexical, lexical) | ({"bm25": bm25.get(item.chunk_id)} if item.lexical else {}),
        "vector": _leg(item.vector, vector),
    }


def _leg(ranked: Ranked | None, contribution: float | None) -> dict[str, Any]:
    if ranked is None:
        return {"rank": None, "score": None, "contribution": 0.0}
    return {"rank": ranked.rank, "score": ranked.score, "contribution": contribution}


def _settings(fusion: Fusion) -> dict[str, Any]:
    return {key: value for key, value in asdict(fusion).items() if key not in ("kind", "evidence")}


def _filters(snapshot: Snapshot, where: Filters) -> dict[str, Any]:
    """The filters that were set, and how many documents they left."""
    active = {key: value for key, value in asdict(where).items() if value not in (None, ())}
    kept, total = len(snapshot.find(where)), len(snapshot.find(Filters()))
    return {"active": active, "documents_total": total, "documents_kept": kept, "shrank": kept < total}
