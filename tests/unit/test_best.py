"""The profile `best`: its formulas by hand-computed numbers, its promises on real stores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kb
from kb import usual
from kb.config import SearchSettings, Settings
from kb.embed.hashing import HashingEmbedder
from kb.models import Calibration
from kb.search.blend import ALPHA, ALPHA_ELSE, Blend, alpha_of
from kb.search.confidence import KEPT, Usual, judge
from kb.search.evidence import Evidence, fair, nearness
from kb.search.fuse import ranked
from kb.search.legs import Found, above_chance
from kb.types import Candidate, Extent, Leg, ModelInfo, Query

SAMPLE = Path(__file__).parents[2] / "sample"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kb.KB]:
    with kb.open(tmp_path_factory.mktemp("best"), settings=Settings()) as base:
        base.add(SAMPLE)
        yield base


def extents(**chunks: tuple[str, int]) -> dict[str, Extent]:
    return {name: Extent(doc, 1.0, siblings) for name, (doc, siblings) in chunks.items()}


def test_meaning_counts_from_what_random_chunks_have() -> None:
    assert nearness(0.5, 0.2) == 0.375
    assert nearness(0.1, 0.2) == 0.0
    assert nearness(1.0, 0.2) == 1.0
    assert nearness(0.7, 1.0) == 0.0  # a store of copies: nothing is nearer than anything else


def test_length_costs_less_than_in_bm25() -> None:
    assert fair(1.0) == pytest.approx(1.0)
    assert fair(2.0) == pytest.approx(3.1 / 2.92)
    assert fair(0.1) == pytest.approx(1.39 / 1.552)


def test_a_chunk_alone_in_its_document() -> None:
    blend = Blend(0.25, Evidence({"a": 0.6}, {"a": 0.2}, extents(a=("A", 1))))
    (hit,) = blend.fuse(ranked([("a", 0.9)]), ranked([("a", 0.5)]))
    own = 0.75 * 0.6 + 0.25 * 0.2  # 0.5
    assert hit.score == pytest.approx(0.5 * own + 0.5 * own / 5**0.15, abs=1e-9)
    assert hit.score == pytest.approx(0.44638, abs=1e-5)


def test_the_rest_of_a_document_speaks_for_its_best_chunk() -> None:
    known = extents(a=("A", 2), b=("A", 2), c=("C", 2))
    blend = Blend(0.5, Evidence({"a": 0.4, "b": 0.3, "c": 0.4}, None, known))
    first, second, third = blend.fuse(ranked([("a", 0.9), ("b", 0.8), ("c", 0.7)]), None)
    assert [hit.chunk_id for hit in (first, second, third)] == ["a", "c", "b"]
    alone = 2**0.85 * 5**0.15
    assert first.score == pytest.approx(0.5 * 0.4 + 0.5 * 0.7 / alone, abs=1e-9)
    assert second.score == pytest.approx(0.5 * 0.4 + 0.5 * 0.4 / alone, abs=1e-9)
    assert third.score == pytest.approx(0.5 * 0.3 + 0.5 * 0.3 / alone, abs=1e-9)  # not its best: for itself alone
    assert blend.contributions(third, (True, False)) == (third.score, None)


def test_without_vectors_words_count_whole() -> None:
    blend = Blend(0.3, Evidence({"a": 0.6}, None, extents(a=("A", 1))))
    both = Blend(0.0, Evidence({"a": 0.6}, {"a": 0.9}, extents(a=("A", 1))))
    assert blend.fuse(ranked([("a", 1.0)]), None)[0].score == both.fuse(ranked([("a", 1.0)]), ranked([]))[0].score


def test_the_weight_of_meaning_is_the_models_own() -> None:
    assert alpha_of(ModelInfo("static", "1", 256)) == ALPHA["static"]
    assert alpha_of(ModelInfo("minilm", "1", 384)) == ALPHA_ELSE == alpha_of(None)


scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1), min_size=1)


@given(scores, scores, st.floats(0, 1))
def test_a_blend_stays_between_zero_and_one_and_breaks_ties_by_rank_and_id(
    words: dict[str, float], meaning: dict[str, float], alpha: float
) -> None:
    names = {*words, *meaning}
    known = {name: Extent(name if name < "d" else "D", 1.0, 1 if name < "d" else 4) for name in names}
    lexical = ranked(sorted(words.items(), key=lambda pair: (-pair[1], pair[0])))
    vector = ranked(sorted(meaning.items(), key=lambda pair: (-pair[1], pair[0])))
    found = Blend(alpha, Evidence(words, meaning, known)).fuse(lexical, vector)
    assert {hit.chunk_id for hit in found} == names
    assert all(0.0 <= hit.score <= 1.0 for hit in found)
    assert [hit.order for hit in found] == sorted(hit.order for hit in found)
    judged = judge(found, Evidence(words, meaning, known), Usual())
    assert set(judged.hits) == names and all(0.0 <= chance <= 1.0 for chance in judged.hits.values())


def test_a_longer_answer_begins_with_the_shorter_one(sample: kb.KB) -> None:
    long = sample.search("how do I undo a commit", profile="best", top=30)
    short = sample.search("how do I undo a commit", profile="best", top=3)
    assert short.hits == long.hits[:3]
    assert {hit.score_kind for hit in long.hits} == {"calibrated"}


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_confidence_is_told_in_every_mode(sample: kb.KB, mode: kb.Mode) -> None:
    result = sample.search("take back my last commit", profile="best", mode=mode)
    assert result.no_good_match is False
    assert result.hits[0].doc_path == "notes/git-undo.md"
    assert all(hit.confidence is not None and 0 <= hit.confidence <= 1 for hit in result.hits)
    assert result.hits[0].confidence > 0.5 > result.hits[-1].confidence  # type: ignore[operator]


@pytest.mark.parametrize("question", ["visa requirements for Canada", "who painted the Sistine Chapel", "xyzzy plugh"])
def test_a_question_that_nothing_answers_is_recognised(sample: kb.KB, question: str) -> None:
    result = sample.search(question, profile="best")
    assert result.no_good_match is True
    assert result.evidence is not None and result.evidence["probability"] < 0.345


def test_an_empty_query_is_no_bad_match_and_other_profiles_do_not_tell(sample: kb.KB) -> None:
    assert sample.search(" ", profile="best").no_good_match is None
    other = sample.search("git", profile="notes")
    assert other.no_good_match is None and all(hit.confidence is None for hit in other.hits)


def test_what_is_usual_is_measured_once_a_store_is_large_enough(tmp_path: Path) -> None:
    def notes(count: int) -> list[kb.Document]:
        return [
            kb.Document(path=f"{n}.md", text=f"Note {n} on harbour lights and tides of day {n}") for n in range(count)
        ]

    with kb.open(tmp_path / "s", settings=Settings()) as base:

        def kept() -> Usual:
            with base.store.snapshot() as snapshot:
                return Usual.of(snapshot.kept.get(KEPT))

        base.put(notes(usual.LEAST - 1))
        assert kept() == Usual()
        base.put(notes(usual.LEAST))
        first = kept()
        assert first.chunks == usual.LEAST and 0 <= first.words <= 1 and 0 <= first.meaning <= 1
        base.put(notes(int(usual.LEAST * 1.2)))
        assert kept() == first  # not again for so little
        base.put(notes(int(usual.LEAST * 1.3)))
        assert kept().chunks == int(usual.LEAST * 1.3)
        assert base.check().ok


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"words": "x"}', '{"words": 1}'])
def test_what_cannot_be_read_is_a_guess(text: str | None) -> None:
    assert Usual.of(text) == Usual()


def test_the_questions_are_about_everything() -> None:
    found = usual.questions()
    assert len(found) == len(set(found)) > 90 and all(question.strip() for question in found)


def test_alpha_of_the_query_wins(sample: kb.KB) -> None:
    words = sample.engine.plan(Query("git", profile="best", alpha=0.0)).fusion
    assert isinstance(words, Blend) and words.alpha == 0.0
    assert not sample.search("git", profile="best", alpha=0.0).vector.ran


def test_a_rank_fusion_takes_no_neighbours_by_chance() -> None:
    hits = [("a", 0.9), ("b", 0.5), ("c", 0.49)]
    raw = tuple(Candidate(name, cosine) for name, cosine in hits)
    found = Found(ranked(hits), Leg("numpy", True, None, 3, 0.1), raw)
    kept = above_chance(found, Calibration(mean=0.2, deviation=0.1, vectors=1000))  # nothing below 0.5
    assert list(kept.ranking or ()) == ["a", "b"] and kept.leg.candidates == 2 and kept.raw == raw[:2]
    assert above_chance(found, Calibration(0.2, 0.1, 999)) is found  # too few to know chance
    assert above_chance(found, None) is found


class Remote(HashingEmbedder):
    """A service somewhere else, which counts what it is asked."""

    asked = 0

    @property
    def info(self) -> ModelInfo:
        return replace(super().info, remote=True)

    def embed_query(self, text: str) -> bytes:
        self.asked += 1
        return super().embed_query(text)


MANY = [kb.Document(path=f"{n}.md", text=f"Note {n} on harbour lights and tides") for n in range(usual.LEAST)]


def test_no_service_is_sent_questions_that_nobody_asked(tmp_path: Path) -> None:
    service = Remote()
    with kb.open(tmp_path / "s", settings=Settings(), embedder=service) as base:
        assert base.put(MANY).added == usual.LEAST
        with base.store.snapshot() as snapshot:
            found = Usual.of(snapshot.kept.get(KEPT))
    assert service.asked == 0
    assert found.chunks == usual.LEAST and found.meaning == Usual().meaning


def test_measuring_can_be_stopped_and_fails_nothing(tmp_path: Path) -> None:
    hurried = Settings(search=SearchSettings(deadline_s=1e-9))  # every search times out
    with kb.open(tmp_path / "s", settings=hurried) as base:
        assert base.put(MANY).ok
        with base.store.snapshot() as snapshot:
            assert KEPT not in snapshot.kept
    stop = threading.Event()
    stop.set()
    with kb.open(tmp_path / "s", settings=Settings()) as base:
        assert not usual.bring_up_to_date(base.store, base.engine, stop)
        assert usual.bring_up_to_date(base.store, base.engine)
        assert not usual.bring_up_to_date(base.store, base.engine)  # nothing has changed
