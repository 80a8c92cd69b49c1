"""What reaches a screen: nothing of a stored text can steer it, and lines fit."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.terminal import (
    Screen,
    cells,
    clean,
    clean_line,
    count,
    cut,
    flow,
    glyphs,
    pad,
    size,
    span,
    table,
    wrap,
)

# What escape sequences are made of: every C0 and C1 control but newline and tab, and what turns text around.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

PAYLOADS = [
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;file:///etc/passwd\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[8mhidden\x1b[0m",
    "\x9b31m",
    "\x9d52;c;eA==\x9c",
    "\x90q\x9c",
    "\x1bPq\x1b\\",
    "\x1b_Ga=T\x1b\\",
    "\x1bc",
    "\x08\x08\x08over",
    "\rover",
    "a\x7fb",
    "\x00",
    "\u202egpj.exe",
    "\u2066x\u2069",
    "\udcff",
    "\x0e\x0f",
    "\x05",
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
@pytest.mark.parametrize("clean_one", [clean, clean_line, flow], ids=lambda f: f.__name__)
def test_payloads_become_visible(payload: str, clean_one: object) -> None:
    shown = clean_one(f"before {payload} after")  # type: ignore[operator]
    assert not STEERING.search(shown)
    assert "before" in shown
    assert "after" in shown


@given(st.text())
def test_no_text_steers(text: str) -> None:
    for shown in (clean(text), clean_line(text), flow(text), "".join(glyph[0] for glyph in glyphs(text, ()))):
        assert not STEERING.search(shown)
    assert "\n" not in clean_line(text)
    assert "\t" not in flow(text)


@pytest.mark.parametrize("text", ["plain", "한국어 문서", "Größe", "👩‍👩‍👧 family", "עברית", "ไทย", "tab\there\nline"])
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_a_name_with_a_newline_is_one_line() -> None:
    assert clean_line("a\nb\tc") == "a␊b␉c"
    assert flow("  a\r\n\n b ") == "a b"


# ---------------------------------------------------------------- widths


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("한국어", 6),
        ("日本", 4),
        ("e\u0301", 1),
        ("ｱ", 1),
        ("ア", 2),
        ("🙂", 2),
        ("ไทยนี้", 4),
        ("", 0),
        ("\u200d", 0),
    ],
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


@given(st.text(), st.integers(1, 40))
def test_cut_fits(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width


def test_cut_says_that_something_is_missing() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("한국어", 5) == "한국…"
    assert cut("한국어", 4) == "한…"
    assert cut("abc", 3) == "abc"
    assert cut("abc", None) == "abc"
    assert pad("한", 4) == "한  "


@given(st.text(), st.integers(2, 40))
def test_wrap_loses_nothing_and_fits(text: str, width: int) -> None:
    items = glyphs(text, ())
    lines = wrap(items, width)
    assert [glyph for line in lines for glyph in line] == items
    for line in lines:
        assert cells("".join(glyph[0] for glyph in line).rstrip(" ")) <= width or len(line) == 1


def test_wrap_breaks_at_spaces_and_between_wide_characters() -> None:
    def lines(text: str, width: int) -> list[str]:
        return ["".join(glyph[0] for glyph in line).rstrip() for line in wrap(glyphs(text, ()), width)]

    assert lines("install git on debian", 11) == ["install git", "on debian"]
    assert lines("한국어문서검색", 6) == ["한국어", "문서검", "색"]
    assert lines("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_marks_follow_their_characters() -> None:
    text = "use\n\n\x1b git 설치 now"
    start = text.index("git")
    marked = "".join(glyph[0] for glyph in glyphs(text, [(start, start + 3), (start + 4, start + 6)]) if glyph[2])
    assert marked == "git설치"
    assert glyphs("ab", [(-5, 99)]) == [("a", 1, True), ("b", 1, True)]


# ---------------------------------------------------------------- screens


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(color: str | None = None, *, tty: bool = True, **environ: str) -> Screen:
    return Screen(Terminal() if tty else io.StringIO(), color, environ)


def test_colour_only_where_it_is_wanted() -> None:
    assert screen().color
    assert not screen(tty=False).color
    assert not screen(NO_COLOR="1").color
    assert screen(NO_COLOR="").color
    assert not screen(TERM="dumb").color
    assert not screen("never").color
    assert screen("always", tty=False).color
    assert screen("always", NO_COLOR="1").color


def test_links_only_on_a_terminal() -> None:
    assert screen().link("a", "file:///a").startswith("\x1b]8;;file:///a\x1b\\a")
    assert screen().link("a", None) == "a"
    for other in (screen("always", tty=False), screen(NO_COLOR="1"), screen(TERM="dumb"), screen("never")):
        assert other.link("a", "file:///a") == "a"


def test_width_is_that_of_the_terminal_or_unlimited() -> None:
    assert screen(COLUMNS="132").width == 132
    assert screen(COLUMNS="3").width == 20
    assert screen(COLUMNS="wide").width == 80
    assert screen(tty=False, COLUMNS="132").width is None


def test_a_table_fits_its_terminal() -> None:
    stream = Terminal()
    table(
        Screen(stream, "never", {"COLUMNS": "30"}),
        ("path", "title"),
        [("a.md", "한" * 30), ("b.md", "x")],
        flexible=[1],
    )
    lines = stream.getvalue().splitlines()
    assert max(cells(line) for line in lines) <= 30
    assert "…" in lines[1]


def test_a_table_in_a_pipe_is_for_cut_and_awk() -> None:
    stream = io.StringIO()
    table(Screen(stream, None, {}), ("path", "title"), [("a.md", "한" * 30)])
    assert stream.getvalue() == "a.md\t" + "한" * 30 + "\n"


def test_an_encoding_without_the_characters_loses_them_and_nothing_else() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Screen(stream, None, {}).write("a…b\n")
    stream.flush()
    assert raw.getvalue() == b"a?b\n"


def test_numbers_for_people() -> None:
    assert count(1, "hit") == "1 hit"
    assert count(1200, "hit") == "1,200 hits"
    assert [size(n) for n in (0, 999, 1500, 2_000_000, 123_456_789, 5e12)] == [
        "0 B",
        "999 B",
        "1.5 KB",
        "2.0 MB",
        "123 MB",
        "5000 GB",
    ]
    assert [span(ms) for ms in (0.4, 12, 1500, 61_000, 7_260_000)] == [
        "0 ms",
        "12 ms",
        "1.5 s",
        "1 min 01 s",
        "2 h 01 min",
    ]
