"""H: hybrid retrieval (profiles `notes` and `strict`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

import kb
from kb.search.engine import ModeRetriever
from kb.types import Query
from tests.conftest import MakeBase


def keys(result: kb.SearchResult) -> list[str]:
    return [hit.chunk_id for hit in result.hits]


@pytest.mark.parametrize("profile", ["notes", "strict"])
def test_H01_single_modes_are_the_leg_alone(make_base: MakeBase, fruit: dict[str, str], profile: str) -> None:
    base = make_base(fruit)
    for mode in ("lexical", "vector"):
        retriever = ModeRetriever(base.engine, mode)  # type: ignore[arg-type]
        alone = retriever.retrieve(Query("git history", profile=profile))
        result = base.search("git history", mode=mode, profile=profile)  # type: ignore[arg-type]
        assert alone.hits == result.hits
        for hit in result.hits:
            lexical, vector = hit.retrieval.lexical_rank, hit.retrieval.vector_rank
            assert (lexical is None, vector is None) == ((False, True) if mode == "lexical" else (True, False))
            assert hit.retrieval.rrf_score is None


def test_H02_ranks_of_the_legs_are_those_of_the_legs_alone(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    hybrid = base.search("git history", top=40)
    lexical = keys(base.search("git history", mode="lexical", top=100))
    vector = keys(base.search("git history", mode="vector", top=100))
    for hit in hybrid.hits:
        expected = lexical.index(hit.chunk_id) + 1 if hit.chunk_id in lexical else None
        assert hit.retrieval.lexical_rank == expected
        assert hit.retrieval.vector_rank == vector.index(hit.chunk_id) + 1


def test_H03_strict_scores_lie_between_zero_and_one(make_base: MakeBase, fruit: dict[str, str]) -> None:
    result = make_base(fruit).search("git history", profile="strict", top=40)
    assert result.hits[0].score == 1.0  # first in both legs
    for hit in result.hits:
        assert hit.score_kind == "rrf_normalized"
        assert hit.score == hit.retrieval.fusion_score
        if hit.retrieval.lexical_rank is None:
            assert hit.score <= 0.5


def test_H04_every_hit_carries_its_retrieval(make_base: MakeBase, fruit: dict[str, str]) -> None:
    for hit in make_base(fruit).search("apples in the cellar", top=40).hits:
        assert hit.retrieval.method == "hybrid"
        assert 0 <= hit.retrieval.fusion_score <= 1
        assert hit.retrieval.rrf_score == hit.score
        assert (hit.retrieval.lexical_rank is None) == (hit.retrieval.lexical_score is None)
        assert (hit.retrieval.vector_rank is None) == (hit.retrieval.vector_score is None)


def test_H05_equal_scores_are_ordered_by_chunk_id(make_base: MakeBase) -> None:
    base = make_base({f"{n}.md": "the very same words" for n in range(20)}, embedder="none")
    lexical = keys(base.search("very same words", mode="lexical", top=20))
    assert lexical == sorted(lexical)


def test_H06_hybrid_recall_is_at_least_that_of_the_better_leg(make_base: MakeBase) -> None:
    from kb.embed.registry import load

    texts = {
        "word.md": "Error E4711 in module zq: see the manual.",
        "meaning.md": "The automobile did not start because of a dead battery.",
    } | {f"{n}.md": f"Note {n} about gardens, soup and the weather in spring." for n in range(30)}
    base = make_base(texts, embedder=load("static"))
    query = "E4711 broken vehicle"
    wanted = {"word.md", "meaning.md"}
    recall = {
        mode: len(wanted & {hit.doc_path for hit in base.search(query, mode=mode, top=5).hits})  # type: ignore[arg-type]
        for mode in ("lexical", "vector", "hybrid")
    }
    assert recall["lexical"] < 2
    assert recall["hybrid"] == 2 >= max(recall.values())


def test_H07_vector_hits_are_complete(make_base: MakeBase) -> None:
    base = make_base([kb.Document("a.md", "# One\n\n## Two\n\nSome text on llamas.", tags=["x"])])
    hit = base.search("llamas", mode="vector").hits[0]
    assert hit.doc_path == "a.md"
    assert hit.heading_path == ("One", "Two")
    assert hit.section_label == "Two"
    assert hit.chunker_version
    assert hit.embedding_model == base.status().model.label  # type: ignore[union-attr]
    assert base.search("llamas", mode="vector", tags=["y"]).returned == 0


def test_H08_index_version_names_the_legs_used(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    versions = {mode: base.search("git", mode=mode).hits[0].index_version for mode in ("lexical", "vector", "hybrid")}  # type: ignore[arg-type]
    lexical = versions["lexical"].removeprefix("lexical:")
    vector = versions["vector"].removeprefix("vector:")
    assert versions["hybrid"] == f"hybrid:{lexical}+{vector}"
    for mode in ("lexical", "vector", "hybrid"):
        assert ModeRetriever(base.engine, mode).index_version == versions[mode]  # type: ignore[arg-type]
    assert base.status().index_version == versions["hybrid"]


def test_H09_explain_shows_what_each_leg_contributed(make_base: MakeBase, fruit: dict[str, str]) -> None:
    result = make_base(fruit).search("git history", explain=True, path="*.md")
    assert result.trace is not None
    for hit, told in zip(result.hits, result.trace["hits"], strict=True):
        assert told["chunk_id"] == hit.chunk_id
        total = (told["lexical"]["contribution"] or 0) + (told["vector"]["contribution"] or 0)
        assert total == pytest.approx(hit.score, abs=1e-8)
    assert result.trace["filters"]["shrank"]
    assert result.trace["filters"]["documents_kept"] == 5


@pytest.mark.parametrize("embedder", ["default", "none"])
@pytest.mark.parametrize("profile", ["notes", "strict", "memory", "snippets"])
def test_H09_contributions_add_up(make_base: MakeBase, fruit: dict[str, str], profile: str, embedder: str) -> None:
    result = make_base(fruit, embedder=embedder).search("git history", explain=True, profile=profile, budget=200)
    assert result.trace is not None
    for hit, told in zip(result.hits, result.trace["hits"], strict=True):
        whole = hit.retrieval.rrf_score if hit.retrieval.rrf_score is not None else told["relevance"]
        added = sum(told[leg]["contribution"] or 0.0 for leg in ("lexical", "vector"))
        assert added == pytest.approx(whole, abs=2e-9)


def test_H10_two_runs_are_the_same_bytes(make_base: MakeBase, fruit: dict[str, str]) -> None:
    from kb import render

    base = make_base(fruit)
    first, second = (_untimed(base.search("git history apples")) for _ in range(2))
    assert render.to_json(render.response(first)) == render.to_json(render.response(second))


def _untimed(result: kb.SearchResult) -> kb.SearchResult:
    return replace(result, took_ms=0.0, lexical=replace(result.lexical, ms=0.0), vector=replace(result.vector, ms=0.0))


def test_limit_invariant_top_ten_is_the_start_of_top_hundred(make_base: MakeBase) -> None:
    base = make_base({f"{n:03d}.md": f"apple pie number {n} " + "with cream " * (n % 7) for n in range(350)})
    for profile in ("notes", "strict", "memory", "snippets"):
        short = base.search("apple cream", profile=profile, top=10, now=date(2026, 1, 1))
        long = base.search("apple cream", profile=profile, top=100, now=date(2026, 1, 1))
        assert keys(short) == keys(long)[:10]
        assert [hit.score for hit in short.hits] == [hit.score for hit in long.hits[:10]]


def test_pages_never_repeat_or_skip(make_base: MakeBase) -> None:
    base = make_base({f"{n:03d}.md": f"apple number {n}" for n in range(150)})
    everything = keys(base.search("apple", top=150))
    pages: list[str] = []
    cursor = None
    while True:
        page = base.search("apple", top=20, cursor=cursor)
        assert [hit.rank for hit in page.hits] == list(range(len(pages) + 1, len(pages) + page.returned + 1))
        pages += keys(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(pages) == len(set(pages)) == 150
    assert pages == everything


def test_a_cursor_of_an_older_revision_is_refused(make_base: MakeBase, fruit: dict[str, str]) -> None:
    from kb.errors import StaleCursor

    base = make_base(fruit)
    cursor = base.search("git", top=2).next_cursor
    base.put([kb.Document("new.md", "git again")])
    for bad in (cursor, "garbage", "e30", "//"):
        with pytest.raises(StaleCursor) as caught:
            base.search("git", top=2, cursor=bad)
        assert caught.value.code == "stale_cursor"


def test_a_budget_keeps_the_best_hits_and_says_what_is_left(make_base: MakeBase) -> None:
    base = make_base({f"{n:02d}.md": f"apple number {n} " + "juice " * 60 for n in range(30)})
    result = base.search("apple", top=20, budget=500)
    assert 1 <= result.returned < 20
    assert result.truncated
    rest = base.search("apple", top=20, cursor=result.next_cursor)
    assert rest.hits[0].rank == result.returned + 1
    assert base.search("apple", budget=1).returned == 1
