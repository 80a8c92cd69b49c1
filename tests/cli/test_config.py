"""``kb config``: one setting changes, the rest of the file stays."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli import tomledit
from kb.errors import ConfigError
from tests.cli.conftest import Run

OWN = """\
# my settings
store = "here"   # on the fast disk

# how I search
[search]
# five is enough
default_top = 5   # five
profile = 'notes'

[collections]
journal = "memory"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings" / "config.toml"
    path.parent.mkdir()
    path.write_text(OWN, encoding="utf-8")
    monkeypatch.setenv("KB_CONFIG", str(path))
    return path


def test_setting_changes_one_line(run: Run, file: Path) -> None:
    assert run("config", "set", "search.default_top", "7").code == 0
    assert file.read_text(encoding="utf-8") == OWN.replace("default_top = 5   # five", "default_top = 7   # five")


def test_a_new_setting_goes_into_its_section(run: Run, file: Path) -> None:
    run("config", "set", "search.alpha", "0.25")
    assert file.read_text(encoding="utf-8") == OWN.replace("'notes'\n", "'notes'\nalpha = 0.25\n")


def test_a_new_section_goes_to_the_end(run: Run, file: Path) -> None:
    run("config", "set", "embed.model", "minilm")
    assert file.read_text(encoding="utf-8") == OWN + '\n[embed]\nmodel = "minilm"\n'


def test_unset_takes_the_line_away(run: Run, file: Path) -> None:
    assert run("config", "unset", "search.default_top").code == 0
    assert file.read_text(encoding="utf-8") == OWN.replace("default_top = 5   # five\n", "")
    assert run("config", "unset", "search.default_top").code == 0, "twice is no error"


def test_a_collection_with_a_profile(run: Run, file: Path) -> None:
    assert run("config", "set", "collections.my papers.profile", "strict").code == 0
    assert run("config", "set", "collections.journal.profile", "notes").code == 0
    found = tomllib.loads(file.read_text(encoding="utf-8"))["collections"]
    assert found == {"journal": "notes", "my papers": {"profile": "strict"}}
    assert run("config", "get", "collections.my papers.profile").text == "strict\n"
    for name in ("my papers", "journal"):
        assert run("config", "unset", f"collections.{name}.profile").code == 0
        assert run("config", "get", f"collections.{name}.profile", "--json").document["settings"][0]["value"] is None


def test_a_setting_of_a_profile(run: Run, file: Path) -> None:
    assert run("config", "get", "profiles.memory.half_life_days").text == "30.0\n"
    assert run("config", "set", "profiles.memory.half_life_days", "7").code == 0
    assert run("config", "get", "profiles.memory.half_life_days").text == "7.0\n"
    assert run("config", "set", "profiles.memory.rerank", "true").code == 0
    assert run("config", "get", "profiles.memory.rerank").text == "true\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search.alpha", "2"),
        ("search.alpha", "nan"),
        ("search.default_top", "many"),
        ("search.default_top", "0"),
        ("search.nonsense", "1"),
        ("nonsense", "1"),
        ("collections.x.profile", "nonsense"),
        ("profiles.memory.rrf_k", "high"),
        ("profiles.memory.fusion", "magic"),
        ("profiles.memory.rerank", "perhaps"),
        ("profiles.memory.min_score", "inf"),
        ("search.hybrid", "perhaps"),
    ],
)
def test_a_wrong_value_leaves_the_file_alone(run: Run, file: Path, key: str, value: str) -> None:
    done = run("config", "set", key, value, "--json")
    assert done.code == 2
    assert done.error["code"] == "config_invalid"
    assert ".config-" not in done.error["message"], "the name of a temporary file is no use to anyone"
    assert file.read_text(encoding="utf-8") == OWN
    assert os.listdir(file.parent) == ["config.toml"]


def test_a_close_name_is_suggested(run: Run, file: Path) -> None:
    assert "search.default_top" in run("config", "get", "search.default_topp").errors
    assert "search.alpha" in run("config", "set", "alpha", "0.5").errors


