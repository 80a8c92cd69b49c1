"""Recorded answers. ``KB_UPDATE_GOLDEN=1 pytest tests/cli/test_golden.py`` records them anew; read the difference."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Run

GOLDEN = Path(__file__).parent / "golden"
QUESTIONS = str(GOLDEN.parents[1] / "data" / "eval" / "golden.jsonl")
CASES = {
    "search-hybrid": ["search", "install", "git", "--top", "3"],
    "search-lexical-korean": ["search", "회의 일정", "--fts-only"],
    "search-explain": ["search", "install git", "--top", "2", "--explain", "--tags", "git"],
    "search-merged": ["search", "install git", "--merge", "--parent", "--per-doc", "1", "--top", "2"],
    "search-merged-json": ["search", "install git", "--merge", "--parent", "--top", "1", "--json"],
    "search-budget": ["search", "install git", "--budget", "400", "--mmr", "0.7", "--explain"],
    "search-nothing": ["search", "zebrafish", "--fts-only", "--type", "pdf"],
    "search-strict": ["search", "install git", "--profile", "strict", "--top", "2"],
    "search-hybrid-json": ["search", "install git", "--top", "3", "--json"],
    "search-code-json": ["search", "retry backoff", "--type", "code", "--top", "2", "--json"],
    "search-pdf-json": ["search", "page", "--type", "pdf", "--top", "2", "--json"],
    "why-not-filter": ["why-not", "notes/git-undo.md", "undo a commit", "--tags", "ops"],
    "why-not-top": ["why-not", "notes/git-undo.md", "install git", "--top", "1"],
    "why-not-words": ["why-not", "notes/backup.md", "bakcups on windows", "--fts-only", "--profile", "strict"],
    "why-not-shown": ["why-not", "notes/git-undo.md", "undo", "--fts-only"],
    "why-not-json": ["why-not", "notes/git-undo.md#L1", "undo git", "--top", "1", "--type", "pdf", "--json"],
    "get": ["get", "notes/git-install.md#L6-L8"],
    "get-json": ["get", "notes/git-install.md#L6-L8", "--json"],
    "list": ["list"],
    "list-json": ["list", "--type", "code", "--json"],
    "status-json": ["status", "--json"],
    "eval": ["eval", QUESTIONS, "--profiles", "notes,strict", "--modes", "hybrid,lexical", "--budgets", "500"],
    "eval-json": ["eval", QUESTIONS, "--modes", "hybrid", "--fail-under", "mrr@10=0.99", "--json"],
    "tune": ["tune", "--golden", QUESTIONS],
    "mark-json": ["mark", "--not", "notes/git-undo.md", "install git", "--json"],
    "error": ["search", "git", "--type", "word"],
    "error-json": ["search", "git", "--type", "word", "--json"],
    "verb-unknown": ["install git"],
}
TIMES = (
    (re.compile(r'"(took_ms|p50_ms|p95_ms|ms|lexical_ms|vector_ms)":[0-9.e-]+'), r'"\1":0'),
    (re.compile(r"\d+(\.\d+)? (ms|s)\b"), "0 ms"),
    (re.compile(r" +\d+\.\d +\d+\.\d$", re.MULTILINE), " 0.0 0.0"),  # the last two columns of kb eval
    (re.compile(r'"(indexed_at|last_indexed_at)":"[^"]+"'), r'"\1":"2026-01-31T00:00:00Z"'),
    (re.compile(r'"bytes":\d+'), '"bytes":0'),
)


def steady(done: Ran, tmp_path: Path) -> str:
    """What must stay byte for byte: everything but times and the temporary folder."""
    text = f"{done.text}--- stderr\n{done.errors}--- exit {done.code}\n".replace(str(tmp_path), "<tmp>")
    for pattern, replacement in TIMES:
        text = pattern.sub(replacement, text)
    return text


@pytest.mark.parametrize("name", CASES)
def test_L11_recorded_answers_stay(name: str, run: Run, filled: Path, tmp_path: Path) -> None:
    found = steady(run(*CASES[name]), tmp_path)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("KB_UPDATE_GOLDEN"):
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


def test_H10_two_runs_give_the_same_bytes(process: Run, filled: Path, tmp_path: Path) -> None:
    seeds = ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"})
    first, second = (steady(process("search", "install git", "--json", env=env), tmp_path) for env in seeds)
    assert first == second
