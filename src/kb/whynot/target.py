"""From what was typed to the document that is asked about, and the chunks of it that count."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kb import lookup
from kb.config import IngestSettings
from kb.errors import NotFound, UsageError
from kb.protocols import Snapshot
from kb.search.cite import Fragment, parse_ref
from kb.types import Filters, StoredChunk, StoredDocument
from kb.whynot.values import Reason

NAMED = 3  # documents of a similar name that are offered


@dataclass(frozen=True, slots=True)
class Target:
    """``wanted`` are the ids of the chunks that may show it: all, or those of the lines or the page that were named."""

    document: StoredDocument
    chunks: tuple[StoredChunk, ...]
    wanted: frozenset[str]

    @property
    def only(self) -> Filters:
        """The filter that leaves nothing but this document."""
        return Filters(path=lookup.literal(self.document.path), collection=self.document.collection)

    @property
    def whole(self) -> bool:
        return len(self.wanted) == len(self.chunks)

    @property
    def texts(self) -> list[StoredChunk]:
        return [chunk for chunk in self.chunks if chunk.chunk_id in self.wanted]


def find(snapshot: Snapshot, ref: str, collection: str | None) -> Target | None:
    """None: the store knows nothing by this name."""
    if chunk := snapshot.chunks([ref]).get(ref):
        document, chunks = snapshot.read(chunk.doc_id)
        return Target(document, chunks, frozenset([ref]))
    for fragment in dict.fromkeys((Fragment(ref), parse_ref(ref))):
        for within in dict.fromkeys((collection, None)):
            try:
                found = lookup.documents(snapshot, fragment.path, within)
            except NotFound:
                continue
            document, chunks = snapshot.read(_only(ref, found).doc_id)
            return Target(document, chunks, frozenset(chunk.chunk_id for chunk in _inside(fragment, document, chunks)))
    return None


def _only(ref: str, found: Sequence[StoredDocument]) -> StoredDocument:
    if len(found) > 1:
        names = [f"{doc.doc_id}  {doc.collection}:{doc.path}" for doc in found[:5]]
        raise UsageError(
            f"'{ref}' names {len(found)} documents, such as:\n  " + "\n  ".join(names),
            fix="kb why-not ID QUERY with the id of the one you mean",
        )
    return found[0]


def _inside(fragment: Fragment, document: StoredDocument, chunks: Sequence[StoredChunk]) -> list[StoredChunk]:
    """The chunks of a page, or that a range of lines touches."""
    if fragment.first is None and fragment.page is None:
        return list(chunks)
    kind = "line" if fragment.page is None else "page"
    first = fragment.first or fragment.page or 0
    last = fragment.last or first
    spans = ((chunk, chunk.chunk.span) for chunk in chunks)
    found = [chunk for chunk, span in spans if span.kind == kind and span.start <= last and span.end >= first]
    if not found:
        raise NotFound(f"{document.path} has no text on {kind} {first}", fix=f"kb get '{document.path}'")
    return found


# ---------------------------------------------------------------- what the store does not have


def absent(snapshot: Snapshot, ref: str, collection: str | None, settings: IngestSettings) -> Reason:
    """Why the store does not know this name, and what to type."""
    name = parse_ref(ref).path
    file = Path(name).expanduser()
    into = f" --collection {collection}" if collection else ""
    if "\x00" not in name and os.path.isfile(file):
        refusal = _refusal(os.path.realpath(file), settings)
        if refusal is not None:
            return Reason("not_stored", f"The file is there, but kb add skips it: {refusal}.")
        left_out = _left_out(os.path.realpath(file))
        told = f"was skipped: {left_out}; naming it adds it" if left_out else "was never added"
        return Reason("not_stored", f"The file is there, but {told}.", f"kb add {_quoted(name)}{into}")
    similar = _similar(snapshot, name)
    if similar:
        return Reason("not_stored", f"The store has no such document, but {', '.join(similar)}.", "kb list")
    return Reason("not_stored", "The store has no such document, and here is no such file.", f"kb add PATH{into}")


def _similar(snapshot: Snapshot, name: str) -> list[str]:
    """Documents whose path ends with this name."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    if not last or "\x00" in last:
        return []
    return [document.path for document in snapshot.find(Filters(path=f"**/{lookup.literal(last)}"), limit=NAMED)]


def _refusal(file: str, settings: IngestSettings) -> str | None:
    """Why a file is skipped even where it is named."""
    from kb.ingest.discover import scan

    seen = scan(os.path.dirname(file), file, settings)
    return next((issue.reason for issue in (*seen.skipped, *seen.failed)), None)


def _left_out(file: str) -> str | None:
    """Why a file is skipped where its folder is added."""
    from kb.ingest.ignore import ignored, levels_above, read_level

    folder = os.path.dirname(file)
    if os.path.basename(file).startswith("."):
        return "it is hidden"
    levels = (*levels_above(folder), *read_level(folder))
    return "an ignore file excludes it" if levels and ignored(levels, file, False) else None


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)
