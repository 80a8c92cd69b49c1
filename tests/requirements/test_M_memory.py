"""M: an agent's memory (profile `memory`)."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from kb.config import SearchSettings, Settings
from kb.embed.hashing import HashingEmbedder
from tests.conftest import MakeBase

NOW = date(2026, 3, 31)


def search(base, query: str, **more):  # type: ignore[no-untyped-def]
    return base.search(query, profile="memory", now=NOW, **more)


@pytest.fixture
def memories() -> dict[str, str]:
    return {
        "MEMORY.md": "The user prefers tea and dark mode.",
        "2026-03-30.md": "Fixed the login bug with the user.",
        "2026-03-01.md": "Fixed the login bug with the user.",
        "notes/2025-01-01-plan.md": "Plan for the year: learn Korean.",
    }


def test_M01_without_an_embedder_keywords_work_and_it_says_so(make_base: MakeBase, memories: dict[str, str]) -> None:
    result = search(make_base(memories, embedder="none"), "login bug")
    assert {hit.doc_path for hit in result.hits} == {"2026-03-30.md", "2026-03-01.md"}
    assert result.lexical.ran
    assert not result.vector.ran
    assert result.vector.reason


def test_M01_with_an_embedder_both_legs_run(make_base: MakeBase, memories: dict[str, str]) -> None:
    result = search(make_base(memories), "login bug")
    assert result.lexical.ran
    assert result.vector.ran


def test_M02_the_score_is_the_weighted_sum_of_what_is_shown(make_base: MakeBase, memories: dict[str, str]) -> None:
    for hit in search(make_base(memories), "login bug user").hits:
        keyword, cosine = hit.retrieval.lexical_score or 0.0, hit.retrieval.vector_score or 0.0
        assert hit.retrieval.fusion_score == pytest.approx(0.7 * cosine + 0.3 * keyword, abs=1e-8)
        assert hit.score == pytest.approx(hit.retrieval.fusion_score * (hit.retrieval.decay or 0), abs=1e-8)
        assert hit.score_kind == "weighted"


def test_M02_weights_are_settings(make_base: MakeBase, memories: dict[str, str]) -> None:
    settings = Settings(search=SearchSettings(vector_weight=0.2, keyword_weight=0.6))
    for hit in search(make_base(memories, settings=settings), "login bug").hits:
        keyword, cosine = hit.retrieval.lexical_score or 0.0, hit.retrieval.vector_score or 0.0
        assert hit.retrieval.fusion_score == pytest.approx(0.25 * cosine + 0.75 * keyword, abs=1e-8)


def test_M03_the_same_hits_without_numpy(make_base: MakeBase, memories: dict[str, str], tmp_path: Path) -> None:
    """The other process cannot import numpy; it answers with the same bytes."""
    make_base(memories, embedder="static").close()
    script = (
        "import sys; sys.modules['numpy'] = None; import kb, datetime;"
        f"base = kb.open({str(tmp_path / 'store')!r});"
        "print([(h.chunk_id, h.score) for h in base.search('login', profile='memory',"
        " now=datetime.date(2026, 3, 31)).hits])"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for engine in ("numpy", "sqlite-vec", "python"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KB_VECTOR_ENGINE", engine)
            base = make_base(embedder="static")
            here = [(hit.chunk_id, hit.score) for hit in search(base, "login").hits]
            base.close()
        assert other.stdout.strip() == str(here)


def test_M03_indexing_works_without_numpy(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['numpy'] = None; import kb;"
        f"base = kb.open({str(tmp_path / 'store')!r});"
        "r = base.put([kb.Document('a.md', 'a llama in the garden')]); assert r.added == 1, r;"
        "h = base.search('llama garden').hits[0]; assert h.retrieval.vector_rank == 1"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_M04_bm25_is_shown_between_zero_and_one(make_base: MakeBase, fruit: dict[str, str]) -> None:
    result = search(make_base(fruit), "git history installation")
    shown = sorted(
        (h.retrieval.lexical_rank, h.retrieval.lexical_score) for h in result.hits if h.retrieval.lexical_rank
    )
    assert shown
    scores = [score for _, score in shown]
    assert all(0 < score < 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert all(h.retrieval.tier == "fts" for h in result.hits if h.retrieval.lexical_rank)


def test_M05_cjk_runs_and_ascii_words_are_joined_with_and(make_base: MakeBase) -> None:
    base = make_base(
        {
            "both.md": "我们用Python编写教程，适合初学者。",
            "one.md": "这是一本编写小说的书。",
            "other.md": "Python is a language.",
        },
        embedder="none",
    )
    result = search(base, "Python 编写教程")
    assert [hit.doc_path for hit in result.hits] == ["both.md"]
    assert result.hits[0].retrieval.tier == "trigram"


@pytest.mark.parametrize("query", ["字", "汉字", "한국", "ไทย", "かな", "Python 教程"])
def test_M05_runs_of_one_and_two_characters_match(make_base: MakeBase, query: str) -> None:
    text = "学习汉字 한국의 역사 ภาษาไทย ひらかな Python 入门教程"
    base = make_base({"a.md": text, "b.md": "nothing of the kind"}, embedder="none")
    assert [hit.doc_path for hit in search(base, query).hits] == ["a.md"]


def test_M06_substrings_when_the_tiers_before_find_nothing(make_base: MakeBase) -> None:
    base = make_base(
        {"a.md": "the preinstallation step", "b.md": "a stall on the market", "c.md": "nothing"}, embedder="none"
    )
    result = search(base, "install")
    assert {hit.doc_path for hit in result.hits} == {"a.md"}
    assert result.hits[0].retrieval.tier == "like"
    two = search(base, "reinst tall nope")
    assert [hit.doc_path for hit in two.hits] == ["a.md", "b.md"]  # two words, then one


def test_M06_cjk_runs_match_each_on_their_own(make_base: MakeBase) -> None:
    base = make_base({"a.md": "서울의 날씨", "b.md": "부산의 바다와 서울의 산", "c.md": "none"}, embedder="none")
    result = search(base, "서울의 바다와 제주도")
    assert [hit.doc_path for hit in result.hits] == ["b.md", "a.md"]
    assert {hit.retrieval.tier for hit in result.hits} == {"like"}


@pytest.mark.parametrize("profile", ["notes", "strict", "memory", "snippets"])
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("회의는 언제 시작하나요?", "ko.md"),
        ("회의에서", "ko.md"),
        ("怎么备份", "zh.md"),
        ("备份恢复", "zh.md"),
        ("議題は", "ja.md"),
    ],
)
def test_M06_a_particle_does_not_hide_a_word(make_base: MakeBase, profile: str, query: str, wanted: str) -> None:
    texts = {
        "ko.md": "오늘 회의 일정은 세 시에 시작합니다",
        "zh.md": "恢复数据，每天晚上备份。",
        "ja.md": "今日の議題を送る",
    }
    base = make_base(texts, embedder="none")
    assert [hit.doc_path for hit in base.search(query, profile=profile).hits] == [wanted]
    assert base.search("존재하지않는단어", profile=profile).returned == 0
    assert base.search(f'"{query}"', profile=profile).returned == 0, "a phrase stays whole"


def test_M07_dated_memories_fade_and_others_do_not(make_base: MakeBase, memories: dict[str, str]) -> None:
    result = search(make_base(memories), "login bug user")
    decay = {hit.doc_path: hit.retrieval.decay for hit in result.hits}
    assert decay["2026-03-01.md"] == pytest.approx(0.5)
    assert decay["2026-03-30.md"] == pytest.approx(0.977159968)
    if "MEMORY.md" in decay:
        assert decay["MEMORY.md"] == 1.0
    order = [hit.doc_path for hit in result.hits]
    assert order.index("2026-03-30.md") < order.index("2026-03-01.md")


def test_M07_half_life_is_a_setting(make_base: MakeBase, memories: dict[str, str]) -> None:
    settings = Settings(search=SearchSettings(half_life_days=15))
    hits = {hit.doc_path: hit for hit in search(make_base(memories, settings=settings), "login bug").hits}
    assert hits["2026-03-01.md"].retrieval.decay == pytest.approx(0.25)


def test_M07_old_memories_fade_but_do_not_vanish(make_base: MakeBase) -> None:
    base = make_base({"2015-01-01.md": "the login bug was fixed"})
    result = search(base, "login bug")
    assert result.returned == 1
    assert result.hits[0].score < 0.1


def test_M08_min_score_and_max_results(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    strict = search(base, "git history", min_score=0.3)
    assert all(hit.retrieval.fusion_score >= 0.3 for hit in strict.hits)
    assert search(base, "git", min_score=0, top=40).returned > search(base, "git", top=40).returned
    few = make_base(settings=Settings(search=SearchSettings(max_results=3)))
    assert search(few, "git", min_score=0).returned == 3


@pytest.mark.parametrize("files", [1, 2, 5, 20])
@pytest.mark.parametrize("embedder", ["none", "hashing", "static"])
def test_a_file_that_holds_every_word_survives_in_a_small_memory(
    make_base: MakeBase, files: int, embedder: str
) -> None:
    texts = {f"{n}.md": f"We met the team and spoke about the roadmap, item {n}." for n in range(files)}
    base = make_base(texts, embedder=HashingEmbedder(64) if embedder == "hashing" else embedder)
    for query in ("team roadmap", "met", "item 0"):
        assert "0.md" in {hit.doc_path for hit in search(base, query, top=20).hits}
