"""Words of a command line to checked values: every value that is refused says what is allowed."""

from __future__ import annotations

from datetime import date

import pytest

from kb.cli.flags import GLOBAL_FLAGS, ORDER, SEARCH, VERBS, flags_of
from kb.cli.parse import OTHER_NAMES, day, parse
from kb.errors import UsageError


def fails(*argv: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(argv)
    assert caught.value.fix, "an error says what to type"
    return caught.value


def test_words_and_flags_may_be_mixed() -> None:
    found = parse(["search", "install", "--top", "5", "git", "--tags=a,b", "--tags", "c", "--json"])
    assert found.words == ("install", "git")
    assert found.values["top"] == 5
    assert found.values["tags"] == ("a", "b", "c")
    assert found.values["json"] is True


@pytest.mark.parametrize("argv", [["--store", "s", "--json", "status"], ["status", "--json", "--store=s"]])
def test_global_flags_stand_before_or_after_the_verb(argv: list[str]) -> None:
    found = parse(argv)
    assert (found.values["store"], found.values["json"]) == ("s", True)


def test_two_dashes_end_the_flags() -> None:
    assert parse(["search", "--top", "3", "--", "-rf", "--json"]).words == ("-rf", "--json")
    assert parse(["search", "--", "--"]).words == ("--",)
    assert parse(["search", "-5", "-.5"]).words == ("-5", "-.5")
    assert parse(["search", "-rf is one word with spaces"]).words == ("-rf is one word with spaces",)


def test_a_lone_dash_is_a_word() -> None:
    assert parse(["add", "-", "--title", "T"]).words == ("-",)


def test_version_is_of_kb_before_the_verb_and_a_filter_after_it() -> None:
    assert parse(["--version"]).values["version"] is True
    assert parse(["--version", "search", "x"]).values["version"] is True
    assert parse(["search", "x", "--version", "2.0"]).values["version"] == "2.0"
    assert parse(["status", "--version"]).values["version"] is True
    assert parse(["-V"]).values["version"] is True


@pytest.mark.parametrize(
    "argv", [["-h"], ["--help"], ["help"], ["search", "-h"], ["help", "search"], ["get", "--help"]]
)
def test_help_is_everywhere_and_needs_no_words(argv: list[str]) -> None:
    found = parse(argv)
    assert found.values["help"] is True
    assert (found.verb.name if found.verb else None) == next((word for word in argv if word in VERBS), None)


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--type", "word"], ["pdf", "markdown", "code", "note"]),
        (["--type", "pdf,word"], ["pdf", "markdown", "code", "note"]),
        (["--kind", "text"], ["code", "info"]),
        (["--trust-min", "high"], ["generated", "secondary", "primary"]),
        (["--mode", "fuzzy"], ["hybrid", "lexical", "vector"]),
        (["--color", "maybe"], ["auto", "always", "never"]),
    ],
)
def test_N10_an_unknown_value_is_refused_with_the_valid_ones(argv: list[str], named: list[str]) -> None:
    error = fails("search", "x", *argv)
    assert all(name in error.fix for name in named)


def test_values_that_are_missing_or_too_many() -> None:
    assert "--top needs a value" in str(fails("search", "x", "--top"))
    assert "--quiet takes no value" in str(fails("search", "x", "--quiet=yes"))
    assert "--json takes no value" in str(fails("search", "x", "--json=1"))


def test_types_are_comma_lists_and_repeats() -> None:
    assert parse(["search", "x", "--type", "pdf,note", "--type", "code"]).values["type"] == ("pdf", "note", "code")


@pytest.mark.parametrize(
    "argv",
    [
        ["--top", "0"],
        ["--top", "1001"],
        ["--top", "5.5"],
        ["--top", "nan"],
        ["--top", "many"],
        ["--top", ""],
        ["--top", "-1"],
        ["--alpha", "1.01"],
        ["--alpha", "-0.1"],
        ["--alpha", "nan"],
        ["--threshold", "inf"],
        ["--threshold", "high"],
        ["--min-score", "nan"],
        ["--budget", "0"],
        ["--since", "2026-02-30"],
        ["--since", "31.1.2026"],
        ["--before", "7x"],
        ["--before", "20260131"],
        ["--before", "99999y"],
        ["--top"],
        ["--tags"],
        ["--nonsense"],
        ["--nonsense=1"],
        ["-z"],
        ["--to", "5"],
    ],
)
def test_values_are_checked(argv: list[str]) -> None:
    assert argv[0].split("=")[0] in str(fails("search", "x", *argv))


