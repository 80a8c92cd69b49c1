"""Known-item queries: made of the store itself, each with one answer."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import kb
from kb.known import KnownItem, known_items
from kb.known.links import Places, links_in
from kb.types import StoredDocument
from tests.conftest import MakeBase

PAGES = {
    "docs/pods.md": "# Pods\n\n## Overview\n\nA pod is small.\n\n## Pod lifetime\n\nThe lifetime of a pod is short.",
    "docs/nodes/_index.md": "# Worker machines\n\n## Overview\n\nSee [how pods are placed](/docs/pods/#top) and "
    "[the picture](a.png), [elsewhere](https://example.com/docs/pods), [draining a node](drain.md).",
    "docs/nodes/drain.md": "# Draining\n\n## Rare words here\n\nNothing that the heading says. [the same page](drain.md)",
}


def items_of(base: kb.KB, limit: int = 300) -> list[KnownItem]:
    with base.store.snapshot() as snapshot:
        return known_items(snapshot, limit)


def found(items: list[KnownItem], kind: str, base: kb.KB) -> dict[str, str]:
    paths = {document.doc_id: document.path for document in base.list()}
    return {item.query: paths[item.doc_id] for item in items if item.kind == kind}


def test_texts_of_links_lead_to_documents_of_the_store(make_base: MakeBase) -> None:
    base = make_base(PAGES)
    links = found(items_of(base), "link", base)
    assert links == {"how pods are placed": "docs/pods.md", "draining a node": "docs/nodes/drain.md"}


def test_headings_lead_to_their_sections_unless_many_have_them_or_their_text_does_not(make_base: MakeBase) -> None:
    base = make_base(PAGES)
    items = items_of(base)
    assert found(items, "heading", base) == {"Pod lifetime": "docs/pods.md"}
    (section,) = (item for item in items if item.kind == "heading")
    with base.store.snapshot() as snapshot:
        texts = [chunk.chunk.text for chunk in snapshot.chunks(section.chunk_ids).values()]
    assert texts and all("lifetime" in text for text in texts)
    assert section.is_answered_by(section.doc_id, section.chunk_ids[0])
    assert not section.is_answered_by(section.doc_id, "another")


def test_a_query_that_several_things_answer_is_none(make_base: MakeBase) -> None:
    links = {"a.md": "[the long story](x.md)", "b.md": "[the long story](y.md)", "c.md": "[a short story](y.md)"}
    base = make_base(links | {"x.md": "# Ex\n\nNothing.", "y.md": "# Why\n\nNothing."})
    assert found(items_of(base), "link", base) == {"a short story": "y.md"}


def test_a_text_that_is_also_the_title_of_another_document_is_none(make_base: MakeBase) -> None:
    base = make_base(
        {"a.md": "[winter tyres](x.md)", "b.md": "# Winter tyres\n\nElsewhere.", "x.md": "# Ex\n\nNothing."}
    )
    assert "winter tyres" not in found(items_of(base), "link", base)


def test_words_that_name_nothing_are_no_queries(make_base: MakeBase, fruit: dict[str, str]) -> None:
    texts = {
        f"n{n}.md": f"[here](a.md) [filler](b.md) [{'x' * 130}](a.md) [what is it](a.md) [p{n}](a.md)" for n in range(9)
    }
    base = make_base(fruit | texts)
    links = found(items_of(base), "link", base)
    assert not {"here", "filler", "what is it", "x" * 130} & set(links)


def test_names_in_code_are_split_into_words_and_lead_to_what_defines_them(tmp_path: Path, make_base: MakeBase) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "a.py").write_text(
        "def read_all_files():\n    return 1\n\n\nclass TokenBucket:\n    limit = 3\n\n\ndef run():\n    pass\n"
    )
    base = make_base()
    assert base.add(folder).ok
    items = [item for item in items_of(base) if item.kind == "symbol"]
    assert [item.query for item in items] == ["read all files", "token bucket"]
    with base.store.snapshot() as snapshot:
        for item in items:
            (chunk,) = snapshot.chunks(item.chunk_ids).values()
            assert (chunk.chunk.symbol or "").lower().replace("_", "") == item.query.replace(" ", "")


def test_the_sample_is_the_same_each_time_in_both_stores_and_grows_with_the_limit(
    make_base: MakeBase, tmp_path: Path
) -> None:
    texts = {
        f"t{n}.md": f"# About topic{n}\n\nThe topic{n} is told here. [go on to part {n}](t{(n + 1) % 40}.md)"
        for n in range(40)
    }
    base = make_base(texts)
    everything = items_of(base)
    assert everything == items_of(base)
    few = items_of(base, 10)
    assert len(few) == 10
    assert {item.query for item in few} <= {item.query for item in everything}
    assert {item.kind for item in few} == {"link", "title"}
    memory = kb.open("memory:", embedder=base.engine.embedder(None))
    memory.put([kb.Document(path=path, text=text) for path, text in texts.items()])
    assert items_of(memory) == everything


def test_a_store_without_anything_to_ask_gives_nothing(make_base: MakeBase) -> None:
    assert items_of(make_base()) == []
    with make_base({"a.md": "# A\n\nTo be or not to be."}, name="b").store.snapshot() as snapshot:
        assert known_items(snapshot) == []


def test_only_the_collection_that_is_named(make_base: MakeBase) -> None:
    records = [
        kb.Document(path="a.md", text="[a long way](b.md)", collection="one"),
        kb.Document(path="b.md", text="# Bee\n\nNothing."),
        kb.Document(path="b.md", text="# Bee\n\nNothing.", collection="one"),
    ]
    base = make_base(records)
    with base.store.snapshot() as snapshot:
        (item,) = (item for item in known_items(snapshot, collection="one") if item.kind == "link")
        assert snapshot.documents([item.doc_id])[item.doc_id].collection == "one"
        assert known_items(snapshot, collection="default") == []


@pytest.mark.parametrize(
    ("target", "source", "leads_to"),
    [
        ("b.md", "docs/a.md", "docs/b.md"),
        ("./b.md#part", "docs/a.md", "docs/b.md"),
        ("../docs/b.md?x=1", "docs/a.md", "docs/b.md"),
        ("b/", "docs/a.md", "docs/b.md"),
        ("../b/", "docs/a.md", "docs/b.md"),  # on a site a page is a folder
        ("/docs/c/", "deep/docs/a.md", "docs/c/_index.md"),
        ("/c/", "docs/a.md", "docs/c/_index.md"),  # the store's root lies above that of the site
        ("with%20space.md", "docs/a.md", "docs/with space.md"),
        ("a.md", "docs/a.md", None),
        ("#part", "docs/a.md", None),
        ("../../../etc/passwd", "docs/a.md", None),
        ("https://x.org/docs/b.md", "docs/a.md", None),
        ("//x.org/docs/b.md", "docs/a.md", None),
        ("mailto:b.md", "docs/a.md", None),
        ("", "docs/a.md", None),
    ],
)
def test_where_links_lead(target: str, source: str, leads_to: str | None) -> None:
    paths = ("docs/a.md", "deep/docs/a.md", "docs/b.md", "docs/c/_index.md", "docs/with space.md")
    places = Places.of([StoredDocument(doc_id=path, path=path, title="", type="markdown") for path in paths])
    assert places.resolve(target, source) == leads_to


def test_links_are_read_in_linear_time() -> None:
    started = time.perf_counter()
    for text in ("[" * 100_000, "[a](" * 50_000, "[a" * 100_000, "[ab](" + "x" * 100_000):
        assert list(links_in(text)) == [] or len(text) > 1000
    assert time.perf_counter() - started < 5
