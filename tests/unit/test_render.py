"""The wire format: key order, fields by kind, and bytes that every JSON reader accepts."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from kb import render
from kb.errors import MissingExtra, QueryError
from kb.types import (
    AddReport,
    CheckReport,
    Citation,
    Hit,
    Issue,
    Leg,
    ModelInfo,
    Passage,
    Problem,
    Progress,
    Retrieval,
    SearchResult,
    Status,
    StoredDocument,
)
from tests.cli.wire import names, schema, validate

LINE = Citation("line", "a.md#L3-L9", "a.md", "Setup", start=3, end=9)
PAGE = Citation("page", "a.pdf#p=3", "a.pdf", None, page=3)
CODE = Citation("code", "a.py#L3", "a.py", "f", start=3, end=3, symbol="f", lang="python")
HIT = Hit(
    rank=1,
    score=0.0325,
    score_kind="rrf",
    chunk_id="c" * 32,
    doc_id="d" * 32,
    doc_path="a.md",
    title="A",
    type="markdown",
    kind="info",
    collection="default",
    tags=("x",),
    heading_path=("Setup",),
    section_label="Setup",
    snippet="install git",
    highlights=((0, 7),),
    citation=LINE,
    retrieval=Retrieval("hybrid", 1.0, 0.0325, 0.5, None, 1, None, None, "fts"),
    index_version="hybrid:fts5-2+static@abc",
    chunker_version="md-1",
    embedding_model="static@abc",
    indexed_at="2026-01-31T00:00:00Z",
    stale=False,
)
LEG = Leg("fts5", True, "fts", 3, 0.5)
RESULT = SearchResult("git", "hybrid", "notes", (HIT,), None, False, LEG, replace(LEG, tier=None), 7, (), 1.5)


def order(text: str) -> list[str]:
    return text.replace(",", " ").split()


def test_keys_of_a_response_come_in_the_order_of_the_contract() -> None:
    assert list(render.response(RESULT)) == order(
        "schema_version, query, mode, profile, returned, hits next_cursor, truncated, legs revision, warnings took_ms"
    )
    assert list(render.response(replace(RESULT, trace={}))) == [*render.response(RESULT), "trace"]


def test_keys_of_a_hit_come_in_the_order_of_the_contract() -> None:
    keys = order(
        "schema_version, rank score, score_kind, chunk_id, doc_id, doc_path, title, type, kind, collection, tags "
        "heading_path section_label snippet, highlights citation retrieval index_version, chunker_version, "
        "embedding_model indexed_at, stale"
    )
    assert list(render.hit(HIT)) == keys
    assert list(render.hit(replace(HIT, version="2", source="/a", repo="r"))) == [*keys, "source", "repo", "version"]


def test_a_citation_has_the_fields_of_its_kind_and_no_others() -> None:
    assert list(render.citation(LINE)) == ["kind", "uri", "path", "start", "end", "section"]
    assert list(render.citation(PAGE)) == ["kind", "uri", "path", "page", "section"]
    assert list(render.citation(CODE)) == ["kind", "uri", "path", "start", "end", "symbol", "lang", "section"]


@pytest.mark.parametrize("citation", [LINE, PAGE, CODE], ids=lambda c: c.kind)
def test_a_response_is_valid_whatever_it_cites(citation: Citation) -> None:
    validate(render.response(replace(RESULT, hits=(replace(HIT, citation=citation),))))


def test_a_leg_that_did_not_run_says_why() -> None:
    sat_out = Leg("none", False, None, 0, 0.0, "the mode is lexical")
    assert render.leg(sat_out)["reason"] == "the mode is lexical"
    assert "reason" not in render.leg(LEG)
    validate(render.response(replace(RESULT, vector=sat_out)))


def test_a_hit_is_the_same_inside_a_response_and_alone() -> None:
    response, alone = schema("search_response.v1"), schema("search_hit.v1")
    inside = response["$defs"]["search_hit"]
    assert {name: inside[name] for name in ("required", "properties")} == {
        name: alone[name] for name in ("required", "properties")
    }
    assert response["$defs"]["citation"] == alone["$defs"]["citation"]
    validate(render.hit(HIT))


@pytest.mark.parametrize("name", names())
def test_every_schema_is_one_and_stays_open(name: str) -> None:
    found = schema(name)
    Draft202012Validator.check_schema(found)
    assert found["properties"]["schema_version"] == {"const": name}
    assert "additionalProperties" not in found, "v1 gains optional fields"
    assert "schema_version" in found["required"]


@pytest.mark.parametrize("name", schema("search_hit.v1")["required"])
def test_L11_a_hit_without_a_required_field_is_invalid(name: str) -> None:
    broken = {key: value for key, value in render.hit(HIT).items() if key != name}
    assert not Draft202012Validator(schema("search_hit.v1")).is_valid(broken)


@pytest.mark.parametrize(
    "citation",
    [
        render.citation(LINE) | {"page": 3},
        render.citation(PAGE) | {"start": 3},
        {key: value for key, value in render.citation(CODE).items() if key != "symbol"},
        render.citation(LINE) | {"uri": "a.md"},
        render.citation(LINE) | {"start": 0},
    ],
)
def test_a_citation_of_mixed_kinds_is_invalid(citation: dict[str, object]) -> None:
    assert not Draft202012Validator(schema("search_hit.v1")).is_valid(render.hit(HIT) | {"citation": citation})


def test_reports_are_valid() -> None:
    issue = Issue("a.pdf", "broken", "it is cut off")
    model = ModelInfo("static", "abc", 256)
    document = StoredDocument("d", "a.md", "A", "markdown", tags=("x",), indexed_at="2026-01-31T00:00:00Z")
    status = Status("/s", "sqlite", 1, 7, 1, 3, 3, 4096, model, "static", 0, {"markdown": 1}, {"default": 1}, {"x": 1})
    passage = Passage("d", "a.md", "A", "text", LINE, "c")
    for value in (
        render.add_report(AddReport(added=1, failed=(issue,), skipped=(issue,), warnings=("w",), interrupted=True)),
        render.progress(Progress("document", "a.md", 1, 2, 3)),
        render.progress(Progress("scan")),
        render.status(status),
        render.status(replace(status, model=None, embedder=None, last_indexed_at="2026-01-31T00:00:00Z")),
        render.documents([document], following="d"),
        render.passages("a.md", [replace(passage, before=(passage,), after=(replace(passage, citation=PAGE),))]),
        render.check_report(CheckReport((Problem("orphan", "x", False),), {"chunks": 3}, ("x",))),
        render.remove_report(3),
        render.export_report("x.gz", 3),
        render.config("/c", [("a", None, "default"), ("b", 0.5, "file"), ("c", True, "KB_C")]),
        render.error(QueryError("no", fix="yes", details={"at": 3})),
        render.error(MissingExtra("minilm")),
    ):
        validate(json.loads(render.to_json(value)))


# ---------------------------------------------------------------- bytes


def test_one_document_is_one_line() -> None:
    data = render.to_json({"a": "line\nbreak \u2028 \x00 \x1b", "b": [1, 2.5, None, True]})
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert b"\x1b" not in data
    assert json.loads(data) == {"a": "line\nbreak \u2028 \x00 \x1b", "b": [1, 2.5, None, True]}


def test_what_could_steer_a_terminal_is_escaped_and_loses_nothing() -> None:
    text = "".join(map(chr, range(0x20))) + "\x7f\x80\x9b\x9f\u2028\u202e\u2066한"
    data = render.to_json({"a": text})
    assert json.loads(data) == {"a": text}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", data.decode())


def test_text_is_utf8_and_not_escaped() -> None:
    assert render.to_json({"a": "한국어"}) == '{"a":"한국어"}\n'.encode()


def test_lone_surrogates_become_the_replacement_character() -> None:
    data = render.to_json({"path\udc80": ["a\udcffb", "\ud800"]})
    assert json.loads(data.decode("utf-8", "strict")) == {"path\ufffd": ["a\ufffdb", "\ufffd"]}


def test_numbers_are_what_json_knows() -> None:
    data = render.to_json({"zero": -0.0, "nan": math.nan, "inf": -math.inf, "deep": [{"x": math.nan}], "n": 3})
    assert data == b'{"zero":0.0,"nan":null,"inf":null,"deep":[{"x":null}],"n":3}\n'


def test_sets_have_an_order() -> None:
    assert render.to_json({"a": {"z", "b", "k"}}) == b'{"a":["b","k","z"]}\n'


def test_same_value_same_bytes() -> None:
    assert render.to_json(render.response(RESULT)) == render.to_json(render.response(replace(RESULT)))
