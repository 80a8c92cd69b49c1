"""Code, plain text, PDFs and encodings."""

from __future__ import annotations

import json

import pytest

from kb.config import IngestSettings
from kb.errors import ExtractError
from kb.ingest.chunk import Limits
from kb.ingest.extract import extract
from kb.ingest.extract.decode import decode, is_binary
from kb.ingest.extract.languages import file_type
from kb.ingest.extract.pdf import Pages, chunk_pages
from kb.ingest.worker import Worker, WorkerDied
from tests.pdfs import pdf

LIMITS = Limits.of(250)

PYTHON = '''"""Module docs."""
import os

LIMIT = 1

# about Shape
class Shape(Base):
    """A shape."""

    sides = 0

    @property
    def area(self):
        """Its area."""
        return 1

    async def draw(self):
        def inner():
            pass
        return inner

@cache
def top(a):
    return a
'''
SYMBOLS = {
    "a.py": (PYTHON, ["Shape", "Shape.area", "Shape.draw", "top"]),
    "a.go": ("package p\n\ntype S struct {\n\ta int\n}\n\n// Run it.\nfunc (s *S) Run() {}\n\nfunc main() {}\n",
        ["S", "S.Run", "main"]),
    "a.rs": ("use x;\n\nimpl P {\n    /// new\n    pub fn new() {}\n    fn y() {}\n}\n\nfn main() {}\n", ["P.new", "P.y", "main"]),
    "a.ts": ("export class A {\n  z = 1;\n  m(): void {}\n}\nexport const f = () => 1;\ninterface I { a: string }\n",
        ["A", "A.m", "f", "I"]),
    "a.js": ("function a() {}\n\nclass K {\n  m() {}\n}\nexports.z = function () {};\n", ["a", "K.m"]),
    "a.java": ("class J {\n  int x;\n  /** Doc. */\n  @Override\n  public void m() {}\n  J() {}\n}\n", ["J", "J.m", "J.J"]),
    "a.cpp": ("namespace n {\nclass C {\n public:\n  void in() {}\n};\nvoid C::out() {}\n}\nint main() {}\n",
        ["n.C", "n.C.in", "n.C::out", "main"]),
    "a.c": ("#include <x.h>\n\nstatic int *ptr(void) { return 0; }\n\nstruct s { int a; };\n", ["ptr", "s"]),
    "a.rb": ("module M\n  class C\n    def m; end\n    def self.s; end\n  end\nend\n", ["M.C.m", "M.C.s"]),
    "a.sh": ("set -e\n# doc\nfoo() { echo; }\nfunction bar { echo; }\n", ["foo", "bar"]),
    "a.php": ("<?php\nclass P { \n  public function m() {}\n}\nfunction f() {}\n", ["P.m", "f"]),
    "a.kt": ("class K(val x: Int) {\n    fun m() {}\n}\n\nfun top() {}\n", ["K.m", "top"]),
    "a.sql": ("CREATE TABLE t (a int);\nSELECT 1;\n", ["t"]),
    "a.lua": ("local M = {}\nfunction M.f() end\nM.g = function() end\n", ["M.f", "M.g"]),
    "a.proto": ('syntax = "proto3";\nmessage A {\n  int32 x = 1;\n}\n', ["A"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SYMBOLS)
def test_code_is_cut_at_definitions_and_names_them(name: str) -> None:
    text, wanted = SYMBOLS[name]
    found = extract(text.encode(), name, LIMITS)
    assert found.type == "code"
    symbols = [chunk.symbol for chunk in found.chunks if chunk.symbol]
    assert [symbol for symbol in symbols if symbol in wanted] == wanted
    assert all(chunk.lang == found.lang for chunk in found.chunks if chunk.kind == "code")


def test_comments_and_decorators_above_go_with_the_definition() -> None:
    found = {chunk.symbol: chunk for chunk in extract(PYTHON.encode(), "a.py", LIMITS).chunks}
    assert found["Shape"].text.startswith("# about Shape\nclass Shape")
    assert found["Shape.area"].text.startswith("    @property\n    def area")
    assert found["top"].text.startswith("@cache\ndef top")
    assert found["top"].span.start == 23 - 1


def test_a_long_definition_is_cut_and_keeps_its_symbol() -> None:
    body = "".join(f"    value_{n} = compute(value_{n - 1}, {n})\n" for n in range(300))
    found = extract(f"class A:\n  def long(self):\n{body}".encode(), "a.py", LIMITS).chunks
    assert len(found) > 5
    assert {chunk.symbol for chunk in found} == {"A.long"}


def test_broken_code_is_still_covered() -> None:
    text = "def ok():\n    return 1\n\ndef broken(:\n  ]]\n\nclass (\n\ndef last():\n    pass\n"
    found = extract(text.encode(), "a.py", LIMITS).chunks
    assert "ok" in {chunk.symbol for chunk in found}
    assert "".join("".join(chunk.text.split()) for chunk in found) == "".join(text.split())


def test_only_comments_is_no_code() -> None:
    found = extract(b"# just words\n# about nothing\n", "a.py", LIMITS).chunks
    assert [chunk.kind for chunk in found] == ["info"]


def test_absurd_nesting_never_reaches_the_native_parser() -> None:
    for name, text in (
        ("a.py", "(" * 50_000),
        ("a.ts", "{" * 50_000),
        ("a.html", "<b>" * 50_000),
        ("a.typ", "[" * 9000),
    ):
        assert extract(text.encode(), name, LIMITS).chunks


def test_types_by_name() -> None:
    assert file_type("x/README.md").type == "markdown"
    assert file_type("a.PDF").type == "pdf"
    assert file_type("Makefile").lang == "make"
    assert file_type("a.tar.gz").type == "note"
    assert file_type(".md").type == "note"
    assert extract(b"#!/usr/bin/env -S python3 -u\nx = 1\n", "tool", LIMITS).lang == "python"
    assert extract(b"words\n", "LICENSE", LIMITS).type == "note"


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        ("héllo wörld, ça va? Être ou ne pas être, voilà la question. Déjà vu à Noël.", "cp1252", None),
        ("한국어로 쓴 문서입니다. 설치 방법을 설명합니다. 파드를 만들고 서비스를 연다.", "cp949", None),
        ("これは日本語の文書です。インストールの方法を説明します。", "shift_jis", None),
        ("这是一份中文文档，介绍如何安装和配置软件。请按照以下步骤操作。", "gb18030", None),
        ("Это документ на русском языке. Он объясняет установку.", "cp1251", None),
        ("utf sixteen – text\r\nsecond", "utf-16", "utf-16-le"),
        ("utf thirty two – text", "utf-32", "utf-32-le"),
        ("with a mark – text", "utf-8-sig", "utf-8"),
        ("plain – text", "utf-8", "utf-8"),
    ],
)
def test_encodings(text: str, encoding: str, said: str | None) -> None:
    raw = text.encode(encoding)
    source = decode(raw)
    assert source.text == text
    assert said is None or source.encoding == said
    found = extract(raw, "a.txt", LIMITS).chunks
    assert found[0].text == text
    assert raw[found[0].span.offset_start : found[0].span.offset_end].decode(source.encoding) == text


