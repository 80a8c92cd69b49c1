"""The benchmark of quality on a collection of a few words, so that it stays right."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from kb.evaluate.judged import read
from tests.rules import sources

sys.path.insert(0, str(sources.ROOT / "benchmarks"))

import baselines
import quality

TEXTS = {
    "conv-1/a": "the bread needs flour and water",
    "conv-1/b": "installing git with the package manager",
    "conv-2/c": "bread and butter, and a train at the station",
}
QUESTIONS = {"conv-1-q0": ("bread", "conv-1/a"), "conv-2-q0": ("a train", "conv-2/c")}


def beir(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in TEXTS.items()))
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": i, "text": text}) + "\n" for i, (text, _) in QUESTIONS.items())
    )
    (folder / "qrels.tsv").write_text("".join(f"{i}\t{answer}\t1\n" for i, (_, answer) in QUESTIONS.items()))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    beir(tmp_path / "data" / "locomo-turns")
    return tmp_path / "data"


def test_dialogues_are_measured_in_both_ways(data: Path) -> None:
    found = dict(quality.collections(data, [], None))
    assert list(found) == ["locomo-turns", "locomo-all"]
    assert [query.within for query in found["locomo-turns"].queries] == ["conv-1/**", "conv-2/**"]
    assert [query.within for query in found["locomo-all"].queries] == [None, None]
    assert len(dict(quality.collections(data, ["locomo-all"], 1))["locomo-all"].queries) == 1


def test_archives_are_unpacked_for_as_long_as_they_are_used(data: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    for name in ("locomo-turns", "pdfs"):
        (data / name).mkdir(exist_ok=True)
        with tarfile.open(packed / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(data / name, name)
    with quality.unpacked(packed) as folder:
        assert [path.name for path in folder.iterdir()] == ["locomo-turns"]  # nothing in pdfs is judged
        assert len(read(folder / "locomo-turns").queries) == 2
    assert not folder.exists()
    with quality.unpacked(data) as same:
        assert same == data


def test_strangers_ask_what_other_collections_are_asked(data: Path) -> None:
    assert quality.strangers(data, "locomo-turns").queries == ()
    beir(data / "scifact")
    beir(data / "locomo-short")
    asked = quality.strangers(data, "locomo-turns")
    assert [query.text for query in asked.queries] == ["bread", "a train"]  # of scifact only: the others are family


def test_words_are_pairs_where_characters_are_wide() -> None:
    assert list(baselines.words("Snake_case of 3.11")) == ["snake", "case", "of", "11"]
    assert list(baselines.words("git 설치하기 한 日本語text")) == [
        "git",
        "설치",
        "치하",
        "하기",
        "한",
        "日本",
        "本語",
        "text",
    ]


def test_rankings_stay_inside_and_break_ties_by_order() -> None:
    scores = np.array([1.0, 3.0, -np.inf, 3.0])
    assert baselines.ranking(scores, None).tolist() == [1, 3, 0]
    assert baselines.ranking(scores, np.array([True, False, True, True])).tolist() == [3, 0]
    # 1/61 + 1/62 for the first two; then 1/63
    assert baselines.rrf(np.array([1, 0]), np.array([0, 1, 2])).tolist() == [0, 1, 2]


def test_legs_find_words(data: Path) -> None:
    judged = dict(quality.collections(data, ["locomo-turns"], None))["locomo-turns"]
    of = baselines.collection("locomo-turns", judged)
    found = baselines.measured(of, baselines._ranked(of, baselines.fts5_leg(of.texts, of.questions)))
    assert found["ndcg@10"] == 1.0
    pytest.importorskip("bm25s")
    leg = baselines.bm25s_leg(of.texts, of.questions, 0.9, 0.4)
    assert baselines.measured(of, baselines._ranked(of, leg))["ndcg@10"] == 1.0
    assert np.isfinite(leg(0)).tolist() == [True, False, True]


def test_a_difference_comes_with_its_interval() -> None:
    ours, theirs = {f"q{n}": 0.5 + n % 2 / 10 for n in range(40)}, {f"q{n}": 0.4 for n in range(40)}
    found = quality.against(ours, theirs)
    assert found["difference"] == pytest.approx(0.15)
    assert found["verdict"] == "better"
    assert quality.against(theirs, ours)["verdict"] == "worse"
    assert quality.against(ours, ours)["verdict"] == "no clear difference"
