"""What a user marks is kept beside the store, as a golden file that `kb eval` reads."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import kb
from kb import evaluate
from kb.errors import NotFound, UsageError
from kb.evaluate import judged
from kb.marks import LOCK, NAME, Mark
from kb.store.sqlite.lease import lease
from tests.conftest import MakeBase


def file_of(base: kb.KB) -> Path:
    return Path(base.status().location) / NAME


def test_marks_are_kept_and_read_back(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    base.mark("c.md", "  install   git ")
    base.mark("d.md#L1", "install git", good=False)
    assert base.mark.list() == (Mark("install git", "c.md", 1.0), Mark("install git", "d.md#L1", 0.0))
    again = make_base()
    assert again.mark.list() == base.mark.list()


def test_the_later_of_two_marks_counts(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    base.mark("c.md", "install git")
    base.mark("c.md", "install git", good=False)
    assert base.mark.list() == (Mark("install git", "c.md", 0.0),)
    (question,) = judged.read(file_of(base)).queries
    assert question.grades == {"c.md": 0.0}
    assert not question.can_be_measured


def test_the_file_can_be_evaluated_and_one_question_counts_once(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    base.mark("c.md", "install git")
    base.mark("d.md", "install git")
    base.mark("a.md", "oven", good=False)  # nothing is known to answer this: it cannot be measured
    report = evaluate.run(file_of(base), evaluate.Request(modes=("lexical",)), base=base)
    assert report.modes[0].queries == 1
    assert report.modes[0].means["recall@10"] == 1.0


def test_questions_with_ids_stay_apart(tmp_path: Path) -> None:
    rows = [{"id": "a", "query": "git", "relevant": ["x"]}, {"id": "b", "query": "git", "relevant": ["y"]}]
    (tmp_path / "golden.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert [question.id for question in judged.read(tmp_path).queries] == ["a", "b"]


def test_a_mark_can_be_taken_back(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    base.mark("c.md", "install git")
    base.mark("d.md", "install git")
    own = '{"id": "mine", "query": "pie", "relevant": ["b.md", "a.md"], "note": "kept"}'
    file_of(base).write_text(file_of(base).read_text(encoding="utf-8") + own, encoding="utf-8")
    assert base.mark.remove("c.md", "install git") == 1
    assert base.mark.remove("a.md", "pie") == 1
    assert [mark.place for mark in base.mark.list()] == ["d.md", "b.md"]
    assert '"note": "kept"' in file_of(base).read_text(encoding="utf-8")
    with pytest.raises(NotFound):
        base.mark.remove("c.md", "install git")


def test_only_what_is_in_the_store_can_be_marked(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    for path in ("nowhere.md", "c.md#L900-L901"):
        with pytest.raises(NotFound):
            base.mark(path, "install git")
    with pytest.raises(UsageError):
        base.mark("filler", "install git")  # a folder of thirty
    with pytest.raises(UsageError):
        base.mark("c.md", "  ")
    assert not file_of(base).exists()


def test_a_chunk_is_marked_by_its_lines(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    hit = base.search("install git", top=1).hits[0]
    assert base.mark(hit.chunk_id, "install git").place == hit.citation.uri


def test_a_store_without_a_folder_keeps_no_marks() -> None:
    base = kb.open("memory:")
    with pytest.raises(UsageError):
        base.mark.list()


def test_a_line_that_a_crash_cut_short_goes_and_one_without_an_end_stays(
    make_base: MakeBase, fruit: dict[str, str]
) -> None:
    base = make_base(fruit)
    base.mark("c.md", "install git")
    whole = file_of(base).read_bytes()
    file_of(base).write_bytes(whole + b'{"query": "' + b"a long question " * 20)
    base.mark("d.md", "install git")
    assert [mark.place for mark in base.mark.list()] == ["c.md", "d.md"]
    file_of(base).write_bytes(whole.rstrip(b"\n"))
    base.mark("e.md", "install git")
    assert [mark.place for mark in base.mark.list()] == ["c.md", "e.md"]


def test_a_damaged_file_is_named(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    file_of(base).write_text('{"query": "x", "relevant": ["c.md"]}\nnot json\n')
    with pytest.raises(UsageError, match="line 2"):
        base.mark.list()


def test_a_mark_waits_for_the_one_before_it(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    waiting = threading.Thread(target=lambda: base.mark("c.md", "install git"))
    with lease(file_of(base).with_name(LOCK), 1.0):
        waiting.start()
        waiting.join(0.3)
        assert not file_of(base).exists()
    waiting.join(10)
    assert len(base.mark.list()) == 1


def test_many_may_mark_at_once(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    threads = [
        threading.Thread(target=lambda n=n: [base.mark("c.md", f"question {n} {m}") for m in range(5)])  # type: ignore[misc]
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(base.mark.list()) == 40
