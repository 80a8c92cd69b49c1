"""A change is proposed only where it is proved; alike settings are told to be alike."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kb
from kb import tune
from kb.config import EmbedSettings, Profile, Settings, shipped_profiles
from kb.errors import UsageError
from kb.evaluate.judged import JudgedQuery
from kb.tune.proof import prove, weighted_mean
from kb.tune.questions import Question, questions_of
from kb.tune.runner import Asked, choose, verdict
from kb.tune.settings import Setting, adopt, changes, fusions, left_behind, own_name, present, second_opinions
from tests.conftest import MakeBase

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "ivory", "jetty", "kelp", "lotus")
MEANING_ONLY = Profile(name="mine", alpha=1.0)  # with the small hashing embedder: clearly worse than words and meaning


def linked(documents: int = 130) -> dict[str, str]:
    """Documents that point to each other, each known by three words that it shares with others."""
    draw = random.Random(7)
    names = [" ".join(draw.sample(WORDS, 3)) + f" n{number}" for number in range(documents)]
    texts = {}
    for number, name in enumerate(names):
        other = (number * 7 + 1) % documents
        filler = " ".join(draw.choices(WORDS, k=40))
        texts[f"d{number:03d}.md"] = f"# D{number}\n\nOn {name}: {filler}. See [{names[other]}](d{other:03d}.md)."
    return texts


def with_present(profile: Profile) -> Settings:
    settings = Settings(profiles={**shipped_profiles(), profile.name: profile})
    return replace(settings, search=replace(settings.search, profile=profile.name))


# ---------------------------------------------------------------- the proof, pure


def test_alike_values_are_no_gain() -> None:
    values = [random.Random(1).random() for _ in range(200)]
    proof = prove(values, values, [1.0] * 200)
    assert (proof.gain, proof.interval, proof.p) == (0.0, (0.0, 0.0), 1.0)
    assert not proof.is_clear


def test_false_proposals_are_rare() -> None:
    """200 times two settings that differ by chance alone, on values as nDCG has them: at most 5 % are proposed."""
    grades = (0.0, 0.0, 0.387, 0.5, 0.631, 1.0, 1.0, 1.0)
    false = 0
    for seed in range(200):
        draw = random.Random(seed)
        weights = draw.choices((0.25, 0.5, 1.0, 3.0), weights=(2, 4, 8, 1), k=100)
        before, after = draw.choices(grades, k=100), draw.choices(grades, k=100)
        false += not verdict(prove(before, after, weights), 1.0)
    assert false <= 10


def test_a_real_gain_is_seen() -> None:
    draw = random.Random(3)
    before = [draw.random() for _ in range(150)]
    after = [min(1.0, value + draw.uniform(-0.1, 0.3)) for value in before]
    proof = prove(before, after, [1.0] * 150)
    assert proof.is_clear
    assert proof.p < 0.01
    assert verdict(proof, 1.0) == ""
    assert not prove(after, before, [1.0] * 150).is_clear


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from((0.25, 1.0, 3.0))), min_size=2, max_size=20)
)
def test_the_gain_lies_in_its_interval_and_turns_round_with_the_sides(rows: list[tuple[float, float, float]]) -> None:
    before, after, weights = (list(column) for column in zip(*rows, strict=True))
    proof, other = prove(before, after, weights), prove(after, before, weights)
    assert proof.gain == pytest.approx(proof.after - proof.before, abs=1e-9)
    assert proof.gain == pytest.approx(-other.gain, abs=1e-9)
    assert proof.interval[0] - 1e-9 <= proof.interval[1]
    assert 0 < proof.p <= 1
    assert proof.p == pytest.approx(other.p)


def test_questions_count_by_their_weight() -> None:
    assert weighted_mean([1.0, 0.0], [3.0, 1.0]) == 0.75
    assert prove([0.0, 1.0], [1.0, 0.0], [3.0, 1.0]).gain == 0.5


def test_a_slow_setting_has_to_be_asked_for() -> None:
    proof = prove([0.0] * 40, [1.0] * 40, [1.0] * 40)
    assert "3.5 times" in verdict(proof, 3.5)
    assert verdict(proof, 3.5, allow_slow=True) == ""
    assert verdict(proof, 2.9) == ""


def test_of_settings_that_are_as_good_the_first_is_chosen() -> None:
    asked = [Asked(Setting(label, "best"), (), ()) for label in ("now", "better", "best by a hair")]
    assert choose(asked, [0.5, 0.6, 0.604]).setting.label == "better"
    assert choose(asked, [0.6, 0.6, 0.604]).setting.label == "now"
    assert choose(asked, [0.5, 0.6, 0.7]).setting.label == "best by a hair"


# ---------------------------------------------------------------- settings


def test_a_collection_keeps_its_habits() -> None:
    known = shipped_profiles()
    taken = adopt(known["memory"], known["best"])
    assert (taken.fusion, taken.half_life_days, taken.min_score, taken.name) == ("calibrated", 30.0, None, "memory")
    now = Setting("memory (now)", "memory")
    assert "min_score 0.1" in left_behind(Settings(), now, Setting("best", "best", taken))[0]
    again = Profile(name="memory", **changes(taken))  # type: ignore[arg-type]
    assert again == taken


def test_the_present_setting_is_not_tried_twice_nor_overwritten() -> None:
    settings = with_present(replace(shipped_profiles()["best"], name="tuned"))
    now = present(settings, None)
    name = own_name(None, now)
    assert name == "tuned-2"
    assert [each.label for each in fusions(settings, now, name, free=True)] == ["notes", "strict"]


def test_a_reranker_is_tried_the_other_way_round_where_there_is_one() -> None:
    settings = Settings()
    now = present(settings, None)
    assert second_opinions(settings, now, "tuned") == []
    settings = replace(settings, rerank=replace(settings.rerank, model="onnx-dir:somewhere"))
    (tried,) = second_opinions(settings, now, "tuned")
    assert tried.label == "notes, with reranker"
    assert tried.profile == replace(shipped_profiles()["notes"], name="tuned", rerank=True)
    (back,) = second_opinions(settings, tried, "tuned")
    assert back.profile is not None
    assert not back.profile.rerank


# ---------------------------------------------------------------- questions


def test_a_wrong_answer_is_better_further_down(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    hits = base.search("apples", per_doc=1).hits
    first, last = hits[0].doc_path, hits[-1].doc_path

    def value(**grades: float) -> float:
        judged = JudgedQuery("1", "apples", {path.replace("_", "."): grade for path, grade in grades.items()})
        return Question("apples", "marked", judged).value(hits)

    assert value(**{first: 1.0}) == 1.0
    assert value(**{first: 0.0}) == 0.0
    assert 0.0 < value(**{last: 0.0}) < 1.0
    assert value(**{"nowhere.md": 0.0}) == 1.0
    assert value(**{first: 0.0, last: 1.0}) == value(**{last: 1.0})


def test_a_document_takes_one_place_however_many_of_its_chunks_are_found(make_base: MakeBase) -> None:
    long = "# Git\n\n" + "\n\n".join(f"## Part {n}\n\nGit git git git git install git." for n in range(15))
    base = make_base({"long.md": long, "short.md": "# Other\n\nA word on git among several other words, and no more."})
    question = Question("git", "marked", JudgedQuery("1", "git", {"short.md": 1.0}))
    assert len(base.search("git", top=20).hits) == 16
    hits = base.search(question.query("notes", None)).hits
    assert question.value(hits) == pytest.approx(1 / math.log2(3))


def test_marks_come_first_and_the_halves_are_the_same_each_time(make_base: MakeBase) -> None:
    base = make_base(linked(40))
    base.mark("d003.md", "where the heron lives")
    file = Path(base.status().location) / "golden.jsonl"
    questions = questions_of(base, 20, None, [file])
    assert [question.kind for question in questions][:2] == ["marked", "link"]
    assert len(questions) == 20
    assert questions == questions_of(base, 20, None, [file])
    assert {question.held_out for question in questions} == {True, False}


def test_marks_of_other_collections_stay_out(make_base: MakeBase) -> None:
    base = make_base(
        [kb.Document(path="a.md", text="# A\n\nA text."), kb.Document("b.md", "# B\n\nText.", collection="x")]
    )
    base.mark("a.md", "first")
    base.mark("b.md", "second")
    file = Path(base.status().location) / "golden.jsonl"
    assert [question.text for question in questions_of(base, 9, "x", [file]) if question.kind == "marked"] == ["second"]


# ---------------------------------------------------------------- whole runs


def test_a_better_setting_is_proposed_with_its_proof(make_base: MakeBase) -> None:
    base = make_base(linked(), settings=with_present(MEANING_ONLY))
    seen: list[str] = []
    report = tune.run(base, on_progress=lambda label, _done, _total: seen.append(label))
    assert report.reason == ""
    assert report.proposal is not None
    assert report.trial is not None
    assert report.trial.proof.is_clear
    assert report.trial.proof.questions == report.held_out >= 30
    assert report.trial.better
    assert report.tried[0].label == "mine (now)"
    assert seen
    again = tune.run(base)
    assert again.proposal == report.proposal
    assert again.trial is not None
    assert again.trial.proof == report.trial.proof


def test_alike_settings_are_told_to_be_alike(make_base: MakeBase) -> None:
    notes = shipped_profiles()["notes"]
    alike = {name: replace(notes, name=name) for name in ("notes", "best", "strict")}
    base = make_base(linked(), settings=Settings(profiles=alike, embed=EmbedSettings(model="none")), embedder="none")
    report = tune.run(base)
    assert report.proposal is None
    assert report.reason == "no other setting answers better"
    assert [row.label for row in report.tried] == ["notes (now)"]


def test_questions_of_the_words_of_their_answers_do_not_say_how_much_words_weigh(make_base: MakeBase) -> None:
    """Whatever needs all words, or weighs them more, would win by these questions and lose by a person's."""
    texts = {path: text.partition(" See ")[0] for path, text in linked().items()}
    names = {path: f"# {' '.join(text.split()[3:7])}\n\n{text}" for path, text in texts.items()}
    report = tune.run(make_base(names, settings=with_present(MEANING_ONLY)))
    assert set(report.kinds) <= {"title", "heading"}
    assert [row.label for row in report.tried] == ["mine (now)", "best", "notes"]
    assert "words of their answers" in report.warnings[0]


