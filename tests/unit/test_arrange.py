"""Per document, variety, neighbours, sections and budgets, asked of a whole knowledge base."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import kb
from kb import render
from kb.config import Settings
from kb.embed.hashing import HashingEmbedder
from kb.errors import UsageError
from kb.types import Hit, Mode, Query, Shape
from tests.cli.wire import validate
from tests.conftest import MakeBase

FRUIT = ("apple", "pear", "plum", "cherry")
ALL = Shape(per_doc=3, mmr=0.6, merge=True, parent=True)
SHAPES = (Shape(per_doc=1), Shape(mmr=0.5), Shape(merge=True), Shape(parent=True), ALL)


def book(number: int) -> str:
    """A document of several sections, of which some are longer than a chunk."""
    parts = [f"# Book {number}", ""]
    for n in range(6):
        parts += [f"## Part {n}", ""]
        parts += [
            f"The {FRUIT[(n + number) % 4]} of part {n}, line {line}, book {number}." for line in range(4 + 18 * n)
        ]
        parts.append("")
    return "\n".join(parts)


@pytest.fixture
def books() -> dict[str, str]:
    return {f"{n:02d}.md": book(n) for n in range(30)}


def pages(base: kb.KB, text: str, shape: Shape, top: int, budget: int | None = None) -> list[Hit]:
    found: list[Hit] = []
    cursor = None
    while True:
        page = base.search(Query(text, top=top, shape=shape, cursor=cursor, budget=budget))
        found += page.hits
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_a_short_answer_begins_a_long_one(make_base: MakeBase, books: dict[str, str], shape: Shape) -> None:
    base = make_base(books)
    bare = replace(shape, parent=False)
    long = base.search(Query("apple part", top=100, shape=bare)).hits
    for top in (1, 10, 37):
        assert base.search(Query("apple part", top=top, shape=bare)).hits == long[:top]


@pytest.mark.parametrize("budget", [None, 150, 700])
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_pages_never_repeat_or_skip(
    make_base: MakeBase, books: dict[str, str], shape: Shape, budget: int | None
) -> None:
    base = make_base(books)
    everything = base.search(Query("pear book", top=100, shape=shape)).hits
    found = pages(base, "pear book", shape, 17, budget)
    assert sorted(hit.rank for hit in found) == list(range(1, len(found) + 1))
    if budget is None:
        assert [hit.chunk_id for hit in found[: len(everything)]] == [hit.chunk_id for hit in everything]
    chunks = [name for hit in found for name in hit.merged or (hit.chunk_id,)]
    assert len(chunks) == len(set(chunks)), "one chunk, one hit"


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_the_memory_store_agrees(make_base: MakeBase, books: dict[str, str], shape: Shape) -> None:
    base = make_base(books)
    with kb.open("memory:", settings=Settings(), embedder=HashingEmbedder(64)) as oracle:
        oracle.put([kb.Document(path, text) for path, text in books.items()])
        for text in ("plum", "cherry of part 3"):
            ours, theirs = (side.search(Query(text, top=30, shape=shape)).hits for side in (base, oracle))
            assert [replace(h, indexed_at="") for h in ours] == [replace(h, indexed_at="") for h in theirs]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector"])
def test_at_most_so_many_hits_of_a_document(make_base: MakeBase, books: dict[str, str], mode: Mode) -> None:
    hits = make_base(books).search("apple", top=100, per_doc=2, mode=mode).hits
    counts = {path: sum(hit.doc_path == path for hit in hits) for path in books}
    assert max(counts.values()) == 2
    assert hits[0].rank == 1


def test_variety_without_vectors_goes_by_words(make_base: MakeBase) -> None:
    same = {f"{n}.md": "apple pie with cream and sugar" for n in range(5)}
    base = make_base(
        same | {"z.md": "an apple fell on the head of Newton, who then thought of gravity"}, embedder="none"
    )
    assert [hit.doc_path for hit in base.search("apple").hits][-1] == "z.md"
    varied = base.search("apple", mmr=0.5).hits
    assert varied[1].doc_path == "z.md"
    assert [hit.rank for hit in varied] == list(range(1, 7))


def test_merged_hits_cite_all_of_their_lines(make_base: MakeBase, tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.md").write_text(book(n), encoding="utf-8")
    base = make_base()
    base.add(folder)
    hits = base.search("plum book", merge=True, parent=True, top=50).hits
    assert any(len(hit.merged) > 1 for hit in hits)
    for hit in hits:
        lines = (folder / hit.doc_path).read_text(encoding="utf-8").split("\n")
        cited = "\n".join(lines[hit.citation.start - 1 : hit.citation.end])
        parts = [base.get(name)[0].text for name in hit.merged or (hit.chunk_id,)]
        assert all(part in cited for part in parts)
        assert hit.snippet in base.get(hit.chunk_id)[0].text
        assert hit.chunk_id in (hit.merged or (hit.chunk_id,))
        assert len(hit.snippet) <= 220
        around = hit.parent
        assert around is not None
        assert (around.citation.start or 0) <= (hit.citation.start or 0)
        assert (around.citation.end or 0) >= (hit.citation.end or 0)
        section = "\n".join(lines[around.citation.start - 1 : around.citation.end])
        assert around.text is None or around.text == section
    given = [hit.parent.citation.uri for hit in hits if hit.parent and hit.parent.text]
    assert len(given) == len(set(given)), "no section comes twice"
    assert {hit.parent.citation.uri for hit in hits if hit.parent} == set(given)


def test_pages_of_a_pdf_stay_apart(make_base: MakeBase, tmp_path: Path) -> None:
    from tests.pdfs import two_pages

    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "paper.pdf").write_bytes(two_pages("zebras on the first page", "zebras on the second page"))
    base = make_base()
    base.add(folder)
    hits = base.search("zebras page", merge=True, parent=True).hits
    assert sorted(hit.citation.page or 0 for hit in hits) == [1, 2]
    for hit in hits:
        assert hit.parent is not None
        assert hit.parent.citation.page == hit.citation.page
        assert hit.parent.citation.uri.endswith(f"#p={hit.citation.page}")


def test_the_parent_of_a_method_is_its_class(make_base: MakeBase) -> None:
    methods = "".join(f"    def method_{n}(self):\n        return {n}\n\n" for n in range(3))
    code = f"import os\n\n\nclass Zoo:\n{methods}\n\ndef apart():\n    return os.name\n"
    hit = make_base({"zoo.py": code}).search("apart", parent=True, mode="lexical").hits[0]
    assert hit.parent is not None
    assert "class Zoo" not in (hit.parent.text or "")


def test_a_budget_gives_whole_texts_while_there_is_room(make_base: MakeBase, books: dict[str, str]) -> None:
    base = make_base(books)
    roomy = base.search("apple part", budget=20_000)
    assert not roomy.truncated
    for hit in roomy.hits:
        text = base.get(hit.chunk_id)[0].text
        assert (hit.text or hit.snippet) == (text if hit.text else text.strip())
    narrow = base.search("apple part", budget=600)
    assert narrow.truncated
    assert narrow.next_cursor
    assert all(hit.text is None for hit in base.search("apple part").hits)


def test_answers_of_every_shape_are_valid(make_base: MakeBase, books: dict[str, str]) -> None:
    base = make_base(books)
    for shape in SHAPES:
        result = base.search(Query("apple part", shape=shape, budget=3000, explain=True))
        validate(json.loads(render.to_json(render.response(result))))


def test_explain_says_where_a_hit_stood_before(make_base: MakeBase, books: dict[str, str]) -> None:
    base = make_base(books)
    fused = [hit.chunk_id for hit in base.search("apple part", top=100).hits]
    told = base.search("apple part", mmr=0.3, explain=True).trace
    assert told is not None
    for each in told["arranged"]["hits"]:
        assert fused[each["before"] - 1] == each["chunk_id"]
    assert "arranged" not in (base.search("apple part", explain=True).trace or {})


@pytest.mark.parametrize("wrong", [{"per_doc": 0}, {"mmr": 1.5}, {"mmr": -0.1}, {"mmr": float("nan")}])
def test_values_that_make_no_sense(make_base: MakeBase, wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError) as caught:
        make_base({"a.md": "x"}).search("x", **wrong)  # type: ignore[arg-type]
    assert re.match("--(per-doc|mmr)", caught.value.fix)
