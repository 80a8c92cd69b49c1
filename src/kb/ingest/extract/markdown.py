"""Markdown to sections and blocks, by a scanner of our own that reads each line once.

Only what decides where to cut is recognised: headings, fences, tables, HTML, front matter, blank lines. Its headings are
compared with those of markdown-it-py in the tests; that parser's block rules alone take four times as long (docs/decisions/003).
"""

from __future__ import annotations

import re

from kb.ingest.chunk import Block, Section
from kb.ingest.extract.frontmatter import Meta, front_matter
from kb.ingest.extract.languages import FENCE_ALIASES
from kb.ingest.source import Source

PARSER_VERSION = "markdown-1"
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)$", re.S)
_DELIMITER = frozenset(" \t|:-")  # the characters of the second row of a table
_HTML_UNTIL = re.compile(r" {0,3}<(!--|\?|!\[CDATA\[|(?:pre|script|style|textarea)(?=[\s>]|$))", re.I)
_HTML_TAG = re.compile(r" {0,3}</?[a-z][a-z0-9-]*(?=[\s/>]|$)", re.I)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)")
_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ENDS = {"!--": "-->", "?": "?>", "![cdata[": "]]>"}
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\([^()\s]{0,500}[^()]{0,100}\)|\[[^\[\]]{0,200}\])")
_ANCHOR = re.compile(r"\{[:#.][^{}]{0,200}\}[ \t]*$")
_MARKUP = re.compile(r"<[^<>]{1,200}>|\*\*|__|`|\\(?=[^\w\s])")
MAX_SETEXT_LINES = 3
MAX_HEADING = 200


def plain_heading(raw: str) -> str:
    """A heading as people read it: links by their text, without emphasis, code marks or anchors."""
    text = _LINK.sub(r"\1", _ANCHOR.sub("", raw[:2000]))
    return " ".join(_MARKUP.sub("", text).split())[:MAX_HEADING]


def _atx_text(rest: str) -> str:
    """Without the closing `#`s, which count only after a space."""
    text = rest.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


