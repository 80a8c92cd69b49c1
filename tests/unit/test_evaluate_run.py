"""A whole evaluation, on a collection that is made here and on a golden file over a store."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

import kb
from kb.errors import UsageError
from kb.evaluate import Request, as_text, run, to_dict

TOPICS = (
    "bread flour water salt",
    "git install package manager",
    "volcano lava ash eruption",
    "train ticket station rail",
)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "topics"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d{n}", "title": words.split()[0], "text": words} for n, words in enumerate(TOPICS)]
    queries = [{"_id": f"q{n}", "text": words.split()[1]} for n, words in enumerate(TOPICS)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels" / "test.tsv").write_text("".join(f"q{n}\td{n}\t1\n" for n in range(len(TOPICS))))
    return folder


def test_a_collection_is_measured_per_mode(collection: Path) -> None:
    report = run(collection, Request(modes=("hybrid", "lexical")))
    assert [mode.mode for mode in report.modes] == ["hybrid", "lexical"]
    assert report.documents == 4
    for mode in report.modes:
        assert mode.means["success@1"] == 1.0
        assert mode.means["ndcg@10"] == 1.0
        assert set(mode.per_query) == {"q0", "q1", "q2", "q3"}
    assert "ndcg@10" in as_text(report)
    schema = json.loads(resources.files("kb").joinpath("schemas", "eval_report.v1.json").read_text("utf-8"))
    jsonschema.validate(json.loads(json.dumps(to_dict(report))), schema)


def test_a_run_is_compared_with_a_saved_one(collection: Path, tmp_path: Path) -> None:
    saved = tmp_path / "runs" / "before.json"
    run(collection, Request(modes=("lexical",), save_to=saved))
    before = json.loads(saved.read_text())
    before["modes"][0]["per_query"]["q1"] = 0.5
    saved.write_text(json.dumps(before))
    report = run(collection, Request(modes=("lexical",), baseline=saved))
    assert [change.query_id for change in report.comparisons[0].better] == ["q1"]
    assert report.comparisons[0].difference == pytest.approx(0.125)
    assert report.ok

    before["modes"][0]["per_query"] = dict.fromkeys(before["modes"][0]["per_query"], 1.0)
    (collection / "queries.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"q{n}", "text": "zebra"}) for n in range(len(TOPICS)))
    )
    saved.write_text(json.dumps(before))
    worse = run(collection, Request(modes=("lexical",), baseline=saved))
    assert worse.comparisons[0].is_worse
    assert not worse.ok
    assert "worse" in as_text(worse)


def test_a_cached_store_is_found_again(collection: Path, tmp_path: Path) -> None:
    first = run(collection, Request(modes=("lexical",), cache=tmp_path / "cache"))
    second = run(collection, Request(modes=("lexical",), cache=tmp_path / "cache"))
    assert first.modes[0].means == second.modes[0].means
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_golden_file_judges_a_store(tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    rows = [
        {"id": "install", "query": "install git", "relevant": ["notes/git.md"]},
        {"id": "none", "query": "zebra", "no_answer": True},
    ]
    golden.write_text("\n".join(map(json.dumps, rows)))
    with kb.open(tmp_path / "store") as base:
        base.put([kb.Document(path="notes/git.md", text="how to install git"), kb.Document(path="b.md", text="bread")])
        report = run(golden, Request(modes=("lexical",)), base=base)
    assert report.modes[0].means["success@1"] == 1.0
    assert report.modes[0].rejected == (1, 1)
    assert "1 of 1 questions without an answer" in as_text(report)
    with pytest.raises(UsageError):
        run(golden)


def test_a_baseline_must_be_a_saved_run(collection: Path, tmp_path: Path) -> None:
    head = '{"schema_version": "eval_report.v1", "modes": [{"mode": "lexical", "per_query": '
    for content in (None, "{}", "no json", "[]", head + "3}]}", head + '{"q": "high"}}]}'):
        file = tmp_path / "baseline.json"
        if content is not None:
            file.write_text(content)
        with pytest.raises(UsageError):
            run(collection, Request(baseline=file))


def test_a_question_stays_within_its_paths(tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    row = {"query": "install git", "relevant": ["b/git.md"]}
    golden.write_text(json.dumps([row | {"id": "all"}, row | {"id": "inside", "within": "b/**"}]))
    with kb.open(tmp_path / "store", embedder="none") as base:
        near, far = "install git", "how to install git, among many other things that are told here"
        base.put([kb.Document(path="a/git.md", text=near), kb.Document(path="b/git.md", text=far)])
        report = run(golden, Request(modes=("lexical",)), base=base)
    assert report.modes[0].ranks == {"all": {"b/git.md": (2, 2, None)}, "inside": {"b/git.md": (1, 1, None)}}
