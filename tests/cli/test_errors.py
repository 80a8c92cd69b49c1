"""Errors: a code for programs, a sentence and a fix for people, never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Run, environment

FAILING = [
    ["nonsense"],
    ["search"],
    ["search", "x", "--top", "0"],
    ["search", "x", "--config", "/nowhere/config.toml"],
    ["search", "x", "--store", "nonsense://host/db"],
    ["search", "x", "--store", "postgres:nonsense"],
    ["search", "x" * 5000],
    ["search", "'AND AND ('"],
    ["get", "\x00"],
    ["get", "nowhere#L0"],
    ["add", ""],
    ["add", "~no-such-user/notes"],
    ["add", "--jsonl", "/nowhere.jsonl"],
    ["import", "/nowhere.pack"],
    ["export", "/nowhere/deep/kb.pack"],
    ["eval", "/nowhere"],
    ["config", "set", "search.alpha", "7"],
    ["completion", "csh"],
    ["remove", "nowhere"],
    ["search", "x", "--profile", "nonsense"],
    ["search", "x", "--cursor", "nonsense"],
    ["search", "x", "--rerank", "--no-rerank"],
    ["search", "x", "--mmr", "1.5"],
    ["search", "x", "--per-doc", "0"],
    ["why-not"],
    ["why-not", "a.md"],
    ["why-not", "", "x"],
    ["why-not", "a.md", "x", "--explain"],
    ["why-not", "a.md", "x", "--top", "0"],
    ["why-not", "a.md", "x", "--profile", "nonsense"],
    ["why-not", "notes/git-undo.md", "'AND AND ('"],
    ["why-not", "notes", "x"],
    ["why-not", "notes/git-undo.md#L9999", "x"],
    ["add", "-", "--jsonl", "-"],
]


@pytest.mark.parametrize("argv", FAILING, ids=lambda argv: " ".join(argv)[:30].replace("\x00", "NUL"))
def test_a_failure_has_a_code_and_a_remedy(run: Run, filled: Path, argv: list[str]) -> None:
    done = run(*argv, "--json")
    assert done.code in (1, 2, 3)
    assert done.out == b""
    assert done.err.count(b"\n") == 1
    assert done.error["code"] not in ("internal", "error"), done.error
    assert done.error["hint"], done.error
    people = run(*argv)
    assert people.code == done.code
    assert people.out == b""
    assert people.errors.startswith("kb: ")
    assert "\n  try: " in people.errors
    assert "Traceback" not in people.errors


def test_json_errors_even_when_nothing_can_be_parsed(run: Run) -> None:
    assert run("nonsense", "--json").error["code"] == "usage"
    assert run("search", "x", "--nonsense", "--json").error["code"] == "usage"
    assert run("search", "x", "--top", "--json").error["code"] == "usage"
    assert run("search", "--nonsense", "--", "--json").errors.startswith("kb: ")


def test_a_defect_is_one_line(run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where a folder must be: whatever happens inside, no traceback."""
    store.write_bytes(b"not a folder")
    done = run("search", "x", "--json")
    assert done.code in (2, 3)
    assert done.error["message"]
    assert b"Traceback" not in run("search", "x").err


def test_messages_cannot_steer_a_terminal(run: Run, filled: Path) -> None:
    done = run("get", "\x1b]0;evil\x07\u202e")
    assert done.code == 2
    assert "\x1b" not in done.errors
    assert "\x07" not in done.errors
    assert "\u202e" not in done.errors


def test_a_reader_that_leaves_is_no_error(filled: Path) -> None:
    """kb list | head -0: the pipe closes before anything is written."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "kb", "list"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(write)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_I05_add_stops_when_asked_and_goes_on_later(run: Run, store: Path, tmp_path: Path, number: int) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for index in range(3000):
        (folder / f"{index:04d}.md").write_text(f"# Note {index}\n\n" + f"Words of note {index} about things. " * 40)
    command = [sys.executable, "-m", "kb", "add", str(folder), "--json"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT)
    assert child.stderr is not None
    for line in child.stderr:
        if b'"event":"document"' in line:
            break
    asked = time.monotonic()
    child.send_signal(number)
    out, _ = child.communicate(timeout=30)
    assert time.monotonic() - asked < 2
    assert child.returncode == 1
    assert b'"interrupted":true' in out
    kept = run("status", "--json").document["documents"]
    assert 0 < kept < 3000
    assert run("check").code == 0
    again = run("add", folder, "--json").document
    assert again["ok"] is True
    assert again["unchanged"] >= kept * 0.9
    assert run("status", "--json").document["documents"] == 3000


def test_closed_streams_are_no_error(filled: Path) -> None:
    for closed in (">&-", "2>&-", "<&-"):
        command = f'exec "$0" -m kb list {closed}'
        done = subprocess.run(
            ["sh", "-c", command, sys.executable], capture_output=True, env=environment(), check=False
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), closed


def test_ctrl_c_is_quiet(filled: Path) -> None:
    """Once a search has begun; stdin that never ends keeps it waiting."""
    command = [sys.executable, "-m", "kb", "search", "-"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=10)
    assert (child.returncode, err) == (130, b"")
