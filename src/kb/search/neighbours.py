"""Chunks that stand next to each other: merged into one hit, or gathered into the section around it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from kb.search.cite import cite
from kb.search.fuse import Fused
from kb.types import Citation, StoredChunk, StoredDocument

DEPTH = (
    100  # of a ranking that are looked at: as deep for every top up to 100, so that a short answer begins a long one
)
MOST_PARTS = 4  # about 1,000 tokens: what is longer is no place any more
LEAST_SHARE = 0.5  # of the best part's score. With RRF, what one leg of two found has at most half: both must match
SECTION_CHARS = 2000


def merge(ranking: Sequence[Fused], chunks: Mapping[str, StoredChunk]) -> list[Fused]:
    """Adjacent chunks of one document that both match become one item, at the rank of the best of them."""
    head = ranking[:DEPTH]
    rank_at = {_place(chunks[item.chunk_id]): rank for rank, item in enumerate(head)}
    taken: set[int] = set()
    merged: list[Fused] = []
    for rank, item in enumerate(head):
        if rank not in taken:
            run = _run(rank, head, chunks, rank_at, taken)
            taken.update(run)
            parts = tuple(head[part].chunk_id for part in run)
            merged.append(replace(item, merged=parts) if len(parts) > 1 else item)
    return merged + list(ranking[DEPTH:])


def _run(
    best: int,
    head: Sequence[Fused],
    chunks: Mapping[str, StoredChunk],
    rank_at: Mapping[tuple[str, int, int], int],
    taken: set[int],
) -> list[int]:
    """The ranks of a chunk and of the neighbours that go with it, in the order of the document."""
    run = [best]
    doc, page, first = _place(chunks[head[best].chunk_id])
    last = first
    while len(run) < MOST_PARTS:
        around = (rank_at.get((doc, page, first - 1)), rank_at.get((doc, page, last + 1)))
        free = [rank for rank in around if rank is not None and rank > best and rank not in taken]
        if not free or head[min(free)].score < LEAST_SHARE * head[best].score:
            break
        if min(free) == around[0]:
            first -= 1
            run.insert(0, min(free))
        else:
            last += 1
            run.append(min(free))
    return run


def _place(stored: StoredChunk) -> tuple[str, int, int]:
    """Document, page (0 where there are none: a citation never crosses pages) and number within the document."""
    span = stored.chunk.span
    return stored.doc_id, span.start if span.kind == "page" else 0, stored.ordinal


def section(chunks: Sequence[StoredChunk], around: Sequence[StoredChunk]) -> list[StoredChunk]:
    """The chunks of the section that these stand in, as far as they fit; ``chunks`` are all of the document."""
    first, last = around[0].ordinal, around[-1].ordinal
    size = sum(len(chunk.chunk.text) for chunk in chunks[first : last + 1])
    title = _section(around[0])
    grown = True
    while grown:
        grown = False
        for ordinal in (first - 1, last + 1):
            if not 0 <= ordinal < len(chunks) or _section(chunks[ordinal]) != title:
                continue
            length = len(chunks[ordinal].chunk.text)
            if size + length <= SECTION_CHARS:
                size += length
                first, last = min(first, ordinal), max(last, ordinal)
                grown = True
    return list(chunks[first : last + 1])


def _section(stored: StoredChunk) -> tuple[object, ...]:
    """What the chunks of one section share: headings, the class or function at the top level, the page."""
    chunk = stored.chunk
    symbol = chunk.symbol.split(".")[0] if chunk.symbol else None
    return chunk.heading_path, symbol, chunk.span.start if chunk.span.kind == "page" else 0


def cite_all(parts: Sequence[StoredChunk], best: StoredChunk, document: StoredDocument) -> Citation:
    """One citation that covers neighbouring chunks, with the section of the best of them."""
    spans = [part.chunk.span for part in parts]
    span = replace(
        best.chunk.span,
        start=min(span.start for span in spans),
        end=max(span.end for span in spans),
        offset_start=min(span.offset_start for span in spans),
        offset_end=max(span.offset_end for span in spans),
    )
    return cite(replace(best.chunk, span=span), document)


def joined(parts: Sequence[StoredChunk]) -> str:
    """The text of neighbouring chunks, with the blank lines between them that no chunk holds."""
    text = parts[0].chunk.text
    for before, after in pairwise(parts):
        last, span = before.chunk.span, after.chunk.span
        if span.offset_start > last.offset_end:
            between = "\n" * (span.start - last.end) if span.kind == "line" else "\n"
            text += between or " "  # two pieces of one long line
        text += after.chunk.text
    return text