def test_utf8_with_a_broken_byte_stays_utf8() -> None:
    raw = "Zeile eins – schön, übel, größer, Fuß, Maß, Öl, Äpfel\n".encode() * 3 + b"cut \xe2\x80\nlast \xc3\xa9nd\n"
    found = extract(raw, "a.log", LIMITS).chunks
    assert "schön" in found[0].text
    assert "\ufffd" in found[0].text
    assert found[0].text.endswith("last énd")
    assert found[0].span.offset_end == len(raw) - 1


def test_binary_is_known_by_nul_and_noise_is_no_text() -> None:
    assert is_binary(b"PK\x03\x04\x00\x00")
    assert not is_binary("text".encode("utf-16"))
    assert not is_binary(b"x" * 9000 + b"\x00")
    with pytest.raises(ExtractError):
        extract(bytes(range(128, 256)) * 20 + bytes(range(1, 32)) * 20, "a.bin", LIMITS)


def test_line_breaks_of_all_kinds_count_once() -> None:
    raw = b"one\r\ntwo\rthree\nfour\x0cstill four\xe2\x80\xa8still\n\nsix"
    found = extract(raw, "a.txt", Limits.of(32)).chunks
    assert [(chunk.span.start, chunk.span.end) for chunk in found] == [(1, 6)]


def test_nothing_gives_no_chunks() -> None:
    for raw in (b"", b"\n \t\r\n", b"\xef\xbb\xbf", b"\x0c"):
        for name in ("a.md", "a.txt", "a.py"):
            assert extract(raw, name, LIMITS).chunks == ()


def ask(worker: Worker, raw: bytes, seconds: float = 20) -> dict[str, object]:
    answer: dict[str, object] = json.loads(worker.ask([raw, b""], seconds))
    return answer


def test_a_pdf_comes_back_by_page_from_the_worker() -> None:
    worker = Worker("pdf 512 20")
    try:
        answer = ask(worker, pdf("first page", "second page", title="The title"))
        assert answer == {"texts": ["first page", "second page"], "title": "The title"}
        assert ask(worker, b"no PDF at all") == {"error": "pdf_damaged"}
        assert ask(worker, pdf("after the damaged one"))["texts"] == ["after the damaged one"]
    finally:
        worker.close()


def test_a_hanging_or_dead_worker_costs_one_file_and_is_replaced() -> None:
    worker = Worker("pdf 512 20")
    try:
        with pytest.raises(WorkerDied) as late:
            worker.ask([pdf("never finished")], 0.5)  # the end of the file never comes
        assert late.value.timed_out
        assert ask(worker, pdf("next"))["texts"] == ["next"]
        assert worker._process is not None
        worker._process.kill()
        with pytest.raises(WorkerDied) as dead:
            ask(worker, pdf("lost"))
        assert not dead.value.timed_out
        assert ask(worker, pdf("again"))["texts"] == ["again"]
    finally:
        worker.close()


def test_the_worker_has_no_more_memory_than_it_may_use() -> None:
    worker = Worker("pdf 300 20")
    try:
        with pytest.raises(WorkerDied):
            worker.ask([b"%PDF-1.4\n", *[b"\x20" * (1 << 20)] * 400, b""], 20)
        assert ask(worker, pdf("fine"))["texts"] == ["fine"]
    finally:
        worker.close()


def test_titles_of_pdfs() -> None:
    assert chunk_pages(Pages(("First line\nmore",), "Real title"), LIMITS)[1] == "Real title"
    for junk in ("Microsoft Word - a.doc", "untitled", "report.dvi", "  ", "--", None):
        assert chunk_pages(Pages(("", "First line\nmore"), junk), LIMITS)[1] == "First line"


def test_settings_reach_the_limits() -> None:
    assert Limits.of(IngestSettings().chunk_tokens) == Limits()
