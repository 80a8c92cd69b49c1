"""What a keyword query looks for beside its words, in each way that a profile joins them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kb.config import Settings, shipped_profiles
from tests.conftest import MakeBase

NOTES = shipped_profiles()["notes"]
SETTINGS = Settings(profiles={**shipped_profiles(), "words": replace(NOTES, name="words", cjk="words")})
TEXTS = {
    "a.md": "# Clusters\n\nKubernetes runs containers on many machines.",
    "b.md": "# Writers\n\nCall writeBoolean for a read-only flag.",
    "ko.md": "# 백업\n\n시스템의 백업 방법을 설명한다. 문서 검색.",
    "ko2.md": "# 검색\n\n시스템을 검색한다.",
}


def found(base, query: str, **more):  # type: ignore[no-untyped-def]
    result = base.search(query, mode="lexical", **more)
    return [hit.doc_path for hit in result.hits], list(result.warnings)


def test_a_misspelt_word_is_searched_for_as_it_was_meant_and_the_answer_says_so(make_base: MakeBase) -> None:
    base = make_base(TEXTS)
    assert found(base, "kuberntes") == (["a.md"], ['no chunk holds "kuberntes"; searched for "Kubernetes"'])
    hit = base.search("kuberntes", mode="lexical").hits[0]
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["Kubernetes"]
    assert found(base, "containers")[1] == []


def test_strict_replaces_nothing_and_asks(make_base: MakeBase) -> None:
    base = make_base(TEXTS)
    assert found(base, "kuberntes", profile="strict") == (
        [],
        ['no chunk holds "kuberntes"; did you mean "Kubernetes"?'],
    )
    assert found(base, '"kuberntes runs"') == ([], [])


@pytest.mark.parametrize("query", ["boolean", "write boolean", "readonly", "WriteBoolean", "read-only"])
def test_names_are_found_whole_and_in_part(make_base: MakeBase, query: str) -> None:
    paths, warnings = found(make_base(TEXTS), query)
    assert (paths[0], warnings) == ("b.md", [])


def test_hits_of_the_word_index_stand_below_those_of_whole_runs(make_base: MakeBase) -> None:
    base = make_base(TEXTS, settings=SETTINGS)
    result = base.search("시스템의 백업", mode="lexical")
    assert [(hit.doc_path, hit.retrieval.tier) for hit in result.hits] == [("ko.md", "trigram"), ("ko2.md", "fts")]
    scores = [hit.retrieval.lexical_score for hit in result.hits]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == 2
    words = base.search("시스템의 백업", mode="lexical", profile="words")
    assert [(hit.doc_path, hit.retrieval.tier) for hit in words.hits] == [("ko.md", "fts"), ("ko2.md", "fts")]


@pytest.mark.parametrize("profile", ["strict", "memory"])
def test_profiles_of_exact_runs_stay_with_them(make_base: MakeBase, profile: str) -> None:
    assert found(make_base(TEXTS), "시스템의 백업", profile=profile)[0] == ["ko.md"]
