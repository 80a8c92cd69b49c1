"""Against a saved run: what got better and worse, why, and what older files still tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kb.evaluate import Request, as_text, run, to_dict
from kb.evaluate.asking import with_leg_ranks
from kb.evaluate.rank import Position
from kb.evaluate.report import ModeReport, QueryChange
from kb.evaluate.why import explain
from kb.types import Mode
from tests.cli.wire import validate
from tests.unit.test_evaluate_run import collection

__all__ = ["collection"]
CHANGE = QueryChange("q1", 0.0, 1.0)


def row(mode: Mode, ranks: Mapping[str, Position]) -> ModeReport:
    return ModeReport(mode, "notes", 1, {}, {}, {"q1": 1.0}, {"q1": ranks}, None, 1.0, 1.0)


def why(before: Any, after: Position | None, *, mode: Mode = "hybrid", legs_measured: bool = True) -> tuple[str, ...]:
    now = row(mode, {"a.md": after} if after else {})
    return explain(CHANGE, {"a.md": before}, now, None, legs_measured=legs_measured).because


@pytest.mark.parametrize(
    ("before", "after", "because"),
    [
        ([5, 9, 3], (1, 1, 3), ("lexical",)),
        ([5, 9, 3], (1, 9, 1), ("vector",)),
        ([5, 9, 3], (1, 1, 1), ("lexical", "vector")),
        ([5, 9, 3], (1, 9, 3), ("fusion",)),
        ([5, 9, None], (1, 9, 200), ("vector",)),
        ([5, 9, 3], (5, 1, 1), ()),  # it stands where it stood
        ([50, 90, 30], (20, 10, 10), ()),  # beneath what nDCG@10 looks at
    ],
)
def test_what_moved_an_answer_is_named(before: Any, after: Position, because: tuple[str, ...]) -> None:
    assert why(before, after) == because
    assert why(before, after, legs_measured=False) == because


def test_a_place_that_was_lost_is_explained_only_by_legs_that_were_measured_alone() -> None:
    assert why([1, 1, 4], None) == ("lexical", "vector")
    assert why([1, 1, 4], None, legs_measured=False) == ()
    assert why([1, 1, 4], (None, 1, 30)) == ("vector",)
    assert why([1, 1, 250], (None, 1, None)) == ("fusion",)  # a leg alone does not look so deep
    assert why([1, 1, 4], (None, 1, 4)) == ("fusion",)


def test_a_leg_alone_is_its_own_reason() -> None:
    assert why([None, None, None], (1, 1, None), mode="lexical", legs_measured=False) == ("lexical",)


@pytest.mark.parametrize("nonsense", ["text", 3, [1, 2], ["a", "b", "c"], [0, -1, 2], {}, None])
def test_what_is_no_position_is_nowhere(nonsense: Any) -> None:
    told = explain(CHANGE, {"a.md": nonsense}, row("hybrid", {"a.md": (1, 9, 3)}), "install git", legs_measured=True)
    assert [(move.place, move.before, move.after) for move in told.moved] == [("a.md", (None, None, None), (1, 9, 3))]
    assert told.text == "install git"


def test_a_saved_run_keeps_ranks_and_tells_what_moved(collection: Path, tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    run(collection, Request(save_to=saved))
    before = json.loads(saved.read_text())
    hybrid = before["modes"][0]
    assert hybrid["mode"] == "hybrid"
    assert hybrid["ranks"]["q1"]["d1"] == [1, 1, 1]
    hybrid["per_query"]["q1"], hybrid["ranks"]["q1"]["d1"] = 0.5, [3, 2, 1]
    saved.write_text(json.dumps(before))
    report = run(collection, Request(baseline=saved))
    validate(json.loads(json.dumps(to_dict(report))))
    change = report.comparisons[0].better[0]
    assert (change.query_id, change.text, change.because) == ("q1", "install", ("lexical",))
    shown = as_text(report)
    assert "d1: rank 3 -> 1 (lexical 2 -> 1, vector 1 -> 1)" in shown
    assert "moved by: lexical" in shown


def test_what_hybrid_left_out_has_the_ranks_of_the_legs_that_were_measured_alone(collection: Path) -> None:
    hybrid, lexical, vector = run(collection, Request()).modes
    cut = replace(hybrid, ranks=hybrid.ranks | {"q1": {}})
    assert with_leg_ranks([cut, lexical, vector])[0].ranks["q1"] == {"d1": (None, 1, 1)}
    assert with_leg_ranks([cut, lexical])[0].ranks["q1"] == {"d1": (None, 1, None)}
    assert with_leg_ranks([cut])[0].ranks["q1"] == {}
    assert with_leg_ranks([hybrid, lexical, vector]) == [hybrid, lexical, vector]


def test_a_file_of_an_earlier_version_still_compares(collection: Path, tmp_path: Path) -> None:
    """It had one profile, named once, and no ranks."""
    saved = tmp_path / "before.json"
    run(collection, Request(modes=("lexical",), save_to=saved))
    before = json.loads(saved.read_text())
    for name in ("profile", "ranks", "calibration", "foreign"):
        del before["modes"][0][name]
    del before["shortfalls"]
    before["modes"][0]["per_query"]["q1"] = 0.5
    validate(before)
    saved.write_text(json.dumps(before))
    report = run(collection, Request(modes=("lexical",), baseline=saved))
    comparison = report.comparisons[0]
    assert comparison.baseline_profile == "notes"
    assert [(change.query_id, change.because, change.moved) for change in comparison.better] == [("q1", (), ())]


def test_another_profile_is_compared_with_the_only_one_of_the_baseline(collection: Path, tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    run(collection, Request(modes=("lexical",), save_to=saved))
    report = run(collection, Request(modes=("lexical",), profile="strict", baseline=saved))
    assert [(c.profile, c.baseline_profile) for c in report.comparisons] == [("strict", "notes")]
    assert "strict lexical against the baseline (notes)" in as_text(report)


def test_of_several_profiles_the_same_are_compared(collection: Path, tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    request = Request(modes=("lexical",), profiles=("notes", "strict"), save_to=saved)
    run(collection, request)
    report = run(collection, Request(modes=("lexical",), profiles=("strict", "memory"), baseline=saved))
    assert [(c.profile, c.baseline_profile) for c in report.comparisons] == [("strict", "strict")]
