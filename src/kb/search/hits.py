"""From a fused ranking to hits: the texts, places and scores that a reader sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kb.protocols import Snapshot
from kb.search.cite import cite, label
from kb.search.fuse import Fused, ScoreKind
from kb.search.snippet import Marker, snippet
from kb.types import Hit, Mode, Retrieval, StoredChunk, StoredDocument, Tier, Value

IsStale = Callable[[StoredDocument], bool]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Showing(Value):
    """All that the hits of one answer share."""

    mode: Mode
    score_kind: ScoreKind
    tier: Tier | None
    tiers: Mapping[str, Tier]  # of hits that another tier found
    index_version: str
    embedding_model: str | None
    marker: Marker
    snippet_chars: int
    is_stale: IsStale
    whole: bool = False  # with the whole texts, for a budget to choose from
    parent: bool = False
    confidence: Mapping[str, float] = field(default_factory=dict)  # by chunk id


def hydrate(snapshot: Snapshot, page: Sequence[tuple[int, Fused]], showing: Showing) -> list[Hit]:
    """The hits of one page with their ranks, in order; ranks go on from page to page."""
    chunks = snapshot.chunks([name for _, item in page for name in item.merged or (item.chunk_id,)])
    documents = snapshot.documents(list(dict.fromkeys(chunk.doc_id for chunk in chunks.values())))
    hits = [
        _hit(item, rank, chunks[item.chunk_id], documents[chunks[item.chunk_id].doc_id], showing) for rank, item in page
    ]
    if showing.whole or showing.parent or any(item.merged for _, item in page):
        from kb.search.context import widen

        return widen(snapshot, hits, chunks, documents, whole=showing.whole, parent=showing.parent)
    return hits


def _hit(item: Fused, rank: int, stored: StoredChunk, document: StoredDocument, showing: Showing) -> Hit:
    chunk = stored.chunk
    shown = snippet(chunk.text, showing.marker, chars=showing.snippet_chars)
    return Hit(
        rank=rank,
        score=item.score,
        score_kind=showing.score_kind,
        chunk_id=stored.chunk_id,
        doc_id=stored.doc_id,
        doc_path=document.path,
        title=document.title,
        type=document.type,
        kind=chunk.kind,
        collection=document.collection,
        tags=document.tags,
        heading_path=chunk.heading_path,
        section_label=label(chunk),
        snippet=shown.text,
        highlights=shown.highlights,
        citation=cite(chunk, document),
        retrieval=_retrieval(item, showing),
        index_version=showing.index_version,
        chunker_version=document.chunker_version,
        embedding_model=showing.embedding_model,
        indexed_at=document.indexed_at,
        stale=showing.is_stale(document),
        source=document.source,
        repo=document.repo,
        version=document.version,
        confidence=showing.confidence.get(stored.chunk_id),
        merged=item.merged,
    )


def _retrieval(item: Fused, showing: Showing) -> Retrieval:
    return Retrieval(
        method=showing.mode,
        fusion_score=item.normalized,
        rrf_score=item.raw,
        lexical_score=item.lexical.score if item.lexical else None,
        vector_score=item.vector.score if item.vector else None,
        lexical_rank=item.lexical.rank if item.lexical else None,
        vector_rank=item.vector.rank if item.vector else None,
        decay=item.decay,
        tier=showing.tiers.get(item.chunk_id, showing.tier) if item.lexical else None,
        rerank_score=item.rerank,
    )
