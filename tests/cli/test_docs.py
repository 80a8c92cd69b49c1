"""Help and docs/cli.md come from the one definition of the flags."""

from __future__ import annotations

import pytest

from kb.cli.docs import markdown
from kb.cli.flags import ORDER, VERBS, flags_of
from kb.cli.help import help_text
from kb.cli.terminal import cells
from tests.cli.conftest import ROOT, Run


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == markdown(), "run scripts/make_cli_docs.py"


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(run: Run, verb: str) -> None:
    done = run(verb, "--help")
    assert done.code == 0
    assert done.err == b""
    assert done.text.startswith(f"kb {verb}: ")
    assert all(flag.name in done.text for flag in flags_of(VERBS[verb]))


def test_help_of_kb(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    assert all(verb.name in done.text and verb.summary in done.text for verb in ORDER)
    assert done.text == run("help").text


def test_what_comes_in_a_later_release_is_not_promised() -> None:
    text = markdown() + help_text(None) + "".join(help_text(verb) for verb in ORDER)
    assert all(word not in text for word in ("kb serve", "kb mcp", "--watch"))


@pytest.mark.parametrize("width", [80, 200])
def test_help_fits_the_terminal(width: int) -> None:
    for verb in (None, *ORDER):
        lines = help_text(verb, width).partition("\nexamples:")[0].splitlines()  # a command is never broken
        assert max(cells(line) for line in lines) <= width


def test_version(run: Run) -> None:
    done = run("--version")
    assert done.code == 0
    assert done.text.startswith("kb ")
