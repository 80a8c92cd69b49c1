"""Markdown: where it is cut, what it is called, and what its front matter says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from kb.ingest.chunk import Limits
from kb.ingest.extract import Extracted, extract
from kb.ingest.extract.frontmatter import front_matter
from kb.ingest.extract.markdown import plain_heading, scan
from kb.ingest.source import Source

LIMITS = Limits.of(250)
SAMPLES = Path(__file__).parents[1] / "data" / "ingest"


def read(text: str) -> Extracted:
    return extract(text.encode(), "a.md", LIMITS)


def headings(text: str) -> list[tuple[int, str]]:
    return scan(Source(text))[2]


def test_each_heading_begins_a_chunk_with_its_path() -> None:
    found = read("# A\n\nintro\n\n## B\n\nb text\n\n### C\n\nc text\n\n## D\n\nd text\n").chunks
    assert [chunk.heading_path for chunk in found] == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")]
    assert found[1].text == "## B\n\nb text"


def test_a_heading_without_text_goes_with_the_next_section() -> None:
    found = read("# A\n\n## B\n\n### C\n\ntext\n").chunks
    assert len(found) == 1
    assert found[0].heading_path == ("A", "B", "C")
    assert found[0].span.start == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# a #\n", [(1, "a")]),
        ("# a#\n", [(1, "a#")]),
        ("#a\n", []),
        ("    # code\n", []),
        ("####### seven\n", []),
        ("Title\n===\n", [(1, "Title")]),
        ("Sub\n---\n", [(2, "Sub")]),
        ("- item\n---\n", []),
        ("> quote\n---\n", []),
        ("\n---\n", []),
        ("```\n# no\n```\n# yes\n", [(1, "yes")]),
        ("~~~\n```\n# no\n~~~\n# yes\n", [(1, "yes")]),
        ("````\n```\n# no\n````\n# yes\n", [(1, "yes")]),
        ("- a\n\n      ```\n      # no\n      ```\n\n# yes\n", [(1, "yes")]),
        ("<!-- \n# no\n-->\n# yes\n", [(1, "yes")]),
        ("<pre>\n\n# no\n</pre>\n# yes\n", [(1, "yes")]),
        ("<div>\n# no\n\n# yes\n", [(1, "yes")]),
        ("``` inline ``` code\n# yes\n", [(1, "yes")]),
        ("# [text](http://x/y) **b** `c` {#id}\n", [(1, "text b c")]),
        ("#\tt\r\nText\r\n---\r\n", [(1, "t"), (2, "Text")]),
    ],
)
def test_what_is_a_heading(text: str, wanted: list[tuple[int, str]]) -> None:
    assert headings(text) == wanted


def test_headings_are_those_of_markdown_it() -> None:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    checked = 0
    for path in sorted(SAMPLES.glob("*.md")):
        source = Source(path.read_text(encoding="utf-8"))
        _, first = front_matter(source)
        body = "\n" * first + source.text[source.starts[first] :]
        wanted = [t.map[0] for t in parser.parse(body) if t.type == "heading_open" and t.level == 0 and t.map]
        sections, _, _ = scan(source)
        found = [block.start for section in sections for block in section.blocks if block.glue and block.start >= first]
        assert found == wanted, path.name
        checked += len(wanted)
    assert checked >= 15


@pytest.mark.skipif("KB_DATA" not in os.environ, reason="KB_DATA names a folder with a large set of Markdown files")
def test_headings_of_a_large_set_are_those_of_markdown_it() -> None:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    files = sorted(Path(os.environ["KB_DATA"]).rglob("*.md"))
    differ = 0
    for path in files:
        source = Source(path.read_text(encoding="utf-8-sig"))
        _, first = front_matter(source)
        wanted = [
            t.map[0]
            for t in parser.parse("\n" * first + source.text[source.starts[first] :])
            if t.type == "heading_open" and t.level == 0 and t.map
        ]
        found = [b.start for s in scan(source)[0] for b in s.blocks if b.glue and b.start >= first]
        differ += found != wanted
    assert differ <= len(files) * 0.005


def test_fences_and_tables_stay_whole_where_they_fit() -> None:
    fence = "```python\n" + "x = compute(1, 2)\n\n" * 60 + "```"
    table = "| a | b |\n|---|---|\n" + "| one | two |\n" * 60
    text = "# T\n\n" + "Some words of prose here. " * 30 + "\n\n" + fence + "\n\n" + table
    found = read(text).chunks
    assert any(fence in chunk.text for chunk in found)
    assert any(table.strip() in chunk.text for chunk in found)
    code = next(chunk for chunk in found if fence in chunk.text)
    assert (code.kind, code.lang) == ("code", "python")
    assert {chunk.kind for chunk in found if fence not in chunk.text} == {"info"}


def test_a_fence_too_large_for_a_chunk_is_cut_between_lines() -> None:
    lines = [f"call_number({n}, 'argument')" for n in range(400)]
    found = read("```js\n" + "\n".join(lines) + "\n```\n").chunks
    assert len(found) > 3
    assert all(chunk.kind == "code" and chunk.lang == "javascript" for chunk in found)
    assert re.findall(r"call_number\((\d+)", "\n".join(chunk.text for chunk in found)) == [str(n) for n in range(400)]


@pytest.mark.parametrize(
    ("head", "title", "tags", "date"),
    [
        ("title: Plain\ntags: [a, b]\ndate: 2024-05-06", "Plain", ("a", "b"), "2024-05-06"),
        ("title: 'Quoted: yes'\ntags: a, b", "Quoted: yes", ("a", "b"), None),
        ('title: "Say \'x\'"\ntags:\n  - a\n  - "b c"', "Say 'x'", ("a", "b c"), None),
        ("title: >-\n  folded\n  text\ntags: ['#x', '#x']", "folded text", ("x",), None),
        ("Title: Upper\nKeywords: k", "Upper", ("k",), None),
        ("title:\ntags:\ndate: not a day", "H", (), None),
        ("date: 2024-02-31\nother:\n  title: nested", "H", (), None),
        ("title: A # comment\nnested: {a: [1}\n  bad\n\t- x\n:::", "A", (), None),
    ],
)
def test_front_matter(head: str, title: str, tags: tuple[str, ...], date: str | None) -> None:
    found = read(f"---\n{head}\n---\n\n# H\n\ntext\n")
    assert (found.title, found.meta.tags, found.meta.date) == (title, tags, date)
    assert found.chunks[0].span.start == 1
    assert found.chunks[0].text.startswith("---\n" + head)


def test_toml_front_matter() -> None:
    found = read('+++\ntitle = "T"\ntags = ["a"]\ndate = 2024-01-02T03:04:05Z\n+++\ntext\n')
    assert (found.title, found.meta.tags, found.meta.date) == ("T", ("a",), "2024-01-02")


def test_two_rules_are_no_front_matter() -> None:
    found = read("---\n\nsome prose here\n\n---\n\nmore\n")
    assert found.meta.title is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Two\n\n# One\n", "One"),
        ("## Two\n\n### Three\n", "Two"),
        ("first line\nsecond\n", "first line"),
        ("", None),
    ],
)
def test_titles_without_front_matter(text: str, title: str | None) -> None:
    assert read(text).title == title


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("# 설치 안내\n\n이 문서는 kubectl 설치를 설명합니다.", "ko"),
        ("# インストール\n\nこの文書は kubectl を説明します。", "ja"),
        ("# 安装\n\n本文介绍如何安装 kubectl。", "zh"),
        ("# การติดตั้ง\n\nเอกสารนี้", "th"),
        ("# Установка\n\nЭтот документ", "ru"),
        ("# Install – “how”", None),
        ("---\nlang: de\n---\n# Anleitung", "de"),
    ],
)
def test_language(text: str, lang: str | None) -> None:
    assert read(text).lang == lang


def test_plain_heading_is_bounded() -> None:
    assert len(plain_heading("x" * 10_000)) == 200
