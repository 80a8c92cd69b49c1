"""``kb why-not`` on the command line: what it suggests can be typed, and it fits on a screen."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ASKED = [
    ["notes/git-undo.md", "install git", "--top", "1"],
    ["notes/git-undo.md", "install", "git", "--tags", "ops,none", "--since", "2030-01-01", "--type", "pdf"],
    ["notes/backup.md", "bakcups", "--fts-only", "--profile", "strict"],
    ["notes/backup.md", '"no such phrase"', "--threshold", "0.9", "--per-doc", "1"],
    ["papers/page-size.pdf#p=1", "git", "--mode", "lexical", "--profile", "strict"],
    ["notes/회의록.md", "zebrafish", "--profile", "best", "--top", "1"],
    ["code/retry.js", "회의 일정", "--fts-only", "--budget", "100"],
    ["notes/backup.md", "'git NOT install'", "--merge", "--mmr", "0.5"],
]


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_the_command_that_it_prints_shows_the_document(run: Run, filled: Path, words: list[str]) -> None:
    found = run("why-not", *words, "--json").document
    assert (found["shown"], found["rank"]) == (False, None)
    assert found["reasons"]
    change = found["change"]
    assert shlex.split(change["command"]) == change["argv"]
    hits = run(*change["argv"][1:], "--json").document["hits"]
    (shown,) = [hit for hit in hits if hit["rank"] == change["rank"]]
    assert shown["doc_path"] == words[0].partition("#")[0]
    assert change["command"] in run("why-not", *words).text


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_an_answer_is_short(run: Run, filled: Path, words: list[str]) -> None:
    lines = run("why-not", *words).text.splitlines()
    assert 5 <= len(lines) <= 15
    assert lines[0].endswith(" is not in the answer.")


def test_the_store_and_the_settings_are_part_of_what_to_type(
    run: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KB_STORE")
    settings = tmp_path / "my settings.toml"
    settings.write_text("[search]\ndefault_top = 1\nhybrid = false\n")
    given = ["--store", str(filled), "--config", str(settings)]
    change = run("why-not", "notes/git-undo.md", "git", *given, "--json").document["change"]
    assert change["argv"][:6] == ["kb", "search", *given]
    hits = run(*change["argv"][1:], "--json").document["hits"]
    assert "notes/git-undo.md" in [hit["doc_path"] for hit in hits]


def test_a_query_from_stdin(run: Run, filled: Path) -> None:
    assert run("why-not", "notes/git-undo.md", "-", "--json", stdin=b"undo\n").document["query"] == "undo"


def test_nothing_that_is_stored_steers_the_terminal(run: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "evil.jsonl"
    file.write_text('{"path": "e\\u001b[31m.md", "text": "zeb\\u001b[2Jra", "tags": ["\\u001b]0;x\\u0007"]}\n')
    assert run("add", "--jsonl", file).code == 0
    shown = run("why-not", "e\x1b[31m.md", "zebr\x1b[0m", "--tags", "x\x1b[1m", "--fts-only")
    assert shown.code == 0
    assert b"\x1b" not in shown.out + shown.err
    assert b"\x07" not in shown.out + shown.err
