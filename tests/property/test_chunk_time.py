"""Blow-up families: twice the input takes about twice the time, and nothing recurses."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kb.ingest.chunk import Limits
from kb.ingest.extract import extract

LIMITS = Limits.of(250)
FAMILIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "giant line": ("a.md", lambda n: "word " * (n // 5)),
    "giant line without spaces": ("a.txt", lambda n: "x" * n),
    "giant CJK line": ("a.txt", lambda n: "漢字" * (n // 6)),
    "backticks": ("a.md", lambda n: "`" * n),
    "backtick lines": ("a.md", lambda n: "`" * (n // 2) + "\n" + "`" * (n // 2)),
    "brackets": ("a.md", lambda n: "[" * n),
    "heading of brackets": ("a.md", lambda n: "# " + "[" * n),
    "heading with spaces": ("a.md", lambda n: "# a" + " " * n + "b"),
    "heading with closing hashes": ("a.md", lambda n: "# a" + " #" * (n // 2)),
    "headings": ("a.md", lambda n: "# h\n" * (n // 4)),
    "setext": ("a.md", lambda n: "a\n===\n" * (n // 6)),
    "quotes": ("a.md", lambda n: ">" * n),
    "nested quotes": ("a.md", lambda n: "\n".join("> " * k for k in range(1, int(n**0.5)))),
    "nested lists": ("a.md", lambda n: "\n".join(" " * k + "- x" for k in range(1, int((2 * n) ** 0.5)))),
    "items": ("a.md", lambda n: "- x\n" * (n // 4)),
    "tables": ("a.md", lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * (n // 6)),
    "delimiters": ("a.md", lambda n: "a|b\n-" + " " * n + "x|"),
    "open tags": ("a.md", lambda n: "<div>\n" * (n // 6)),
    "tags in one line": ("a.md", lambda n: "<b>" * (n // 3)),
    "comments": ("a.md", lambda n: "<!-- \n" * (n // 6)),
    "comment on comment": ("a.md", lambda n: "<!-- x -->\n\n" * (n // 12)),
    "fences": ("a.md", lambda n: "```\n" * (n // 4)),
    "fence with spaces": ("a.md", lambda n: "```" + " " * n + "`"),
    "rules": ("a.md", lambda n: "* " * (n // 2) + "x"),
    "blank lines": ("a.md", lambda n: "\n" * n),
    "front matter": ("a.md", lambda n: "---\n" + "key: value\n" * (n // 11) + "---\n"),
    "front matter list": ("a.md", lambda n: "---\ntags: [" + "a, " * (n // 3) + "]\n---\n"),
    "python brackets": ("a.py", lambda n: "(" * (n // 4)),
    "python nesting": ("a.py", lambda n: "\n".join(" " * k + "if x:" for k in range(min(900, int((2 * n) ** 0.5))))),
    "python functions": ("a.py", lambda n: "def f(): pass\n" * (n // 14)),
    "python one line": ("a.py", lambda n: "a=1;" * (n // 4)),
    "json nesting": ("a.json", lambda n: "[" * (n // 8) + "]" * (n // 8)),
    "json one line": ("a.json", lambda n: "[" + "1," * (n // 2) + "1]"),
    "html nesting": ("a.html", lambda n: "<div>" * (n // 20)),
    "javascript braces": ("a.js", lambda n: "{" * (n // 8)),
    "classes in classes": ("a.java", lambda n: "class A {" * (n // 40)),
}


def seconds(name: str, text: str) -> float:
    raw = text.encode()
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        extract(raw, name, LIMITS)
        best = min(best, time.process_time() - began)
    return best


@pytest.mark.parametrize("family", FAMILIES)
def test_doubling_the_input_does_not_blow_up(family: str) -> None:
    name, make = FAMILIES[family]
    extract(make(100).encode(), name, LIMITS)  # grammars are loaded once
    for _ in range(3):  # another process may have taken the cache
        small, large = seconds(name, make(100_000)), seconds(name, make(200_000))
        if large <= 2.6 * small + 0.05:
            break
    assert large <= 2.6 * small + 0.05
    assert large < 2.0


def test_a_hundred_thousand_nested_tags_do_not_recurse() -> None:
    for name in ("a.md", "a.html", "a.xml"):
        assert extract(("<a>" * 100_000 + "x" + "</a>" * 100_000).encode(), name, LIMITS).chunks