def test_too_few_questions_prove_nothing_and_none_is_asked(make_base: MakeBase, fruit: dict[str, str]) -> None:
    report = tune.run(make_base(fruit))
    assert report.proposal is None
    assert report.tried == ()
    assert "30 are needed" in report.reason


def test_the_setting_of_a_collection_is_the_one_compared_with(make_base: MakeBase) -> None:
    texts = [kb.Document(path=path, text=text, collection="work") for path, text in linked().items()]
    settings = replace(with_present(MEANING_ONLY), collections={"work": "mine"})
    settings = replace(settings, search=replace(settings.search, profile="notes"))
    report = tune.run(make_base(texts, settings=settings), tune.Request(collection="work", limit=200))
    assert report.now == "mine"
    assert report.proposal is not None
    assert report.proposal.collection == "work"


def test_a_weight_set_for_all_profiles_is_told(make_base: MakeBase, fruit: dict[str, str]) -> None:
    settings = Settings()
    settings = replace(settings, search=replace(settings.search, alpha=0.5))
    assert "search.alpha" in tune.run(make_base(fruit, settings=settings)).warnings[0]


def test_what_does_not_exist_is_said(make_base: MakeBase, fruit: dict[str, str], tmp_path: Path) -> None:
    base = make_base(fruit)
    with pytest.raises(UsageError, match="no collection 'x'"):
        tune.run(base, tune.Request(collection="x"))
    with pytest.raises(UsageError, match="no golden file"):
        tune.run(base, tune.Request(golden=tmp_path / "none.jsonl"))
