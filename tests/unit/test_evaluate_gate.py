"""``--fail-under``, budgets, several profiles, and the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import kb
from kb.errors import UsageError
from kb.evaluate import Request, as_svg, as_text, parse_gates, run
from tests.unit.test_evaluate_run import collection

__all__ = ["collection"]


def test_a_gate_is_a_measure_and_a_number() -> None:
    assert parse_gates(["ndcg@10=0.6", "Recall@100 = .9"]) == {"ndcg@10": 0.6, "recall@100": 0.9}


@pytest.mark.parametrize("broken", ["ndcg@10", "ndcg@10=", "ndcg@10=high", "ndcg@10=60", "ndcg@10=nan", "=0.5="])
def test_a_broken_gate_says_so(broken: str) -> None:
    with pytest.raises(UsageError):
        parse_gates([broken])


def test_a_measure_that_is_not_taken_is_refused_before_anything_is_indexed(tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_text('{"query": "git", "relevant": ["a.md"]}')
    with pytest.raises(UsageError) as caught:
        run(file, Request(fail_under={"recall@500t": 0.5}))
    assert "recall@100" in caught.value.fix


def test_every_row_must_reach_the_gate(collection: Path) -> None:
    passed = run(collection, Request(modes=("lexical",), fail_under={"ndcg@10": 1.0}))
    assert passed.ok
    request = Request(modes=("lexical",), profiles=("notes", "strict"), fail_under={"ndcg@10": 0.9, "mrr@10": 0.1})
    (collection / "queries.jsonl").write_text('{"_id": "q0", "text": "flour telescope"}')
    failed = run(collection, request)
    assert [(short.profile, short.measure, short.value) for short in failed.shortfalls] == [
        ("strict", "ndcg@10", 0.0),
        ("strict", "mrr@10", 0.0),
    ]
    assert not failed.ok
    assert "too low: strict lexical: ndcg@10 0.0000, at least 0.9" in as_text(failed)


def test_profiles_are_measured_beside_each_other(collection: Path) -> None:
    report = run(collection, Request(modes=("lexical",), profile="notes", profiles=("strict", "notes")))
    assert [row.profile for row in report.modes] == ["notes", "strict"]
    assert report.profile == "notes"


def test_recall_within_a_budget_is_that_of_the_packed_answer(tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    names = [f"d{number}.md" for number in range(12)]
    file.write_text(f'{{"query": "git", "relevant": {str(names).replace(chr(39), chr(34))}}}')
    with kb.open(tmp_path / "store", embedder="none") as base:
        base.put([kb.Document(path=name, text=f"git {'word ' * 60}") for name in names])
        report = run(file, Request(modes=("lexical",), budgets=(200, 600, 10_000)), base=base)
        packed = {tokens: base.search("git", mode="lexical", top=100, budget=tokens) for tokens in (200, 600)}
    means = report.modes[0].means
    for tokens, result in packed.items():
        assert means[f"recall@{tokens}t"] == pytest.approx(len({hit.doc_path for hit in result.hits}) / 12)
    assert 0 < means["recall@200t"] < means["recall@600t"] < means["recall@10000t"] == 1.0
    assert "within a budget" in as_text(report)


def test_the_picture_is_well_formed_and_nothing_in_it_is_markup(collection: Path) -> None:
    report = run(collection, Request(modes=("hybrid", "lexical"), profiles=("notes", "strict")))
    hostile = replace(report, name="<script>alert('&\"')</script>\x00\ud800")
    picture = as_svg(hostile)
    tree = ET.fromstring(picture)
    names = {element.tag.rsplit("}", 1)[1] for element in tree.iter()}
    assert names == {"svg", "style", "rect", "text", "line", "circle", "title"}
    circles = [element for element in tree.iter() if element.tag.endswith("circle")]
    assert len(circles) == len(report.modes) * len(report.modes[0].means)
    assert "prefers-color-scheme: dark" in picture
    assert as_svg(hostile) == picture