def test_an_empty_variable_is_not_set(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_SEARCH_DEFAULT_TOP", "")
    rows = {row["key"]: (row["value"], row["source"]) for row in run("config", "--json").document["settings"]}
    assert rows["search.default_top"] == (5, "file")


def test_list_says_where_each_value_comes_from(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_SEARCH_ALPHA", "0.25")
    rows = {row["key"]: (row["value"], row["source"]) for row in run("config", "--json").document["settings"]}
    assert rows["store"] == ("here", "file")
    assert rows["search.default_top"] == (5, "file")
    assert rows["search.alpha"] == (0.25, "KB_SEARCH_ALPHA")
    assert rows["search.snippet_chars"] == (220, "default")
    assert rows["collections.journal.profile"] == ("memory", "file")
    assert "search.alpha\t0.25\tKB_SEARCH_ALPHA\n" in run("config", "list").text


def test_path(run: Run, file: Path) -> None:
    assert run("config", "path").text == f"{file}\n"
    assert run("config", "path", "--config", "other.toml").text == "other.toml\n"


def test_the_first_setting_makes_the_file(run: Run) -> None:
    assert run("config", "set", "search.default_top", "3").code == 0
    made = Path(run("config", "path").text.strip())
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert made.read_text(encoding="utf-8") == "[search]\ndefault_top = 3\n"


def test_a_linked_file_stays_linked(run: Run, file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    assert run("config", "set", "search.default_top", "7", "--config", link).code == 0
    assert link.is_symlink()
    assert "default_top = 7" in file.read_text(encoding="utf-8")


def test_rights_of_a_file_stay(run: Run, file: Path) -> None:
    file.chmod(0o640)
    run("config", "set", "search.default_top", "7")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_broken_file_is_named_and_left_alone(run: Run, file: Path) -> None:
    file.write_text("[search\n", encoding="utf-8")
    for command in (["list"], ["set", "search.alpha", "0.5"], ["unset", "search.alpha"]):
        done = run("config", *command)
        assert done.code == 2
        assert str(file) in done.errors
    assert file.read_text(encoding="utf-8") == "[search\n"
    assert run("config", "path").code == 0


@pytest.mark.parametrize("words", [["set", "a"], ["get"], ["unset"], ["list", "x"], ["frobnicate"]])
def test_wrong_usage(run: Run, file: Path, words: list[str]) -> None:
    assert run("config", *words).code == 2


# ---------------------------------------------------------------- the editor


def test_layouts_that_hide_a_setting_are_refused() -> None:
    with pytest.raises(ConfigError):
        tomledit.put("search = { alpha = 0.1 }\n", ("search", "alpha"), 0.3)
    with pytest.raises(ConfigError):
        tomledit.put('x = """\n[search]\nalpha = 1\n"""\n', ("search", "alpha"), 0.3)


def test_dotted_keys_are_found() -> None:
    assert tomledit.put("search.alpha = 0.1 # a\n", ("search", "alpha"), 0.3) == "search.alpha = 0.3 # a\n"
    assert tomledit.put('["search"]\n"alpha" = 0.1\n', ("search", "alpha"), 0.3) == '["search"]\n"alpha" = 0.3\n'


VALUES = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.integers(-(2**53), 2**53), st.booleans())


@given(VALUES, VALUES)
def test_any_value_survives(first: object, second: object) -> None:
    once = tomledit.put(OWN, ("embed", "model"), first)
    assert tomledit.get(once, ("embed", "model")) == first
    twice = tomledit.put(once, ("embed", "model"), second)
    assert tomledit.get(twice, ("embed", "model")) == second
    assert tomledit.drop(twice, ("embed", "model")).startswith(OWN)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_survives(name: str) -> None:
    text = tomledit.put(OWN, ("collections", name, "profile"), "strict") if name != "journal" else OWN
    assert tomledit.get(text, ("collections", name)) in ({"profile": "strict"}, "memory")
