"""Whatever the text: chunks cover it, in order, in bounds, and cite lines that hold them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.ingest.chunk import Limits
from kb.ingest.extract import extract
from kb.ingest.extract.pdf import Pages, PdfError, chunk_pages
from kb.ingest.source import Source
from kb.types import Chunk

LIMITS = Limits.of(40)
PIECES = (
    "# Title", "## Sub *head* {#a}", "### [link](x) `c`", "Setext", "===", "---", "- item", "  - nested", "1. one", "> quote",
    "```python", "```", "~~~~", "    code", "| a | b |", "|---|:-:|", "<div>", "<!-- c", "-->", "</div>", "<pre>", "</pre>",
    "", " ", "\t", "\x0c", "word " * 30, "x" * 700, "日本語のテキスト。" * 20, "한국어 문서", "é\u0301ü", "def f(x):", "class A:",
    "    def g(self): pass", "    @decorator", "# comment", "}", "func (a *B) C() {", "+++", "title: x", "tags: [a, b]", "😀" * 50,
)  # fmt: skip
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"])
LINES = st.lists(st.tuples(st.sampled_from(PIECES) | st.text(max_size=40), BREAKS), max_size=30)
TEXTS = LINES.map(lambda lines: "".join(line + end for line, end in lines)) | st.text(max_size=300)
NAMES = st.sampled_from(["a.md", "a.txt", "a.py", "a.go", "a.ts", "a.rs", "a.json", "a.unknown", "Makefile"])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"])


def lines_of(text: str) -> list[str]:
    """As an editor counts them."""
    return re.split("\r\n|\n|\r", text)


def check(text: str, raw: bytes, chunks: tuple[Chunk, ...], limits: Limits) -> None:
    lines = lines_of(text)
    covered = bytearray(len(raw))
    last = 0
    codec = {b"\xff\xfe": "utf-16-le", b"\xef\xbb": "utf-8"}.get(raw[:2], "utf-8")
    if raw[:4] == b"\xff\xfe\x00\x00" and len(text.encode("utf-32")) == len(raw):
        codec = "utf-32-le"
    for chunk in chunks:
        span = chunk.span
        assert span.offset_start >= last, "spans overlap or are out of order"
        last = span.offset_end
        assert chunk.text.strip()
        assert raw[span.offset_start : span.offset_end].decode(codec) == chunk.text
        cited = text[: text.index(chunk.text)] if text.count(chunk.text) == 1 else None
        if cited is not None:
            assert len(lines_of(cited)) == span.start
        joined = "\n".join(lines[span.start - 1 : span.end])
        assert "\n".join(lines_of(chunk.text)) in joined
        covered[span.offset_start : span.offset_end] = b"\x01" * (span.offset_end - span.offset_start)
        mass = Source(chunk.text).weigh(0, len(chunk.text))
        assert mass <= limits.whole + limits.soft, "a chunk is far too large"
    rest = bytes(byte for byte, seen in zip(raw, covered, strict=True) if not seen)
    marks = {"utf-16-le": 2, "utf-32-le": 4}.get(codec, 3 if raw[:3] == b"\xef\xbb\xbf" else 0)
    assert not rest[marks:].decode(codec).strip(), "text that no chunk covers"


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, name=NAMES, encoding=ENCODINGS)
def test_chunks_cover_the_text_in_order_and_cite_their_lines(text: str, name: str, encoding: str) -> None:
    text = text.removeprefix("\ufeff").encode("utf-8", "replace").decode()
    raw = text.encode(encoding)
    if encoding == "utf-16" and text.startswith("\x00"):
        return  # its mark and NUL are the mark of UTF-32
    found = extract(raw, name, LIMITS)
    check(text, raw, found.chunks, LIMITS)


@settings(max_examples=100, deadline=None)
@given(pages=st.lists(TEXTS, max_size=5))
def test_pages_are_covered_and_never_crossed(pages: list[str]) -> None:
    try:
        chunks, _ = chunk_pages(Pages(tuple(pages)), LIMITS)
    except PdfError:
        assert not "".join(pages).strip()
        return
    seen: dict[int, str] = {}
    for chunk in chunks:
        span = chunk.span
        assert span.kind == "page"
        assert span.start == span.end
        assert pages[span.start - 1][span.offset_start : span.offset_end] == chunk.text
        seen[span.start] = seen.get(span.start, "") + chunk.text
    for number, page in enumerate(pages, start=1):
        assert "".join(seen.get(number, "").split()) == "".join(page.split())


@settings(max_examples=150, deadline=None)
@given(text=TEXTS, tokens=st.integers(32, 400))
def test_chunks_do_not_depend_on_anything_but_the_text(text: str, tokens: int) -> None:
    raw = text.encode("utf-8", "replace")
    limits = Limits.of(tokens)
    assert extract(raw, "a.md", limits) == extract(raw, "a.md", limits)


@settings(max_examples=200, deadline=None)
@given(raw=st.binary(max_size=400), name=NAMES)
def test_no_bytes_make_it_fail_in_an_untyped_way(raw: bytes, name: str) -> None:
    from kb.errors import ExtractError

    try:
        found = extract(raw, name, LIMITS)
    except ExtractError:
        return
    assert all(chunk.text.encode() for chunk in found.chunks)


@pytest.mark.parametrize("size", [60, 250, 1000])
def test_prose_comes_out_near_the_size_asked_for(size: int) -> None:
    prose = "\n\n".join("The quick brown fox jumps over the lazy dog. " * 6 for _ in range(200))
    limits = Limits.of(size)
    found = extract(prose.encode(), "a.txt", limits).chunks
    masses = [Source(chunk.text).weigh(0, len(chunk.text)) for chunk in found[:-1]]
    assert max(masses) <= limits.cap
    assert sum(masses) / len(masses) >= limits.target * 0.6
