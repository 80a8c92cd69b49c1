"""L: lexical retrieval with citations (profile `strict`)."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import kb
from kb import render
from kb.errors import QueryError
from kb.search.engine import ModeRetriever
from kb.types import Query
from tests.conftest import MakeBase


def search(base: kb.KB, query: str, **more):  # type: ignore[no-untyped-def]
    return base.search(query, profile="strict", mode="lexical", **more)


def test_L01_three_retrievers_that_callers_cannot_tell_apart(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    for mode in ("lexical", "vector", "hybrid"):
        retriever: kb.Retriever = ModeRetriever(base.engine, mode)  # type: ignore[arg-type]
        result = retriever.retrieve(Query("git", profile="strict"))
        assert result.hits[0].index_version == retriever.index_version
        assert [hit.rank for hit in result.hits] == list(range(1, result.returned + 1))


def test_L02_the_shown_score_is_bm25_bounded(make_base: MakeBase, fruit: dict[str, str]) -> None:
    result = search(make_base(fruit), "git", explain=True)
    raw = [told["lexical"]["bm25"] for told in result.trace["hits"]]
    assert raw == sorted(raw)
    assert all(value < 0 for value in raw)
    for hit, bm25 in zip(result.hits, raw, strict=True):
        assert hit.score == pytest.approx(abs(bm25) / (1 + abs(bm25)), abs=1e-5)
    assert 0 < result.hits[0].score <= 1


def test_L03_terms_are_joined_with_and(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    assert [hit.doc_path for hit in search(base, "install git").hits] == ["c.md"]
    assert search(base, "git zebra").returned == 0


def test_L03_single_quotes_pass_fts5_as_written(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    found = search(base, "'git NOT history'")
    assert [hit.doc_path for hit in found.hits] == ["c.md"]
    assert found.hits[0].retrieval.tier == "raw"
    for profile, alpha in itertools.product(("notes", "strict", "memory", "snippets"), (None, 0.0, 1.0)):
        found = base.search("'git NOT history'", profile=profile, alpha=alpha)
        assert [hit.doc_path for hit in found.hits] == ["c.md"], "nor does the vector leg bring in what is excluded"
    with pytest.raises(QueryError) as caught:
        search(base, "'git AND AND'")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("expression", "position"),
    [
        ("git AND AND", 8),
        ("git AND (", 9),
        ("(git))", 5),
        ('git "open', 4),
        ('"a" "b""c', 4),
        ("git OR nowhere:x", 7),
        ("NEAR(a b, x)", 10),
    ],
)
def test_L03_a_bad_expression_shows_where(make_base: MakeBase, expression: str, position: int) -> None:
    with pytest.raises(QueryError, match=f"at character {position + 1}:") as caught:
        search(make_base({"a.md": "git"}), f"'{expression}'")
    assert caught.value.details["position"] == position


def test_L03_double_quotes_are_an_exact_phrase(make_base: MakeBase) -> None:
    base = make_base({"a.md": "the quick brown fox", "b.md": "the brown quick fox"})
    assert [hit.doc_path for hit in search(base, '"quick brown"').hits] == ["a.md"]


def test_L04_the_snippet_is_a_piece_of_the_chunk(make_base: MakeBase) -> None:
    base = make_base({"a.md": "word " * 150 + "needle " + "word " * 100, "b.md": "other"})
    hit = search(base, "needle").hits[0]
    assert "needle" in hit.snippet
    assert len(hit.snippet) <= 220
    assert [hit.snippet[a:b] for a, b in hit.highlights] == ["needle"]


def test_L05_citations(make_base: MakeBase) -> None:
    base = make_base(
        [
            kb.Document("doc.md", "# Top\n\n## Part\n\nA line on zebras.\nAnd one more.\n"),
            kb.Document("one.txt", "zebras"),
            kb.Document("code.py", "import os\n\n\nclass Zoo:\n    def zebras(self):\n        return 1\n"),
        ]
    )
    cited = {hit.doc_path: hit.citation for hit in search(base, "zebras").hits}
    assert cited["one.txt"].uri == "one.txt#L1"
    doc = cited["doc.md"]
    assert (doc.kind, doc.section) == ("line", "Part")
    assert doc.uri == f"doc.md#L{doc.start}-L{doc.end}"
    code = cited["code.py"]
    assert (code.kind, code.lang) == ("code", "python")
    assert code.symbol in ("Zoo", "Zoo.zebras")


def test_L05_pages(make_base: MakeBase, tmp_path: Path) -> None:
    from tests.pdfs import two_pages

    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "paper.pdf").write_bytes(two_pages("first page on apples", "second page on zebras"))
    base = make_base()
    assert base.add(folder).added == 1
    hit = search(base, "zebras").hits[0]
    assert hit.citation.uri == "paper.pdf#p=2"
    assert hit.citation.page == 2
    assert hit.citation.kind == "page"


def test_L06_lexical_hits_have_no_vector_side(make_base: MakeBase, fruit: dict[str, str]) -> None:
    for rank, hit in enumerate(search(make_base(fruit), "git").hits, start=1):
        retrieval = hit.retrieval
        assert (retrieval.method, retrieval.lexical_rank) == ("lexical", rank)
        assert (retrieval.vector_score, retrieval.vector_rank) == (None, None)
        assert retrieval.fusion_score == retrieval.lexical_score == hit.score


def test_L07_filters(make_base: MakeBase) -> None:
    base = make_base(
        [
            kb.Document("a/x.md", "zebra", tags=["red"], lang="en", trust="primary"),
            kb.Document("a/b/y.md", "zebra", tags=["blue"], lang="de", trust="secondary"),
            kb.Document("z.md", "zebra", tags=["red", "blue"], lang="en", trust="generated"),
        ]
    )

    def found(**more: object) -> set[str]:
        return {hit.doc_path for hit in search(base, "zebra", **more).hits}

    assert found(tags_any=["red"]) == {"a/x.md", "z.md"}
    assert found(tags_any=["red", "blue"]) == {"a/x.md", "a/b/y.md", "z.md"}
    assert found(lang="de") == {"a/b/y.md"}
    assert found(path="a/*.md") == {"a/x.md"}
    assert found(path="a/**") == {"a/x.md", "a/b/y.md"}
    assert found(path="*.md") == {"z.md"}
    assert found(path="**/*.md") == {"a/x.md", "a/b/y.md", "z.md"}
    assert found(trust_min="secondary") == {"a/x.md", "a/b/y.md"}
    assert found(trust_min="generated") == {"a/x.md", "a/b/y.md", "z.md"}


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "?!", '""'])
def test_L08_an_empty_query_finds_nothing_and_is_no_error(
    make_base: MakeBase, fruit: dict[str, str], query: str
) -> None:
    base = make_base(fruit)
    for mode in ("hybrid", "lexical", "vector"):
        result = base.search(query, mode=mode, profile="strict")
        assert (result.returned, result.next_cursor) == (0, None)


def test_L08_an_empty_store_answers(make_base: MakeBase) -> None:
    base = make_base()
    for mode in ("hybrid", "lexical", "vector"):
        assert base.search("git", mode=mode, profile="strict").returned == 0


def test_L09_searching_leaves_every_file_as_it_was(make_base: MakeBase, fruit: dict[str, str], tmp_path: Path) -> None:
    make_base(fruit).close()

    def hashes() -> dict[str, str]:
        return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted((tmp_path / "store").iterdir())}

    before = hashes()
    base = make_base()
    for query in ("git", "apples", "한국", "nothing like it"):
        for mode in ("hybrid", "lexical", "vector"):
            base.search(query, mode=mode)
    base.close()
    assert hashes() == before


def test_L10_the_same_order_in_another_process_at_any_hash_seed(
    make_base: MakeBase, fruit: dict[str, str], tmp_path: Path
) -> None:
    base = make_base(fruit)
    here = [(hit.chunk_id, hit.score) for hit in base.search("git history apples", profile="strict", top=30).hits]
    base.close()
    script = (
        f"import kb; base = kb.open({str(tmp_path / 'store')!r}, embedder='hashing:64');"
        "print([(h.chunk_id, h.score) for h in base.search('git history apples', profile='strict', top=30).hits])"
    )
    for seed in ("0", "4711"):
        run = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert run.stdout.strip() == str(here)


def test_L11_hits_conform_to_the_shipped_schema(make_base: MakeBase, fruit: dict[str, str]) -> None:
    from importlib import resources

    base = make_base(fruit)
    schemas = resources.files("kb").joinpath("schemas")
    from referencing import Registry, Resource

    loaded = [json.loads(item.read_text()) for item in schemas.iterdir() if item.name.endswith(".json")]
    registry = Registry().with_resources([(item["$id"], Resource.from_contents(item)) for item in loaded])
    response = next(item for item in loaded if "search_response" in item["$id"])
    validator = jsonschema.Draft202012Validator(response, registry=registry)
    for mode in ("hybrid", "lexical", "vector"):
        for profile in ("notes", "strict", "memory", "snippets"):
            for explain in (False, True):
                result = base.search("git history", mode=mode, profile=profile, explain=explain, top=3)
                validator.validate(json.loads(render.to_json(render.response(result))))


def test_L12_raw_bm25_appears_only_under_explain(make_base: MakeBase, fruit: dict[str, str]) -> None:
    base = make_base(fruit)
    plain = render.to_json(render.response(search(base, "git")))
    told = render.to_json(render.response(search(base, "git", explain=True)))
    name = "bm25"
    assert f'"{name}":-' not in _text(plain)
    assert f'"{name}":-' in _text(told)
    for hit in search(base, "git").hits:
        assert 0 <= hit.score <= 1


def _text(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode()
