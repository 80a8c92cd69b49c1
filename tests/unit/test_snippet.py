"""Snippets: cut from the original, bounded, marked without a change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.config import SearchSettings
from kb.search.query import parse
from kb.search.snippet import Marker, snippet


def cut(text: str, query: str, chars: int = 220, substrings: bool = False) -> tuple[str, list[str]]:
    marker = Marker.of(parse(query, SearchSettings()), substrings=substrings)
    found = snippet(text, marker, chars=chars)
    return found.text, [found.text[start:end] for start, end in found.highlights]


def test_L04_the_snippet_comes_from_the_match() -> None:
    text = "Nothing here. " * 50 + "The installation of git is easy. " + "More of nothing. " * 50
    shown, marked = cut(text, "install git")
    assert "installation of git" in shown
    assert marked == ["installation", "git"]
    assert len(shown) <= 220


def test_L04_marks_do_not_change_the_text() -> None:
    assert cut("Café-Kultur", "cafe") == ("Café-Kultur", ["Café"])


def test_cjk_runs_are_marked() -> None:
    assert cut("대한민국의 수도는 서울이다.", "수도는")[1] == ["수도는"]
    assert cut("如何安装软件", "安装")[1] == ["安装"]


def test_a_run_that_is_not_there_as_a_whole_is_marked_in_pairs() -> None:
    assert cut("删除 Pod 的方法", "如何删除Pod")[1] == ["删除", "Pod"]


def test_function_words_are_not_marked_beside_others() -> None:
    assert cut("the git of the day", "the git")[1] == ["git"]


def test_front_matter_is_shown_only_where_nothing_else_matches() -> None:
    text = "---\ntitle: Git\ntags: [setup]\n---\n\n# Git\n\nHow to get it."
    assert cut(text, "git") == ("# Git\n\nHow to get it.", ["Git"])
    assert cut(text, "unrelated")[0] == "# Git\n\nHow to get it."
    assert cut(text, "setup")[1] == ["setup"]


@given(st.text(max_size=600), st.text(max_size=30), st.integers(20, 300), st.booleans())
def test_L04_never_longer_than_asked_and_always_a_piece_of_the_original(
    text: str, query: str, chars: int, substrings: bool
) -> None:
    marker = Marker.of(parse(query, SearchSettings()), substrings=substrings)
    found = snippet(text, marker, chars=chars)
    assert len(found.text) <= chars
    assert found.text in text
    end = 0
    for start, stop in found.highlights:
        assert end <= start < stop <= len(found.text)
        end = stop


@pytest.mark.parametrize("text", ["", "\n\n", "é" * 1000, "x" * 1000])
def test_odd_texts_have_snippets_too(text: str) -> None:
    assert len(cut(text, "x")[0]) <= 220
