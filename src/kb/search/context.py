"""What stands around a hit: the neighbours that it was merged with, its whole text, the section that it is part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kb.protocols import Snapshot
from kb.search.neighbours import cite_all, joined, section
from kb.types import Hit, Section, StoredChunk, StoredDocument


def widen(
    snapshot: Snapshot,
    hits: Sequence[Hit],
    chunks: Mapping[str, StoredChunk],
    documents: Mapping[str, StoredDocument],
    *,
    whole: bool,
    parent: bool,
) -> list[Hit]:
    """Hits that cite all of their parts; with ``whole`` their texts, with ``parent`` their sections."""
    everything = {name: snapshot.read(name)[1] for name in dict.fromkeys(hit.doc_id for hit in hits)} if parent else {}
    widened = []
    given: set[str] = set()  # sections whose text an earlier hit carries
    for hit in hits:
        best, document = chunks[hit.chunk_id], documents[hit.doc_id]
        parts = [chunks[name] for name in hit.merged] or [best]
        if hit.merged:
            hit = replace(hit, citation=cite_all(parts, best, document))
        if parent:
            around = section(everything[hit.doc_id], parts)
            cited = cite_all(around, best, document)
            hit = replace(hit, parent=Section(cited, None if cited.uri in given else joined(around)))
            given.add(cited.uri)
        elif whole:
            text = joined(parts)
            hit = replace(hit, text=text if text.strip() != hit.snippet else None)
        widened.append(hit)
    return widened
