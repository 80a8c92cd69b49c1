"""On a real terminal: colour, links, widths, progress; and no stored text can steer it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kb.cli.terminal import cells
from tests.cli.conftest import Run
from tests.cli.test_terminal import PAYLOADS

OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b\x07]*\x1b\\|\r|\x1b\[K")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def bare(shown: bytes) -> str:
    """Without the escapes that kb itself writes."""
    return OURS.sub("", shown.decode("utf-8"))


def test_hits_on_a_terminal(terminal: Run, filled: Path, sample: Path) -> None:
    done = terminal("search", "install git", "--top", "2")
    text = done.out.decode()
    assert done.code == 0
    assert "\x1b[1;33m" in text, "matches are marked"
    assert f"\x1b]8;;file://{sample}/notes/git-install.md#" in text, "citations are links"
    assert "notes/git-install.md#L" in bare(done.out)
    assert "2 hits · " in bare(done.out)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_escapes_where_none_are_wanted(terminal: Run, filled: Path, env: dict[str, str]) -> None:
    for argv in (["search", "install git"], ["list"], ["status"], ["doctor"], []):
        assert b"\x1b" not in terminal(*argv, env=env).out


def test_color_flag(terminal: Run, process: Run, filled: Path) -> None:
    assert b"\x1b" not in terminal("search", "git", "--color", "never").out
    assert b"\x1b[" in process("search", "git", "--color", "always").out
    assert b"\x1b" not in process("search", "git").out


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_lines_fit(terminal: Run, filled: Path, columns: int) -> None:
    for query in ("install git", "회의 일정", "バックアップ"):
        done = terminal("search", query, columns=columns)
        for line in bare(done.out).splitlines():
            if not re.search("#L|#p=|next page|hits? ·", line):  # citations are never cut, what ends it wraps
                assert cells(line) <= columns, line
    for line in bare(terminal("list", "--color", "never", columns=120).out).splitlines():
        assert cells(line) <= 120


def test_S7_no_payload_reaches_the_terminal(terminal: Run, process: Run, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "evil"
    folder.mkdir()
    for number, payload in enumerate(PAYLOADS):
        body = payload.encode("utf-8", "surrogateescape")
        name = f"{number}-{payload}".replace("/", "_").replace("\x00", "")
        text = b"# Title " + body + b"\n\nneedle " + body + b" in the text " + body + b"\n"
        Path(os.fsdecode(os.fsencode(folder) + b"/" + os.fsencode(name) + b".md")).write_bytes(text)
    added = process("add", folder, "--tags", "x\x1b]0;tag\x07")
    assert added.code in (0, 1)
    results = [
        terminal("add", folder),
        terminal("search", "needle", "--top", "100", "--explain"),
        terminal("search", "needle\x1b]0;q\x07", "--fts-only"),
        terminal("list"),
        terminal("status"),
        terminal("get", "0-*"),
        added,
        process("search", "needle", "--top", "100"),
        process("list"),
        process("status"),
        process("search", "needle", "--json"),
    ]
    for path in (line.split("\t")[-1] for line in process("list").text.splitlines()):
        results.append(terminal("get", path))
    for done in results:
        for shown in (done.out, done.err):
            assert not CONTROLS.search(bare(shown)), done
            assert b"\x07" not in shown


def test_I05_progress_is_shown_and_wiped(terminal: Run, store: Path, sample: Path) -> None:
    shown = terminal("add", sample).out
    assert b"\r" in shown
    assert shown.count(b"\x1b[K") >= 2
    last = shown.rsplit(b"\x1b[K", 1)[1]
    assert b"added" in last
    assert b"\r" not in last
    assert b"\r" not in terminal("add", sample, "--quiet").out


def test_get_on_a_terminal_says_where_the_text_is(terminal: Run, filled: Path) -> None:
    shown = bare(terminal("get", "notes/git-install.md#L6-L8").out)
    assert shown.startswith("notes/git-install.md#L6-L8")
