"""Plain text: paragraphs, which chunks are made of."""

from __future__ import annotations

from kb.ingest.chunk import Block, Section
from kb.ingest.source import Source

PARSER_VERSION = "plain-1"


def paragraphs(source: Source, start: int = 0, end: int | None = None, *, code: bool = False,
               lang: str | None = None) -> list[Block]:  # fmt: skip
    """Runs of lines that are not blank."""
    blocks: list[Block] = []
    opened = -1
    stop = source.lines if end is None else end
    for number in range(start, stop):
        if source.blank(number):
            if opened >= 0:
                blocks.append(Block(opened, number, code=code, lang=lang))
                opened = -1
        elif opened < 0:
            opened = number
    if opened >= 0:
        blocks.append(Block(opened, stop, code=code, lang=lang))
    return blocks


def sections(source: Source) -> list[Section]:
    return [Section(paragraphs(source))]


def first_line(source: Source, limit: int = 120) -> str | None:
    """The first line with text in it, as a title."""
    for number in range(source.lines):
        if not source.blank(number):
            return " ".join(source.line(number)[: 4 * limit].split())[:limit].rstrip()
    return None
