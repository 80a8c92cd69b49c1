"""N: the knowledge base (profile `notes`), the promises about searching. Those about storing are in test_N_store."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import kb
from kb.config import SearchSettings, Settings
from kb.embed.hashing import CountingEmbedder, FailingEmbedder, HashingEmbedder
from kb.embed.registry import load
from kb.errors import KBError, UsageError
from tests.conftest import MakeBase


def paths(result: kb.SearchResult) -> list[str]:
    return [hit.doc_path for hit in result.hits]


def test_N02_install_git_finds_its_forms_ranked(make_base: MakeBase, fruit: dict[str, str]) -> None:
    found = paths(make_base(fruit).search("install git", mode="lexical"))
    assert found[0] == "c.md"  # both words
    assert set(found) == {"c.md", "d.md", "e.md"}


def test_N02_accents_fold(make_base: MakeBase) -> None:
    base = make_base({"a.md": "Un café à Orléans", "b.md": "Tea in London", "c.md": "Water"})
    assert paths(base.search("cafe orleans", mode="lexical")) == ["a.md"]
    assert paths(base.search("thé café", mode="lexical")) == ["a.md"]


@pytest.mark.parametrize("special", [*list('"^*:()-+'), "AND", "OR", "NOT", "NEAR", "\x00", "NEAR(", "a:", "'", "''"])
def test_N03_special_characters_never_raise_nor_change_the_meaning(
    make_base: MakeBase, fruit: dict[str, str], special: str
) -> None:
    base = make_base(fruit)
    plain = paths(base.search("git history", mode="lexical"))
    for text in (f"{special} git history", f"git {special} history", f"git history {special}"):
        if text.strip()[0] == text.strip()[-1] == "'":
            continue
        found = paths(base.search(text, mode="lexical"))
        assert set(plain) <= set(found)  # "not" and "near" are words like others
        assert found[0] == plain[0]


def test_N04_fts_only_runs_no_embedding(make_base: MakeBase, fruit: dict[str, str]) -> None:
    make_base(fruit).close()
    base = make_base(embedder=FailingEmbedder())
    result = base.search("git", mode="lexical")
    assert result.returned == 2
    assert not result.vector.ran
    assert result.warnings == ()


def test_N05_vec_only_runs_no_full_text_search(make_base: MakeBase, fruit: dict[str, str], tmp_path: Path) -> None:
    """In a store that has lost its full-text index, vector search answers and keyword search cannot."""
    make_base(fruit).close()
    connection = apsw.Connection(str(tmp_path / "store" / "kb.db"))
    connection.execute("DROP TABLE chunks_fts")
    connection.close()
    base = make_base()
    result = base.search("git", mode="vector")
    assert result.returned == 10
    assert not result.lexical.ran
    assert all(hit.retrieval.lexical_rank is None for hit in result.hits)
    with pytest.raises(KBError):
        base.search("git", mode="lexical")


def test_N06_a_store_of_another_model_says_so_and_does_not_mix(make_base: MakeBase, fruit: dict[str, str]) -> None:
    make_base(fruit, embedder=HashingEmbedder(64)).close()
    base = make_base(embedder=HashingEmbedder(32))
    result = base.search("git")
    assert not result.vector.ran
    assert "hashing:64" in result.warnings[0]
    assert result.returned == 2


def test_N06_the_query_is_embedded_by_the_model_of_the_chunks(make_base: MakeBase, fruit: dict[str, str]) -> None:
    counting = CountingEmbedder()
    base = make_base(fruit, embedder=counting)
    assert len(counting.passages) == len(fruit)
    base.search("where is git")
    assert counting.queries == ["where is git"]


def test_N07_a_paraphrase_without_a_shared_word_is_found(make_base: MakeBase) -> None:
    base = make_base(
        {
            "car.md": "The automobile would not start this morning because its battery was dead.",
            "soup.md": "Simmer the tomatoes with basil and garlic for an hour.",
            "tax.md": "The invoice must be paid to the revenue office by April.",
        },
        embedder=load("static"),
    )
    result = base.search("broken vehicle engine")
    assert result.hits[0].doc_path == "car.md"
    assert result.hits[0].retrieval.lexical_rank is None


def test_N07_three_times_the_count_are_candidates(make_base: MakeBase) -> None:
    base = make_base({f"{n}.md": f"apple number {n}" for n in range(400)})
    assert base.search("apple", top=10).vector.candidates == 300  # three times the floor of 100
    assert base.search("apple", top=120).vector.candidates == 360


def test_N08_hybrid_fuses_by_rrf_sorted_descending(make_base: MakeBase, fruit: dict[str, str]) -> None:
    result = make_base(fruit).search("git history", top=20)
    for hit in result.hits:
        ranks = [rank for rank in (hit.retrieval.lexical_rank, hit.retrieval.vector_rank) if rank]
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=1e-9)
        assert hit.score_kind == "rrf"
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_N09_tags_keep_documents_that_have_all_of_them(make_base: MakeBase) -> None:
    base = make_base(
        [
            kb.Document("a.md", "deploy the server", tags=["ops"]),
            kb.Document("b.md", "deploy the server", tags=["ops", "production"]),
            kb.Document("c.md", "deploy the server", tags=["production"]),
        ]
    )
    for mode in ("hybrid", "lexical", "vector"):
        assert set(paths(base.search("deploy", tags=["ops"], mode=mode))) == {"a.md", "b.md"}
        assert paths(base.search("deploy", tags=["ops", "production"], mode=mode)) == ["b.md"]


def test_N09_filters_act_before_the_ranking_is_cut(make_base: MakeBase) -> None:
    """One tagged document, worst by every measure, among more than any leg's candidates."""
    crowd = [kb.Document(f"{n:04d}.md", "deploy deploy deploy") for n in range(700)]
    last = kb.Document("z.md", "deploy " + "and other long stories about nothing at all " * 12, tags=["rare"])
    base = make_base([*crowd, last])
    for mode in ("hybrid", "lexical", "vector"):
        assert paths(base.search("deploy", tags=["rare"], mode=mode))[0] == "z.md"


