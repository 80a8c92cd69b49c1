"""From a reference that a user typed to documents and exact passages."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kb.errors import NotFound, UsageError
from kb.protocols import Snapshot
from kb.search.cite import Fragment, cite, parse_ref
from kb.types import Citation, Filters, Passage, StoredChunk, StoredDocument

_ID = re.compile(r"[0-9a-f]{32}")
_GLOB = re.compile(r"([*?\[])")


def documents(snapshot: Snapshot, ref: str, collection: str | None = None) -> list[StoredDocument]:
    """The documents that a path, a folder or a document id names; raises NotFound."""
    if not ref.strip():  # as a place on this machine it would name the current folder: an unset variable, not a wish
        raise UsageError("an empty name names no document", fix="kb list")
    if _ID.fullmatch(ref) and (found := snapshot.documents([ref])):
        return list(found.values())
    matches = _by_path(snapshot, ref, collection) or _by_source(snapshot, ref, collection)
    if not matches:
        raise NotFound(f"nothing in the store is called '{ref}'", fix="kb list")
    return matches


def passages(snapshot: Snapshot, ref: str, *, context: int = 0, collection: str | None = None) -> tuple[Passage, ...]:
    """What a chunk id, a document id or ``PATH[#fragment]`` names, with neighbouring chunks on request."""
    if _ID.fullmatch(ref) and (chunk := snapshot.chunks([ref]).get(ref)):
        document, chunks = snapshot.read(chunk.doc_id)
        return (_chunk_passage(document, chunks, chunk.ordinal, context),)
    whole = Fragment(ref)
    wanted = whole if _ID.fullmatch(ref) or _by_path(snapshot, ref, collection) else parse_ref(ref)
    document = _only(wanted.path, documents(snapshot, wanted.path, collection))
    document, chunks = snapshot.read(document.doc_id)
    if wanted.page is not None:
        return (_pages(document, chunks, wanted.page),)
    if wanted.first is not None and wanted.last is not None:
        return (_lines(document, chunks, wanted.first, wanted.last, context),)
    return (_whole(document, chunks),)


def _by_path(snapshot: Snapshot, ref: str, collection: str | None) -> list[StoredDocument]:
    path = ref.removeprefix("./")
    exact = snapshot.find(Filters(path=literal(path), collection=collection))
    folder = path.strip("/")
    return exact or (snapshot.find(Filters(path=f"{literal(folder)}/**", collection=collection)) if folder else [])


def _by_source(snapshot: Snapshot, ref: str, collection: str | None) -> list[StoredDocument]:
    """By the place of the file on this machine: absolute, or relative to the current folder."""
    place = os.path.abspath(Path(ref).expanduser()) if "\x00" not in ref else ref
    known = [doc for doc in snapshot.find(Filters(collection=collection)) if doc.source]
    real = os.path.realpath(place) if "\x00" not in ref else place
    return [
        doc
        for doc in known
        if doc.source and (doc.source in (place, real) or doc.source.startswith((place + os.sep, real + os.sep)))
    ]


def literal(path: str) -> str:
    """The glob that matches this path and no other."""
    return _GLOB.sub(r"[\1]", path)


def _only(ref: str, found: Sequence[StoredDocument]) -> StoredDocument:
    if len(found) > 1:
        names = [f"{doc.doc_id}  {doc.collection}:{doc.path}" for doc in found[:5]]
        raise UsageError(
            f"'{ref}' names {len(found)} documents, such as:\n  " + "\n  ".join(names),
            fix="kb get ID of the one you mean",
        )
    return found[0]


def _chunk_passage(document: StoredDocument, chunks: Sequence[StoredChunk], ordinal: int, context: int) -> Passage:
    passage = _of(document, chunks[ordinal])
    before = tuple(_of(document, chunk) for chunk in chunks[max(0, ordinal - context) : ordinal])
    after = tuple(_of(document, chunk) for chunk in chunks[ordinal + 1 : ordinal + 1 + context])
    return replace(passage, before=before, after=after)


def _of(document: StoredDocument, stored: StoredChunk) -> Passage:
    citation = cite(stored.chunk, document)
    return Passage(document.doc_id, document.path, document.title, stored.chunk.text, citation, stored.chunk_id)


def _whole(document: StoredDocument, chunks: Sequence[StoredChunk]) -> Passage:
    if document.type == "pdf":
        text = "\n\n".join(chunk.chunk.text for chunk in chunks)
        return Passage(document.doc_id, document.path, document.title, text, _cited(document, chunks))
    lines = _text_lines(document, chunks)
    return Passage(
        document.doc_id, document.path, document.title, "\n".join(lines), _cited(document, chunks, len(lines))
    )


def _cited(document: StoredDocument, chunks: Sequence[StoredChunk], lines: int = 0) -> Citation:
    if chunks and document.type == "pdf":
        return cite(chunks[0].chunk, document)
    last = max(1, lines)
    uri = f"{document.path}#L1-L{last}" if last > 1 else f"{document.path}#L1"
    return Citation("line", uri, document.path, None, start=1, end=last)


def _lines(document: StoredDocument, chunks: Sequence[StoredChunk], first: int, last: int, context: int) -> Passage:
    if document.type == "pdf":
        raise UsageError(f"{document.path} is a PDF: it is cited by page", fix=f"kb get '{document.path}#p=1'")
    lines = _text_lines(document, chunks)
    if not 1 <= first <= last:
        raise UsageError(f"lines {first} to {last} are no range", fix=f"kb get '{document.path}#L1-L9'")
    if first > len(lines):
        raise NotFound(f"{document.path} has {len(lines)} lines, not {first}", fix=f"kb get '{document.path}'")
    last = min(last, len(lines))
    uri = f"{document.path}#L{first}" if first == last else f"{document.path}#L{first}-L{last}"
    citation = Citation("line", uri, document.path, None, start=first, end=last)
    inside = [c.ordinal for c in chunks if c.chunk.span.start <= last and c.chunk.span.end >= first]
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    if context and inside:
        before = tuple(_of(document, chunk) for chunk in chunks[max(0, inside[0] - context) : inside[0]])
        after = tuple(_of(document, chunk) for chunk in chunks[inside[-1] + 1 : inside[-1] + 1 + context])
    text = "\n".join(lines[first - 1 : last])
    return Passage(document.doc_id, document.path, document.title, text, citation, None, before, after)


def _pages(document: StoredDocument, chunks: Sequence[StoredChunk], page: int) -> Passage:
    inside = [chunk for chunk in chunks if chunk.chunk.span.kind == "page" and chunk.chunk.span.start == page]
    if not inside:
        pages = sorted({chunk.chunk.span.start for chunk in chunks if chunk.chunk.span.kind == "page"})
        known = f"its text is on pages {pages[0]} to {pages[-1]}" if pages else "it has no pages"
        raise NotFound(f"{document.path} has no text on page {page}: {known}", fix=f"kb get '{document.path}'")
    text = "\n".join(chunk.chunk.text for chunk in inside)
    citation = replace(cite(inside[0].chunk, document), section=None)
    return Passage(document.doc_id, document.path, document.title, text, citation)


def _text_lines(document: StoredDocument, chunks: Sequence[StoredChunk]) -> list[str]:
    """The lines of a document: of the file while it is what was indexed, else put together from its chunks."""
    text = _unchanged(document)
    if text is not None:
        return _split(text)
    lines: dict[int, str] = {}
    for chunk in chunks:
        for number, line in enumerate(_split(chunk.chunk.text), start=chunk.chunk.span.start):
            lines[number] = lines.get(number, "") + line  # a line too long for one chunk comes in pieces
    return [lines.get(number, "") for number in range(1, max(lines, default=0) + 1)]


def _split(text: str) -> list[str]:
    """Lines as citations count them; a line break at the end begins no further line."""
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if lines and not lines[-1] else lines


def _unchanged(document: StoredDocument) -> str | None:
    if document.source is None:
        return None
    try:
        data = Path(document.source).read_bytes()
        if content_hash(data) != document.content_hash:
            return None
        return data.decode(document.encoding, "replace").removeprefix("\ufeff")
    except (OSError, ValueError, LookupError):
        return None


def content_hash(data: bytes) -> str:
    """The hash under which a file's bytes are known."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