@pytest.mark.parametrize(("argv", "name", "value"), [
    (["--alpha", "0"], "alpha", 0.0),
    (["--alpha", "1"], "alpha", 1.0),
    (["--min-score", "0"], "min_score", 0.0),
    (["--threshold", "-1"], "threshold", -1.0),
    (["--top", "1000"], "top", 1000),
])  # fmt: skip
def test_bounds_are_inside(argv: list[str], name: str, value: float) -> None:
    assert parse(["search", "x", *argv]).values[name] == value


def test_dates() -> None:
    today = date(2026, 3, 1)
    for text, expected in {
        "today": "2026-03-01",
        "yesterday": "2026-02-28",
        "7d": "2026-02-22",
        "2w": "2026-02-15",
        "1m": "2026-01-30",
        "1y": "2025-03-01",
        "2024-02-29": "2024-02-29",
    }.items():
        assert day("--since", text, today) == expected


@pytest.mark.parametrize(
    ("argv", "fix"),
    [
        (["serch", "install", "git"], "kb search install git"),
        (["ls"], "kb list"),
        (["rm", "a.md"], "kb remove a.md"),
        (["install git"], 'kb search "install git"'),
        (["kubernetes", "pods", "--top", "3"], 'kb search "kubernetes pods'),
        (['say "hi"'], r'kb search "say \"hi\""'),
    ],
)
def test_an_unknown_verb_says_what_was_probably_meant(argv: list[str], fix: str) -> None:
    assert fails(*argv).fix.startswith(fix)


def test_what_comes_later_is_not_taken_for_a_typing_error() -> None:
    assert "later release" in str(fails("serve"))
    assert "later release" in str(fails("mcp"))


def test_other_names_lead_to_verbs() -> None:
    assert set(OTHER_NAMES.values()) <= set(VERBS)
    assert not set(OTHER_NAMES) & set(VERBS)


def test_a_flag_of_a_verb_before_it_says_so() -> None:
    assert "after the verb" in str(fails("--top", "5", "search", "x"))


def test_close_flags_are_suggested() -> None:
    assert "--tags" in str(fails("search", "x", "--tag", "a"))


@pytest.mark.parametrize("argv", [["search"], ["get"], ["remove"], ["add"], ["eval"], ["export"], ["completion"]])
def test_missing_words(argv: list[str]) -> None:
    assert "needs" in str(fails(*argv))


@pytest.mark.parametrize("argv", [["get", "a", "b"], ["status", "x"], ["list", "x"], ["export", "a", "b"]])
def test_too_many_words(argv: list[str]) -> None:
    assert "does not know what to do" in str(fails(*argv))


def test_an_empty_query_is_a_query() -> None:
    assert parse(["search", ""]).words == ("",)


# ---------------------------------------------------------------- the definition itself


def test_the_verbs_are_those_of_the_contract() -> None:
    contract = "add search why-not get list status remove check repair doctor eval mark tune config model export import completion"
    assert [verb.name for verb in ORDER] == contract.split()


def test_search_has_every_flag_of_the_contract() -> None:
    contract = (
        "--top --mode --fts-only --vec-only --tags --tags-any --type --kind --lang --path --collection --repo "
        "--version --since --before --trust-min --threshold --min-score --alpha --profile --cursor --budget --explain"
    )
    assert [flag.name for flag in SEARCH.flags if flag.name in contract.split()] == contract.split()


def test_global_flags_are_everywhere() -> None:
    for verb in ORDER:
        assert {flag.name for flag in GLOBAL_FLAGS} <= {flag.name for flag in flags_of(verb)}


def test_flags_are_defined_once_and_explained() -> None:
    for verb in ORDER:
        names = [flag.name for flag in verb.flags]
        assert len(names) == len(set(names))
        assert all(flag.help and not flag.help.endswith(".") for flag in flags_of(verb))
