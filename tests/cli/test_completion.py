"""Completion scripts: valid for their shells, and complete."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kb.cli.completion import script
from kb.cli.flags import ORDER, SHELLS
from tests.cli.conftest import Run

NEEDS_BASH = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert done.text == script(shell)
    assert all(verb.name in done.text for verb in ORDER)


def test_an_unknown_shell_is_refused(run: Run) -> None:
    done = run("completion", "csh")
    assert done.code == 2
    assert "bash|zsh|fish" in done.errors


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_parses(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    done = subprocess.run([shell, "-n"], input=script(shell).encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@NEEDS_BASH
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["kb", "se"], ["search"]),
        (["kb", "search", "--mo"], ["--mode"]),
        (["kb", "search", "git", "--mode", ""], ["hybrid", "lexical", "vector"]),
        (["kb", "search", "--type", "p"], ["pdf"]),
        (["kb", "list", "--trust-min", ""], ["generated", "secondary", "primary"]),
        (["kb", "--store", "list", "sta"], ["status"]),
        (["kb", "config", "un"], ["unset"]),
        (["kb", "completion", ""], ["bash", "zsh", "fish"]),
        (["kb", "search", "--profile", "m"], ["memory"]),
        (["kb", "--col"], ["--color"]),
        (["kb", "search", "--top", ""], []),
    ],
)
def test_bash_offers(words: list[str], offers: list[str]) -> None:
    ask = '_ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kb; echo "${COMPREPLY[@]}"; }; _ask "$@"'
    command = ["bash", "--norc", "-c", script("bash") + ask, "bash", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offers
