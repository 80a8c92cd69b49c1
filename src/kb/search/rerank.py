"""A second opinion: the first of a ranking in another order, by a model that reads query and text together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from kb.config import RerankSettings
from kb.errors import KBError, RerankFailed, UsageError
from kb.protocols import Reranker, Snapshot
from kb.search.fuse import DIGITS, Fused
from kb.types import StoredChunk, StoredDocument

OPINION_DIGITS = 6  # they travel in cursors, and are the same there as here


def blend(ranking: Sequence[Fused], opinions: Sequence[float], weight: float) -> list[Fused]:
    """Those with an opinion by ``(1 - weight) * score / best score + weight * opinion``; the others stay in place."""
    scored = ranking[: len(opinions)]
    best = max((item.score for item in scored), default=0.0) or 1.0
    blended = [
        round((1 - weight) * item.score / best + weight * opinion, DIGITS)
        for item, opinion in zip(scored, opinions, strict=False)
    ]
    order = sorted(range(len(scored)), key=lambda place: (-blended[place], place))
    return [replace(scored[place], rerank=opinions[place]) for place in order] + list(ranking[len(scored) :])


def ask(
    snapshot: Snapshot,
    ranking: Sequence[Fused],
    query: str,
    settings: RerankSettings,
    load: Callable[[], Reranker],
    deadline: float,
    *,
    strict: bool,
) -> tuple[tuple[float, ...], str | None]:
    """An opinion on each of the first ``settings.top``, as far as the time goes; and what to warn of.

    ``strict`` is for those who asked for it in so many words: that none is configured is then an error.
    """
    head = ranking[: settings.top]
    if not head:
        return (), None
    texts = _texts(snapshot, [item.chunk_id for item in head])
    try:
        reranker = load()  # which may take longer once, outside of the time that each search has
        until = min(deadline, time.monotonic() + settings.time_ms / 1000)
        found = reranker.rerank(query, texts, until)[: len(head)]
        if not all(math.isfinite(opinion) for opinion in found):
            raise RerankFailed(f"{reranker.label} answered with a number that is not finite")
    except KBError as problem:  # the answer stands as it was
        if strict and isinstance(problem, UsageError):
            raise
        told = f"not reranked: {problem.message}" + (f" (try: {problem.fix})" if problem.fix else "")
        return (), told
    opinions = tuple(round(min(1.0, max(0.0, opinion)), OPINION_DIGITS) for opinion in found)
    if len(opinions) < len(head):
        told = f"reranked {len(opinions)} of {len(head)}: there was no more time (rerank.time_ms = {settings.time_ms})"
        return opinions, told
    return opinions, None


def _texts(snapshot: Snapshot, chunk_ids: Sequence[str]) -> list[str]:
    chunks = snapshot.chunks(chunk_ids)
    documents = snapshot.documents(list(dict.fromkeys(chunk.doc_id for chunk in chunks.values())))
    return [passage(chunks[name], documents[chunks[name].doc_id]) for name in chunk_ids]


def passage(stored: StoredChunk, document: StoredDocument) -> str:
    """What the model reads: title and headings, each once, above the text."""
    head = dict.fromkeys(part for part in (document.title, *stored.chunk.heading_path, stored.chunk.symbol) if part)
    return "\n".join([*head, stored.chunk.text])