def test_N10_type_filter(make_base: MakeBase) -> None:
    base = make_base(
        [
            kb.Document("a.md", "alpha beta"),
            kb.Document("a.py", "alpha = 'beta'"),
            kb.Document("a.txt", "alpha beta"),
        ]
    )
    assert paths(base.search("alpha", type="code")) == ["a.py"]
    assert set(paths(base.search("alpha", type=["markdown", "note"]))) == {"a.md", "a.txt"}


def test_N10_an_unknown_type_lists_the_valid_ones(make_base: MakeBase) -> None:
    with pytest.raises(UsageError) as caught:
        make_base().search("x", type="word")  # type: ignore[arg-type]
    assert "pdf, markdown, code, note" in caught.value.fix


def test_N11_threshold_cuts_below_and_keeps_equal(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    everything = base.search("git history", top=50)
    assert min(hit.score for hit in everything.hits) < 0.02
    assert all(hit.score >= 0.02 for hit in base.search("git history", top=50, threshold=0.02).hits)
    third = everything.hits[2].score
    assert base.search("git history", top=50, threshold=third).hits[-1].score == third
    for cut in ({"threshold": float("nan")}, {"min_score": float("nan")}):
        with pytest.raises(UsageError):
            base.search("git history", **cut)  # type: ignore[arg-type]


def test_N12_top(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    assert base.search("git", top=5).returned == 5
    assert base.search("git").returned == 10
    three = base.search("git oven", mode="lexical")
    assert three.returned == len(three.hits) == 3


def test_N12_the_default_top_is_a_setting(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit, settings=Settings(search=SearchSettings(default_top=4)))
    assert base.search("git").returned == 4
    assert base.search("git", top=6).returned == 6


def test_N13_each_chunk_knows_its_exact_place(make_base: MakeBase, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "guide.md").write_text("# Guide\n\n## Install\n\nRun the zebra installer.\n", encoding="utf-8")
    (folder / "tool.py").write_text("import os\n\n\ndef zebra():\n    return os.name\n", encoding="utf-8")
    (folder / "todo.txt").write_text("first line\n\nfeed the zebra\n", encoding="utf-8")
    base = make_base()
    assert base.add(folder).added == 3
    for hit in base.search("zebra", mode="lexical").hits:
        lines = (folder / hit.doc_path).read_text(encoding="utf-8").split("\n")
        start, end = hit.citation.start, hit.citation.end
        assert start is not None
        assert end is not None
        assert "zebra" in "\n".join(lines[start - 1 : end])


def test_vector_mode_without_a_model_names_the_fix(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit, embedder="none")
    with pytest.raises(KBError) as caught:
        base.search("git", mode="vector")
    assert caught.value.fix
    hybrid = base.search("git")
    assert hybrid.returned == 2
    assert hybrid.vector.reason
    assert "no embedding model" in hybrid.warnings[0]


def test_a_failing_remote_model_is_reported_each_time(make_base: MakeBase, fruit: dict[str, str]) -> None:
    make_base(fruit).close()
    base = make_base(embedder=FailingEmbedder(HashingEmbedder(64).info))
    for _ in range(2):
        result = base.search("git")
        assert result.returned == 2
        assert "made to fail" in result.warnings[0]
    with pytest.raises(KBError, match="made to fail"):
        base.search("git", mode="vector")


def test_a_query_of_phrases_finds_only_what_holds_them(make_base: MakeBase) -> None:
    base = make_base({"a.md": "the quick brown fox", "b.md": "the brown quick fox", "c.md": "a fast red wolf"})
    for profile in ("notes", "strict", "memory", "snippets"):
        result = base.search('"quick brown"', profile=profile)
        assert paths(result) == ["a.md"]
        assert "phrase" in (result.vector.reason or "")
    assert len(paths(base.search('"quick brown" wolf'))) == 3
