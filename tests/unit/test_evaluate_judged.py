"""Reading collections and golden files, and which hits count as an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kb.errors import UsageError
from kb.evaluate.judged import path_of, read
from kb.evaluate.rank import gains, is_relevant, positions
from kb.types import Citation, Hit, Retrieval


def hit(path: str, *, lines: tuple[int, int] = (1, 1), page: int | None = None) -> Hit:
    citation = Citation("line", f"{path}#L{lines[0]}", path, None, start=lines[0], end=lines[1])
    if page is not None:
        citation = Citation("page", f"{path}#p={page}", path, None, page=page)
    detail = Retrieval("lexical", 1.0, None, 0.5, None, 1, None, None, "fts")
    return Hit(
        rank=1,
        score=1.0,
        score_kind="bm25",
        chunk_id=f"{path}{lines}{page}",
        doc_id=path,
        doc_path=path,
        title=path,
        type="note",
        kind="info",
        collection="default",
        tags=(),
        heading_path=(),
        section_label=None,
        snippet="",
        highlights=(),
        citation=citation,
        retrieval=detail,
        index_version="lexical:1",
        chunker_version="1",
        embedding_model=None,
        indexed_at="",
        stale=False,
    )


def beir(folder: Path, qrels: str = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq3\td1\t0\n") -> Path:
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Git", "text": "install git"}\n{"_id": "d2", "title": "", "text": "bake bread"}\n'
    )
    queries = [{"_id": "q1", "text": "git"}, {"_id": "q2", "text": "unjudged"}, {"_id": "q3", "text": "only a zero"}]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.tsv").write_text(qrels)
    return folder


def test_a_beir_folder(tmp_path: Path) -> None:
    judged = read(beir(tmp_path))
    assert [query.id for query in judged.queries] == ["q1"]  # the others have no positive judgement
    assert judged.queries[0].grades == {"d1": 2.0, "d2": 0.0}
    documents = list(judged.documents())
    assert [(d.path, d.title, d.text) for d in documents] == [("d1", "Git", "install git"), ("d2", None, "bake bread")]


def test_qrels_in_the_layout_of_trec_and_without_a_header(tmp_path: Path) -> None:
    assert read(beir(tmp_path, "q1 0 d2 1\n")).queries[0].grades == {"d2": 1.0}


@pytest.mark.parametrize("broken", ["qrels.tsv", "corpus.jsonl", "queries.jsonl"])
def test_a_missing_file_is_named(tmp_path: Path, broken: str) -> None:
    (beir(tmp_path) / broken).unlink()
    with pytest.raises(UsageError) as caught:
        read(tmp_path)
    assert "corpus.jsonl" in caught.value.fix


@pytest.mark.parametrize("name", ["golden.json", "golden.jsonl"])
def test_a_golden_file(tmp_path: Path, name: str) -> None:
    rows = [{"query": "git", "relevant": ["a.md#L3-L9"], "within": "notes/**"}, {"query": "x", "no_answer": True}]
    text = json.dumps(rows) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
    (tmp_path / name).write_text(text)
    judged = read(tmp_path / name)
    assert judged.corpus is None
    assert judged.queries[0].grades == {"a.md#L3-L9": 1.0}
    assert judged.queries[0].within == "notes/**"
    assert judged.queries[1].no_answer
    assert read(tmp_path).queries == judged.queries


@pytest.mark.parametrize("row", ['{"query": "x"}', '{"relevant": ["a"]}', "{", '{"query": "x", "relevant": "a.md"}'])
def test_a_broken_golden_file_says_so(tmp_path: Path, row: str) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_text(row)
    with pytest.raises(UsageError):
        read(file)


def test_ids_become_paths() -> None:
    assert path_of("docs/concepts/pods") == "docs/concepts/pods"
    assert path_of("conv-26/D1:1") == "conv-26/D1:1"
    assert path_of("a?b\n") == "a%3Fb%0A"


def test_a_document_stands_where_its_best_chunk_does() -> None:
    hits = [hit("b.md"), hit("b.md", lines=(5, 9)), hit("notes/a.md"), hit("c.md")]
    assert gains(hits, {"a.md": 2.0, "c.md": 1.0}) == [0.0, 2.0, 1.0]


def test_places_must_overlap_and_count_once() -> None:
    hits = [hit("a.md", lines=(1, 4)), hit("a.md", lines=(8, 12)), hit("a.md", lines=(9, 20)), hit("p.pdf", page=2)]
    assert gains(hits, {"a.md#L9-L9": 1.0, "p.pdf#p=2": 1.0}) == [0.0, 1.0, 0.0, 1.0]
    assert gains([replace(hit("p.pdf"), citation=hit("p.pdf", page=1).citation)], {"p.pdf#L1": 1.0}) == [0.0]


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("a.md#L5", (1, 5)),
        ("a.md#L5", (5, 9)),
        ("a.md#L3-L9", (9, 20)),
        ("a.md#L3-9", (1, 3)),
        ("a.md#L9-L3", (4, 4)),
        ("a.md#L1-L99", (40, 41)),
    ],
)
def test_lines_overlap_when_they_share_one(place: str, lines: tuple[int, int]) -> None:
    assert gains([hit("notes/a.md", lines=lines)], {place: 1.0}) == [1.0]


@pytest.mark.parametrize(("place", "lines"), [("a.md#L5", (6, 9)), ("a.md#L3-L9", (1, 2)), ("b.md#L5", (5, 5))])
def test_lines_that_share_none_do_not_overlap(place: str, lines: tuple[int, int]) -> None:
    assert gains([hit("notes/a.md", lines=lines)], {place: 1.0}) == [0.0]


def test_the_best_of_two_places_in_one_chunk_counts() -> None:
    assert gains([hit("a.md", lines=(1, 20))], {"a.md#L2": 1.0, "a.md#L9": 3.0}) == [3.0]


def test_positions_are_the_best_rank_in_the_answer_and_in_each_leg() -> None:
    first, second, third = hit("b.md"), hit("a.md", lines=(5, 9)), hit("a.md")
    second = replace(second, retrieval=replace(second.retrieval, lexical_rank=7, vector_rank=2))
    third = replace(third, retrieval=replace(third.retrieval, lexical_rank=4, vector_rank=None))
    assert positions([first, second, third], {"a.md": 1.0, "b.md": 0.0, "c.md": 1.0}) == {"a.md": (2, 4, 2)}
    assert positions([first, second, third], {"a.md#L1": 1.0}) == {"a.md#L1": (3, 4, None)}


def test_every_chunk_of_a_relevant_document_is_relevant() -> None:
    assert is_relevant(hit("notes/a.md"), {"a.md": 2.0})
    assert not is_relevant(hit("notes/a.md"), {"a.md": 0.0, "b.md": 1.0})


def test_a_question_with_no_number_for_a_grade_says_so(tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    for grade in ('"high"', "NaN", "[1]"):
        file.write_text(f'{{"query": "x", "relevant": {{"a.md": {grade}}}}}')
        with pytest.raises(UsageError):
            read(file)
    file.write_text('{"query": "x", "relevant": ["a.md"], "within": 3}')
    with pytest.raises(UsageError):
        read(file)


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_text('{"id": "q", "query": "x", "relevant": ["a.md"]}\n' * 2)
    with pytest.raises(UsageError) as caught:
        read(file)
    assert "'q'" in caught.value.message
