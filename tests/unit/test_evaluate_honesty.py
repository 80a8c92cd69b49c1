"""Questions of another collection, questions without an answer, and confidence, held against the judgements."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

import kb
from kb.evaluate import Request, as_text, run, to_dict
from kb.evaluate.judged import read
from kb.types import Hit, Query, SearchResult
from tests.cli.wire import validate

ANSWERS = {"install": "git.md", "flour": "bread.md", "station": "train.md"}
WEATHER = ("rain tomorrow", "snow in June", "git in the storm")


@dataclass(frozen=True)
class JudgedResult(SearchResult):
    no_good_match: bool | None = None


@dataclass(frozen=True)
class JudgedHit(Hit):
    confidence: float | None = None


class Judging:
    """A store whose answers judge themselves: no hit is no good match, and the first hit is trusted by 0.8."""

    def __init__(self, base: kb.KB) -> None:
        self.base, self.settings = base, base.settings

    def status(self) -> kb.types.Status:
        return self.base.status()

    def search(self, query: Query) -> SearchResult:
        result = self.base.search(query)
        hits = tuple(
            JudgedHit(**values(hit) | {"confidence": 0.8 if rank == 0 else 0.1}) for rank, hit in enumerate(result.hits)
        )
        return JudgedResult(**values(result) | {"hits": hits, "no_good_match": not hits})


def values(thing: Any) -> dict[str, Any]:
    return {field.name: getattr(thing, field.name) for field in fields(thing)}


@pytest.fixture
def base(tmp_path: Path) -> Any:
    with kb.open(tmp_path / "store", embedder="none") as opened:
        texts = {"git.md": "install git", "bread.md": "flour and water", "train.md": "the station", "x.md": "install"}
        opened.put([kb.Document(path=path, text=text) for path, text in texts.items()])
        yield opened


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    own, other = tmp_path / "own.jsonl", tmp_path / "weather.jsonl"
    own.write_text("\n".join(json.dumps({"query": q, "relevant": [path]}) for q, path in ANSWERS.items()))
    other.write_text("\n".join(json.dumps({"query": q, "relevant": ["w.md"], "within": "w/**"}) for q in WEATHER))
    return own


def test_foreign_questions_and_false_alarms_are_counted(base: kb.KB, questions: Path) -> None:
    request = Request(modes=("lexical",), foreign=questions.with_name("weather.jsonl"))
    report = run(questions, request, base=Judging(base))  # type: ignore[arg-type]
    seen = report.modes[0].foreign
    assert seen is not None
    assert (seen.name, seen.questions, seen.recognised) == ("weather", 3, 2)  # there is something about git
    assert (seen.own_questions, seen.false_alarms) == (3, 0)
    assert "2 of 3 questions of weather" in as_text(report)
    validate(json.loads(json.dumps(to_dict(report))))


def test_confidence_is_held_against_the_judgements(base: kb.KB, questions: Path) -> None:
    report = run(questions, Request(modes=("lexical",)), base=Judging(base))  # type: ignore[arg-type]
    found = report.modes[0].calibration
    assert found is not None
    # four hits: three first ones of 0.8, and x.md beneath or above git.md, for "install"
    assert found.hits == 4
    assert found.bins[1].hits == 1
    right = found.bins[8].relevant
    assert found.error == pytest.approx((3 * abs(0.8 - right) + abs(0.1 - found.bins[1].relevant)) / 4)
    assert "confidence off by" in as_text(report)
    validate(json.loads(json.dumps(to_dict(report))))


def test_a_profile_that_does_not_judge_itself_is_said_to(base: kb.KB, questions: Path) -> None:
    request = Request(modes=("lexical",), profile="notes", foreign=questions.with_name("weather.jsonl"))
    report = run(questions, request, base=base)
    assert report.modes[0].foreign is None
    assert report.modes[0].calibration is None
    assert any("no_good_match" in warning for warning in report.warnings)


def test_a_question_without_an_answer_is_rejected_by_saying_so(base: kb.KB, tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    file.write_text('{"query": "zebra", "no_answer": true}\n{"query": "install", "no_answer": true}')
    assert read(file).queries[0].no_answer
    report = run(file, Request(modes=("lexical",)), base=base)
    assert report.modes[0].rejected == (1, 2)
    assert report.modes[0].means["ndcg@10"] == 0.0
