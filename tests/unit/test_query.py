"""What a query becomes."""

from __future__ import annotations

import pytest

from kb.config import SearchSettings
from kb.errors import QueryError
from kb.search.query import parse
from kb.types import Term

DEFAULTS = SearchSettings()


def words(text: str) -> list[str]:
    return [term.text for term in parse(text, DEFAULTS).terms]


def test_words_are_split_at_white_space_only() -> None:
    assert words("install  git\ton v1.2-rc") == ["install", "git", "on", "v1.2-rc"]


def test_punctuation_alone_is_nothing_to_search() -> None:
    for text in ("", "   ", "+++", '""', "' '", "?!", "\x00", "🎉", "- - -", "''"):
        assert parse(text, DEFAULTS).empty, text


def test_double_quotes_make_a_phrase() -> None:
    assert parse('say "hello world" now', DEFAULTS).terms == (
        Term("say"),
        Term("hello world", phrase=True),
        Term("now"),
    )
    assert words('an "open quote') == ["an", "open", "quote"]


def test_function_words_are_left_out_while_others_remain() -> None:
    asked = parse("how to install the git", DEFAULTS).first("any", None)
    assert [term.text for term in asked.terms] == ["install", "git"]
    assert [
        term.text for term in parse("to be or not to be", DEFAULTS).first("any", None).terms
    ] == "to be or not to be".split()


def test_strict_keeps_every_word() -> None:
    asked = parse("how to install", DEFAULTS).first("all", None)
    assert [term.text for term in asked.terms] == ["how", "to", "install"]


def test_single_quotes_pass_the_expression_as_written() -> None:
    asked = parse("'install NEAR git'", DEFAULTS).first("any", None)
    assert (asked.tier, asked.raw) == ("raw", "install NEAR git")


def test_cjk_goes_to_the_trigram_tier_runs_and_words_apart() -> None:
    asked = parse("k8s파드를 삭제", DEFAULTS).first("any", None)
    assert asked.tier == "trigram"
    assert asked.join == "all"
    assert [term.text for term in asked.terms] == ["k8s", "파드를", "삭제"]


def test_the_last_tier_takes_cjk_runs_of_one_and_words_of_three() -> None:
    asked = parse("字 go git", DEFAULTS).last("any", None)
    assert asked is not None
    assert (asked.tier, asked.join, [term.text for term in asked.terms]) == ("like", "any", ["字", "git"])


def test_limits_are_enforced_with_a_clear_error() -> None:
    with pytest.raises(QueryError, match="4097 characters"):
        parse("x" * 4097, DEFAULTS)
    with pytest.raises(QueryError, match="65 words"):
        parse("word " * 65, DEFAULTS)