class _Scanner:
    """One pass over the lines. ``open`` is where the paragraph in progress begins, -1 outside of one."""

    def __init__(self, source: Source, first: int) -> None:
        self.source = source
        self.lines = [source.text[source.starts[n] : source.line_end(n)] for n in range(source.lines)]
        self.sections = [Section([])]
        self.stack: list[tuple[int, str]] = []
        self.titles: list[tuple[int, str]] = []
        self.open = -1
        self.lazy = False  # the paragraph is a list item, quote or table: no setext heading can end it
        self.table = False
        self.in_list = False
        self.gap = True  # the line before is blank
        self.bare = True  # the section holds nothing but headings yet
        if first:
            self.block(Block(0, first, glue=source.mass[first] < 500))
        self.run(first)

    def run(self, at: int) -> None:
        count = len(self.lines)
        while at < count:
            line = self.lines[at]
            head = line.lstrip(" \t")
            if not head or head.isspace():
                self.close(at)
                self.gap = True
                at += 1
                continue
            at = self.step(at, line, head)
            self.gap = False
        self.close(count)

    def step(self, at: int, line: str, head: str) -> int:
        """Take the line at ``at`` and return the next one to look at."""
        mark = head[0]
        nested = self.in_list and line[:2].isspace()  # within a list item
        if mark == "#" and not nested and (found := _ATX.match(line)):
            self.close(at)
            self.heading(at, at + 1, len(found[1]), _atx_text(line[found.end() :]))
            return at + 1
        if mark in "`~" and (found := _FENCE.match(line)) and self.opens(found):
            return self.fence(at, found[2], found[3])
        if (
            mark in "=-"
            and self.open >= 0
            and not self.lazy
            and _SETEXT.match(line)
            and at - self.open <= MAX_SETEXT_LINES
        ):
            start, self.open = self.open, -1
            self.heading(start, at + 1, 1 if mark == "=" else 2, " ".join(self.lines[start:at]))
            return at + 1
        if mark == "<" and (end := self.html(at, line)):
            return end
        if mark in "*-_" and _BREAK.match(line):
            self.close(at)
            self.block(Block(at, at + 1))
            return at + 1
        if "-" in head and "|" in head and self.open == at - 1 and _DELIMITER.issuperset(head):
            self.table = self.lazy = True
        self.text(at, line, head)
        return at + 1

    def opens(self, fence: re.Match[str]) -> bool:
        if fence[2][0] == "`" and "`" in fence[3]:
            return False  # inline code
        return self.in_list or len(fence[1].expandtabs(4)) < 4

    def text(self, at: int, line: str, head: str) -> None:
        item = head[0] in "-*+0123456789" and _ITEM.match(line) is not None
        if item:
            self.in_list = True
        elif self.gap and line[0] not in " \t":
            self.in_list = False
        if self.open < 0:
            indented = line[0] == "\t" or line.startswith("    ")
            self.open, self.lazy, self.table = at, item or head[0] == ">" or indented or self.in_list, False
        elif item and line[0] not in " \t" and not self.table:
            self.close(at)  # each top-level list item may begin a chunk
            self.open, self.lazy = at, True

    def close(self, at: int) -> None:
        """The paragraph in progress ends before line ``at``."""
        if self.open >= 0:
            self.block(Block(self.open, at, whole=self.table))
            self.open, self.table = -1, False

    def heading(self, start: int, end: int, level: int, raw: str) -> None:
        title = plain_heading(raw)
        while self.stack and self.stack[-1][0] >= level:
            self.stack.pop()
        if title:
            self.stack.append((level, title))
            self.titles.append((level, title))
        block = Block(start, end, glue=True)
        path = tuple(text for _, text in self.stack)
        if self.bare:  # nothing but headings yet: they go with this section
            self.sections[-1].path = path
            self.sections[-1].blocks.append(block)
        else:
            self.sections.append(Section([block], path))
            self.bare = True
        self.in_list = False

    def block(self, block: Block) -> None:
        self.sections[-1].blocks.append(block)
        self.bare = self.bare and block.glue

    def fence(self, at: int, marks: str, info: str) -> int:
        self.close(at)
        end = at + 1
        count = len(self.lines)
        while end < count:
            head = self.lines[end].strip()
            if head[:3] == marks[:3] and len(head) >= len(marks) and not head.strip(marks[0]):
                end += 1
                break
            end += 1
        words = info.strip().lstrip("{.").replace("}", " ").replace(",", " ").split()
        lang = FENCE_ALIASES.get(words[0].lower(), words[0].lower()[:30]) if words else None
        self.block(Block(at, end, whole=True, code=True, lang=lang))
        return end

    def html(self, at: int, line: str) -> int:
        """The end of the HTML block that begins here; 0 when none does."""
        until = _HTML_UNTIL.match(line)
        if until:
            name = until[1].lower()
            closing = _ENDS.get(name, f"</{name}>")
            end = at
            while end < len(self.lines) and closing not in self.lines[end].lower():
                end += 1
            end = min(end + 1, len(self.lines))
        elif self.open < 0 and _HTML_TAG.match(line):
            end = at + 1
            while end < len(self.lines) and self.lines[end].strip():
                end += 1
        else:
            return 0
        self.close(at)
        self.block(Block(at, end))
        return end


def scan(source: Source) -> tuple[list[Section], Meta, list[tuple[int, str]]]:
    """Sections with their blocks, what the front matter says, and all headings as (level, text)."""
    meta, first = front_matter(source)
    scanner = _Scanner(source, first)
    return scanner.sections, meta, scanner.titles


def title_of(meta: Meta, titles: list[tuple[int, str]]) -> str | None:
    """Front matter, else the first heading of the highest level there is."""
    if meta.title:
        return meta.title
    return min(titles, key=lambda item: item[0])[1] if titles else None
