"""Citations: where a chunk stands in its original, as a value and as ``path#L12-L34`` or ``path#p=3``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb.types import Chunk, Citation, StoredDocument, Value

_LINES = re.compile(r"L(\d{1,9})(?:-L?(\d{1,9}))?")
_PAGE = re.compile(r"p(?:age)?=(\d{1,9})")


def cite(chunk: Chunk, document: StoredDocument) -> Citation:
    """From the chunk's first source span: a page for page sources, else lines, with the symbol for code."""
    span, path, section = chunk.span, document.path, label(chunk)
    if span.kind == "page":
        return Citation("page", f"{path}#p={span.start}", path, section, page=span.start)
    uri = f"{path}#L{span.start}" if span.start == span.end else f"{path}#L{span.start}-L{span.end}"
    if document.type == "code":
        return Citation(
            "code", uri, path, section, start=span.start, end=span.end, symbol=chunk.symbol, lang=chunk.lang
        )
    return Citation("line", uri, path, section, start=span.start, end=span.end)


def label(chunk: Chunk) -> str | None:
    """The section of a chunk: its symbol, else its nearest heading."""
    return chunk.symbol or (chunk.heading_path[-1] if chunk.heading_path else None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fragment(Value):
    """The part of a reference after its last ``#``."""

    path: str
    first: int | None = None  # lines
    last: int | None = None
    page: int | None = None


def parse_ref(ref: str) -> Fragment:
    """Split ``path#fragment`` at the last ``#``; what is no known fragment belongs to the path."""
    path, mark, fragment = ref.rpartition("#")
    if mark and path:
        if lines := _LINES.fullmatch(fragment):
            first = int(lines[1])
            return Fragment(path, first, int(lines[2] or first))
        if page := _PAGE.fullmatch(fragment):
            return Fragment(path, page=int(page[1]))
    return Fragment(ref)
