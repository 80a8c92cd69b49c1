"""``kb mark`` and ``kb tune``: what they say, and what they write."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.unit.test_tune import linked

OWN = '# mine\n[search]\nprofile = "mine"   # for now\n\n[profiles.mine]\nalpha = 1.0\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(OWN, encoding="utf-8")
    monkeypatch.setenv("KB_CONFIG", str(path))
    return path


@pytest.fixture
def pages(run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> Path:
    """A store of pages that link to each other, whose searches go by meaning alone: words would be better."""
    monkeypatch.setenv("KB_EMBED_MODEL", "hashing:64")
    folder = tmp_path / "pages"
    folder.mkdir()
    for path, text in linked().items():
        (folder / path).write_text(text, encoding="utf-8")
    assert run("add", folder, "--collection", "work").code == 0
    return store


def test_nothing_is_written_unless_it_is_asked_for(run: Run, pages: Path, file: Path) -> None:
    before = sorted(path.name for path in pages.iterdir())
    done = run("tune", "--limit", "100")
    assert done.code == 0
    assert "proposed: profile " in done.text
    assert "held-out questions" in done.text
    assert "to use it: kb tune --apply" in done.errors
    assert file.read_text(encoding="utf-8") == OWN
    assert sorted(path.name for path in pages.iterdir()) == before


def test_what_is_applied_is_what_was_proposed_and_can_be_undone(run: Run, pages: Path, file: Path) -> None:
    done = run("tune", "--limit", "100", "--apply", "--json").document
    proposed, applied = done["proposal"], done["applied"]
    assert applied == {
        "file": str(file),
        "key": "search.profile",
        "profile": proposed["profile"],
        "undo": "kb config set search.profile mine",
    }
    written = file.read_text(encoding="utf-8")
    assert "# mine" in written and "# for now" in written
    assert tomllib.loads(written)["search"]["profile"] == proposed["profile"]
    if proposed["settings"] is not None:
        assert tomllib.loads(written)["profiles"][proposed["profile"]] == proposed["settings"]
    assert run("search", "amber", "--json").document["profile"] == proposed["profile"]
    assert run(*applied["undo"].split()[1:]).code == 0
    assert run("search", "amber", "--json").document["profile"] == "mine"


def test_a_collection_gets_a_profile_of_its_own(run: Run, pages: Path, file: Path) -> None:
    done = run("tune", "--collection", "work", "--limit", "100", "--apply", "--json").document
    assert done["applied"]["key"] == "collections.work.profile"
    assert done["applied"]["undo"] == "kb config unset collections.work.profile"
    assert run("search", "amber", "--collection", "work", "--json").document["profile"] == done["proposal"]["profile"]
    assert run("search", "amber", "--json").document["profile"] == "mine"
    assert run(*done["applied"]["undo"].split()[1:]).code == 0
    assert run("search", "amber", "--collection", "work", "--json").document["profile"] == "mine"


def test_where_nothing_is_proposed_nothing_is_applied(run: Run, filled: Path, file: Path) -> None:
    done = run("tune", "--apply", "--json").document
    assert done["proposal"] is None
    assert done["applied"] is None
    assert "needed" in done["reason"]
    assert file.read_text(encoding="utf-8") == OWN


def test_marks_from_the_command_line(run: Run, filled: Path) -> None:
    assert run("mark", "notes/git-install.md", "install", "git").code == 0
    assert run("mark", "--not", "notes/git-undo.md", "install git").code == 0
    assert run("mark", "--list").text == ("install git\t1\tnotes/git-install.md\ninstall git\t0\tnotes/git-undo.md\n")
    assert run("mark", "notes/git-install.md#L6-L8", "debian", "--json").document["marks"][2] == {
        "query": "debian", "place": "notes/git-install.md#L6-L8", "grade": 1.0,
    }  # fmt: skip
    report = run("eval", filled / "golden.jsonl", "--modes", "lexical", "--budgets", "none", "--json").document
    assert report["modes"][0]["queries"] == 2
    assert run("mark", "--remove", "notes/git-undo.md", "install git").code == 0
    assert len(run("mark", "--list", "--json").document["marks"]) == 2


@pytest.mark.parametrize(
    "words",
    [("mark",), ("mark", "notes/git-install.md"), ("mark", "--list", "x"), ("mark", "--not", "--remove", "a", "b")],
)
def test_a_mark_says_what_it_needs(run: Run, filled: Path, words: tuple[str, ...]) -> None:
    done = run(*words, "--json")
    assert done.code == 2
    assert done.error["hint"]


def test_what_is_stored_cannot_steer_the_screen(run: Run, filled: Path) -> None:
    line = json.dumps({"query": "a\u001b[2Jb", "relevant": ["x\u202ey"]})
    (filled / "golden.jsonl").write_text(line + "\n", encoding="utf-8")
    assert "\x1b" not in run("mark", "--list").text
    assert "\u202e" not in run("mark", "--list").text
