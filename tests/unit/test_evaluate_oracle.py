"""The measures agree with trec_eval's own code, to 1e-6."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kb
from kb.evaluate.judged import read
from kb.evaluate.metrics import measure
from kb.evaluate.rank import gains

pytrec_eval = pytest.importorskip("pytrec_eval", reason="there is no wheel of it for Linux on ARM")
QUESTIONS = Path(__file__).parents[1] / "data" / "eval" / "golden.jsonl"
SAMPLE = Path(__file__).parents[2] / "sample"
NAMES = {"ndcg@10": "ndcg_cut_10", "recall@10": "recall_10", "recall@100": "recall_100", "success@1": "success_1"}


def theirs(ranking: list[str], grades: dict[str, int]) -> dict[str, float]:
    """trec_eval orders by score and breaks ties by name, so the ranking is given as strictly falling scores."""
    run = {"q": {document: float(len(ranking) - at) for at, document in enumerate(ranking)}}
    judge = pytrec_eval.RelevanceEvaluator({"q": grades}, {*NAMES.values(), "recip_rank"})
    found: dict[str, float] = judge.evaluate(run)["q"]
    return found


def agrees(ranking: list[str], grades: dict[str, int]) -> None:
    found = measure([float(grades.get(document, 0)) for document in ranking], [float(g) for g in grades.values()])
    expected = theirs(ranking, grades)
    for ours, name in NAMES.items():
        assert found[ours] == pytest.approx(expected[name], abs=1e-6), ours
    first_ten = theirs(ranking[:10], grades)["recip_rank"]  # trec_eval has no cut of its own for it
    assert found["mrr@10"] == pytest.approx(first_ten, abs=1e-6)


documents = [f"d{number}" for number in range(160)]


@settings(max_examples=300, deadline=None)
@given(
    ranking=st.permutations(documents).flatmap(lambda found: st.integers(1, 150).map(lambda depth: found[:depth])),
    grades=st.dictionaries(st.sampled_from(documents), st.integers(0, 4), min_size=1, max_size=40).filter(
        lambda grades: any(grades.values())
    ),
)
def test_random_graded_rankings(ranking: list[str], grades: dict[str, int]) -> None:
    """Equal grades, zero grades, unjudged documents, and relevant ones that were not found."""
    agrees(ranking, grades)


def test_a_ranking_with_tied_scores_is_measured_in_the_order_it_is_shown() -> None:
    """Ties are broken before anything is measured, and by name both here and there when names are in rank order."""
    draw = random.Random(20)
    for _ in range(200):
        scores = {document: float(draw.randint(0, 5)) for document in draw.sample(documents, 60)}
        grades = {document: draw.randint(0, 3) for document in draw.sample(documents, 30)} | {"d0": 1}
        judge = pytrec_eval.RelevanceEvaluator({"q": grades}, {"ndcg_cut_10"})
        expected = judge.evaluate({"q": scores})["q"]["ndcg_cut_10"]
        shown = sorted(scores, key=lambda document: (scores[document], document), reverse=True)  # trec_eval's own rule
        found = measure([float(grades.get(document, 0)) for document in shown], [float(g) for g in grades.values()])
        assert found["ndcg@10"] == pytest.approx(expected, abs=1e-6)


def test_a_real_collection(tmp_path: Path) -> None:
    """The sample folder, asked by the questions of its judged collection, through the real search."""
    judged = read(QUESTIONS)
    compared = 0
    with kb.open(tmp_path / "store", embedder="hashing:64") as base:
        base.add(SAMPLE)
        for question in judged.queries:
            if question.no_answer or any("#" in place for place in question.grades):
                continue  # trec_eval knows documents only
            hits = base.search(question.text, top=100).hits
            ranking = list(dict.fromkeys(hit.doc_path for hit in hits))
            grades = {path: int(grade) for path, grade in question.grades.items()}
            expected = theirs(ranking, grades)["ndcg_cut_10"]
            found = measure(gains(hits, question.grades), list(question.grades.values()))
            assert found["ndcg@10"] == pytest.approx(expected, abs=1e-6)
            assert expected > 0
            compared += 1
    assert compared >= 3
