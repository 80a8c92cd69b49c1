"""A second opinion on the first hits: what it changes, what it leaves, and what happens when there is none."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kb
from kb import config, render
from kb.config import RerankSettings, Settings
from kb.embed.hashing import HashingEmbedder
from kb.errors import RerankFailed, UsageError
from kb.search.fuse import Fused
from kb.search.rerank import blend
from kb.types import Query, Shape
from tests.cli.wire import validate

TEXTS = {f"{n:02d}.md": f"apple number {n} " + "pie " * (n % 5) for n in range(60)}
ASKED = Shape(rerank=True)


class Backwards:
    """The longer the text, the better; slow and broken on request."""

    label = "backwards"

    def __init__(self, *, most: int = 1000, broken: bool = False) -> None:
        self.asked: list[list[str]] = []
        self._most, self._broken = most, broken

    def rerank(self, query: str, texts: Sequence[str], deadline: float) -> list[float]:
        assert deadline > time.monotonic() - 1
        self.asked.append(list(texts))
        if self._broken:
            raise RerankFailed("it is broken", fix="mend it")
        return [len(text) / 1000 for text in texts][: self._most]


def base_of(reranker: Backwards | None, tmp_path: Path, **settings: object) -> kb.KB:
    chosen = replace(Settings(), **settings)  # type: ignore[arg-type]
    base = kb.open(tmp_path / "store", settings=chosen, embedder=HashingEmbedder(64), reranker=reranker)
    if not base.status().documents:
        base.put([kb.Document(path, text) for path, text in TEXTS.items()])
    return base


def keys(result: kb.SearchResult) -> list[str]:
    return [hit.chunk_id for hit in result.hits]


def fused(*scores: float) -> list[Fused]:
    return [Fused(f"c{n}", score, score, None, None, None) for n, score in enumerate(scores)]


def test_the_blend_is_the_formula() -> None:
    found = blend(fused(0.8, 0.4, 0.2, 0.1), [0.1, 0.9, 0.0], 0.5)
    assert [item.chunk_id for item in found] == ["c1", "c0", "c2", "c3"]  # .5 + .05, .25 + .45, .125 + 0
    assert [item.rerank for item in found] == [0.9, 0.1, 0.0, None]
    assert [item.score for item in found] == [0.4, 0.8, 0.2, 0.1]
    less = blend(fused(0.8, 0.4, 0.2, 0.1), [0.1, 0.9, 0.0], 0.25)
    assert [item.chunk_id for item in less] == ["c0", "c1", "c2", "c3"]  # .75 + .025, .375 + .225


@given(st.lists(st.floats(0, 1), max_size=9), st.lists(st.floats(0, 1), max_size=9), st.floats(0, 1))
def test_what_has_no_opinion_keeps_its_place(scores: list[float], opinions: list[float], weight: float) -> None:
    items = fused(*sorted(scores, reverse=True))
    found = blend(items, opinions, weight)
    assert found[len(opinions) :] == items[len(opinions) :]
    assert sorted(item.chunk_id for item in found) == [item.chunk_id for item in items]
    if weight == 0:
        assert [item.chunk_id for item in found] == [item.chunk_id for item in items]


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    reranker = Backwards()
    with base_of(reranker, tmp_path) as base:
        plain = base.search("apple")
        assert base.search("apple", rerank=False).hits == plain.hits
        assert reranker.asked == []
        assert plain.hits[0].retrieval.rerank_score is None
        assert base.search("apple", rerank=True).hits != plain.hits


def test_only_the_first_are_read_whole_and_the_others_stay(tmp_path: Path) -> None:
    reranker = Backwards()
    with base_of(reranker, tmp_path, rerank=RerankSettings(top=7, weight=1.0)) as base:
        plain, ranked = base.search("apple", top=60), base.search("apple", top=60, rerank=True)
    assert [len(texts) for texts in reranker.asked] == [7]
    assert all("apple number" in text for text in reranker.asked[0])
    assert keys(ranked)[7:] == keys(plain)[7:]
    assert sorted(keys(ranked)[:7]) == sorted(keys(plain)[:7])
    opinions = [hit.retrieval.rerank_score for hit in ranked.hits[:7]]
    assert opinions == sorted(opinions, key=lambda opinion: -(opinion or 0))
    assert {hit.retrieval.rerank_score for hit in ranked.hits[7:]} == {None}
    assert [hit.rank for hit in ranked.hits] == list(range(1, 61))


@pytest.mark.parametrize("shape", [ASKED, replace(ASKED, mmr=0.5), replace(ASKED, merge=True, per_doc=1)], ids=repr)
def test_short_answers_begin_long_ones_and_pages_ask_once(tmp_path: Path, shape: Shape) -> None:
    reranker = Backwards()
    with base_of(reranker, tmp_path) as base:
        everything = keys(base.search(Query("apple", top=100, shape=shape)))
        assert keys(base.search(Query("apple", top=10, shape=shape))) == everything[:10]
        reranker.asked.clear()
        found: list[str] = []
        cursor = None
        while True:
            page = base.search(Query("apple", top=8, shape=shape, cursor=cursor))
            found += keys(page)
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == everything
        assert len(reranker.asked) == 1


def test_pages_go_on_when_the_reranker_does_not(tmp_path: Path) -> None:
    with base_of(Backwards(), tmp_path) as base:
        everything = keys(base.search("apple", top=60, rerank=True))
        cursor = base.search("apple", top=5, rerank=True).next_cursor
    with base_of(Backwards(broken=True), tmp_path) as base:
        page = base.search("apple", top=55, rerank=True, cursor=cursor)
        assert keys(page) == everything[5:]
        assert page.warnings == ()


def test_a_failure_is_a_warning_and_the_answer_as_it_was(tmp_path: Path) -> None:
    with base_of(Backwards(broken=True), tmp_path) as base:
        found = base.search("apple", rerank=True)
        assert found.warnings == ("not reranked: it is broken (try: mend it)",)
        assert found.hits == base.search("apple").hits


def test_too_little_time_is_a_warning_and_the_rest_stays(tmp_path: Path) -> None:
    with base_of(Backwards(most=3), tmp_path) as base:
        plain, found = base.search("apple", top=40), base.search("apple", top=40, rerank=True)
        assert keys(found)[3:] == keys(plain)[3:]
        assert "reranked 3 of 30" in found.warnings[0]


def test_none_configured_is_an_error_for_those_who_ask_and_a_warning_for_a_profile(tmp_path: Path) -> None:
    profiles = config.shipped_profiles()
    profiles["notes"] = replace(profiles["notes"], rerank=True)
    with base_of(None, tmp_path, profiles=profiles) as base:
        found = base.search("apple")
        assert found.returned == 10
        assert "no reranker is configured" in found.warnings[0]
        assert base.search("apple", rerank=False).warnings == ()
        with pytest.raises(UsageError, match="no reranker") as caught:
            base.search("apple", rerank=True)
        assert "rerank.model" in caught.value.fix


def test_a_profile_of_a_collection_may_ask_for_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[profiles.second]\nrerank = true\n[collections.default]\nprofile = "second"\n')
    settings = config.load(file, {})
    reranker = Backwards()
    with base_of(reranker, tmp_path, profiles=settings.profiles, collections=settings.collections) as base:
        base.search("apple", collection="default")
        base.search("apple")
    assert len(reranker.asked) == 1
    file.write_text('[profiles.second]\nrerank = "yes"\n')
    with pytest.raises(UsageError, match="true or false"):
        config.load(file, {})


def test_explain_tells_the_ranks_before_and_after(tmp_path: Path) -> None:
    with base_of(Backwards(), tmp_path) as base:
        plain = keys(base.search("apple", top=60))
        found = base.search("apple", rerank=True, explain=True)
        assert found.trace is not None
        told = found.trace["arranged"]
        assert told["reranked"] == 30
        for rank, (hit, each) in enumerate(zip(found.hits, told["hits"], strict=True), start=1):
            assert each["after"] == rank
            assert plain[each["before"] - 1] == each["chunk_id"] == hit.chunk_id
            assert each["rerank_score"] == hit.retrieval.rerank_score
        validate(json.loads(render.to_json(render.response(found))))


def test_a_real_cross_encoder_puts_the_answer_first(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    from tests import crossencoder

    folder = crossencoder.write(tmp_path / "mine")
    settings = RerankSettings(model=f"onnx-dir:{folder}", weight=1.0, time_ms=20_000)
    with base_of(None, tmp_path, rerank=settings) as base:
        base.put([kb.Document("best.md", "something about apple sugar cream and more of the same kind " * 3)])
        found = base.search("apple sugar cream", rerank=True)
        assert found.warnings == ()
        assert found.hits[0].doc_path == "best.md"
        assert (found.hits[0].retrieval.rerank_score or 0) > 0.9
