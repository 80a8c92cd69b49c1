"""``kb why-not``: each cause is told, and what it suggests is a search that shows the document."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kb
from kb import render
from kb.cli.parse import parse
from kb.cli.search import question
from kb.cli.session import Session
from kb.config import Settings
from kb.embed.hashing import HashingEmbedder
from kb.errors import NotFound, QueryError, StaleCursor, UsageError
from kb.testing import entry
from kb.types import Chunk, Query, Shape, Span
from kb.whynot.command import argv, told
from kb.whynot.legs import nearest
from kb.whynot.values import WhyNot
from tests.cli.wire import validate
from tests.conftest import MakeBase

FILLER = [kb.Document(f"filler/{n:03d}.md", f"# Filler {n}\n\nNothing to see here, {n} of many.") for n in range(130)]
LONG = "# Manual\n\n## Install\n\n" + "Install the server first. " * 60 + "\n\n## Windows\n\n" + "Windows is odd. " * 90
DOCUMENTS = [
    *FILLER,
    kb.Document("git.md", "# Git\n\nInstall git with apt.", tags=("ops", "vcs"), date=date(2026, 1, 5), repo="tools"),
    kb.Document("gut.md", "# Guts\n\nGut feelings about git and git and git.", collection="other"),
    kb.Document("code/run.py", "def run():\n    return 'kubelet'\n", type="code", lang="python", version="2"),
    kb.Document("kubelet.md", "# Node agent\n\nThe kubelet runs on every node.", trust="secondary"),
    kb.Document("manual.md", LONG),
    kb.Document("2020-01-01.md", "# Diary\n\nWe talked of sourdough.", date=date(2020, 1, 1)),
    kb.Document("고양이.md", "# 고양이\n\n고양이는 잠을 잔다."),
    kb.Document("동물.md", "# 동물\n\n고양이와 강아지는 동물이다."),
]
LEXICAL = {"mode": "lexical"}


@dataclass(frozen=True)
class Case:
    """A search that does not show ``ref``, the first reasons for that, and the change that does."""

    ref: str
    query: str
    options: dict[str, Any]
    codes: tuple[str, ...]
    told: str | None  # begins one of the things to change

    @property
    def name(self) -> str:
        return f"{self.ref} {self.query} {self.options}"


CASES = [
    Case("git.md", "install git", {"tags": ("ops", "win")}, ("filter",), "without --tags ops,win"),
    Case("git.md", "install git", {"tags_any": ("win",)}, ("filter",), "without --tags-any"),
    Case("git.md", "install git", {"type": "pdf"}, ("filter",), "without --type"),
    Case("git.md", "install git", {"kind": "code"}, ("filter",), "without --kind"),
    Case("code/run.py", "kubelet", {"kind": "info"}, ("filter",), "without --kind"),
    Case("git.md", "install git", {"lang": "ko"}, ("filter",), "without --lang"),
    Case("git.md", "install git", {"path": "code/**"}, ("filter",), "without --path"),
    Case("git.md", "install git", {"collection": "other"}, ("filter",), "without --collection"),
    Case("git.md", "install git", {"repo": "mine"}, ("filter",), "without --repo"),
    Case("code/run.py", "kubelet", {"version": "1"}, ("filter",), "without --version"),
    Case("git.md", "install git", {"since": "2026-02-01"}, ("filter",), "without --since"),
    Case("git.md", "install git", {"before": "2026-01-05"}, ("filter",), "without --before"),
    Case("kubelet.md", "kubelet", {"trust_min": "primary"}, ("filter",), "without --trust-min"),
    Case("git.md", "git", {"type": "pdf", "tags": ("win",)}, ("filter", "filter"), "without --type"),
    Case("gut.md", "git", {"top": 1, **LEXICAL}, ("top",), "with --top 2"),
    Case("git.md", "git", {"threshold": 0.99, **LEXICAL}, ("threshold",), "with --threshold 0."),
    Case("git.md", "git", {"profile": "memory", "min_score": 0.9}, ("min_score",), "with --min-score 0."),
    Case("2020-01-01.md", "sourdough", {"profile": "memory", "threshold": 0.1}, ("threshold", "decay"), None),
    Case("manual.md#L5", "install windows", {"per_doc": 1, **LEXICAL}, ("per_doc",), "with --per-doc 2"),
    Case("git.md", "kubelets'", LEXICAL, ("words", "no_vector_leg"), "with --mode hybrid"),
    Case("kubelet.md", "kublet", LEXICAL | {"profile": "strict"}, ("words", "near_words"), "with the words kubelet"),
    Case("manual.md", "windows server", LEXICAL | {"profile": "strict"}, ("chunking",), "with --profile notes"),
    Case("git.md", "install the git", LEXICAL | {"profile": "strict"}, ("all_words",), "with --profile notes"),
    Case("kubelet.md", "zebra git kubelet", {"profile": "strict", "top": 1}, ("top", "all_words"), "with --top"),
    Case("git.md", '"apt git"', {}, ("words",), "with the words apt git"),
    Case("git.md", "'install AND windows'", {}, ("words",), "with the words install AND windows"),
    Case("고양이.md", "고양이 강아지", LEXICAL | {"profile": "strict"}, ("all_words",), "with --profile notes"),
    Case("git.md", "?!", {}, ("empty_query",), "with the words"),
    Case("git.md", "zebrafish", LEXICAL, ("words",), None),
]


@pytest.fixture
def base(make_base: MakeBase) -> kb.KB:
    return make_base(DOCUMENTS)


def shows(base: kb.KB, query: Query, ref: str) -> bool:
    path = ref.partition("#")[0]
    return any(path in (hit.doc_path, hit.doc_id, hit.chunk_id) for hit in base.search(query).hits)


def as_typed(found: WhyNot) -> Query:
    """The suggested command, through the parser of the command line."""
    assert found.change is not None
    session = Session(parse(shlex.split(shlex.join(found.change.argv))[1:]))
    return question(session, session.words)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_cause_is_told_and_the_change_shows_it(base: kb.KB, case: Case) -> None:
    found = base.why_not(case.ref, case.query, **case.options)
    assert not found.shown
    codes = tuple(reason.code for reason in found.reasons)
    assert codes[: len(case.codes)] == case.codes, found.reasons
    assert found.change is not None
    if case.told:
        assert [each for each in found.change.told if each.startswith(case.told)], found.change
    assert shows(base, as_typed(found), case.ref), found.change
    validate(render.why_not(found))


@pytest.mark.parametrize("case", CASES[:14], ids=lambda case: case.name)
def test_a_filter_is_all_that_is_changed_where_it_is_all_that_is_wrong(base: kb.KB, case: Case) -> None:
    found = base.why_not(case.ref, case.query, **case.options)
    assert found.change is not None
    assert all(each.startswith("without --") for each in found.change.told)
    assert len(found.change.told) == len(case.codes)
    assert [check.flag for check in found.filters if not check.passes] == [
        each.split()[1] for each in found.change.told
    ]


def test_one_chunk_must_pass_the_filters_of_chunks() -> None:
    """Some chunk is code and some chunk is Korean, but none is both; and the one that is asked about is neither."""
    span = Span("line", 1, 2, 0, 9)
    chunks = [Chunk("apple", span, "code"), Chunk("apple pie", span, "info", lang="ko")]
    with kb.open("memory:", embedder="none") as base:
        base.store.put([entry("a", chunks=chunks, vectors=(), path="a.md")])
        for ref, options in (("a.md", {"kind": "code", "lang": "ko"}), ("a:1", {"kind": "code"})):
            found = base.why_not(ref, "apple", **options)
            assert {reason.code for reason in found.reasons} == {"filter"}
            assert found.change is not None
            assert [each.split()[1] for each in found.change.told] == [f"--{name}" for name in options]
            assert base.why_not("a:0", "apple", kind="code").shown


def test_what_is_shown_is_said_to_be_and_where(base: kb.KB) -> None:
    hits = base.search("install git").hits
    for hit in hits:
        for ref in (hit.doc_path, hit.doc_id, hit.chunk_id, hit.citation.uri):
            found = base.why_not(ref, "install git")
            assert (found.rank, found.reasons, found.change) == (hit.rank, (), None)


def test_the_ranks_are_those_of_the_legs(base: kb.KB) -> None:
    """However deep: the filler stands far below what counts."""
    document = "filler/129.md"
    found = base.why_not(document, "apt", top=1)
    with base.store.snapshot() as snapshot:
        embedder = HashingEmbedder(64)
        nearest_ones = snapshot.nearest(embedder.embed_query("apt"), kb.Filters(), 1000)
        names = {chunk.chunk_id for chunk in snapshot.read(found.document.doc_id)[1]} if found.document else set()
    rank, score = next((n, hit.score) for n, hit in enumerate(nearest_ones, start=1) if hit.chunk_id in names)
    assert (found.meaning.rank, found.meaning.cosine) == (rank, score)
    assert found.words.rank is None


def test_a_rank_deeper_than_a_search_looks_is_still_told(make_base: MakeBase) -> None:
    texts = {f"{n:03d}.md": f"# {n}\n\ngit" + " git" * (n % 7) + " and more" * n for n in range(420)}
    base = make_base(texts, embedder=None)
    last = base.search("git", mode="lexical", top=1000).hits[-1].doc_path
    found = base.why_not(last, "git", mode="lexical")
    assert found.words.rank is not None
    assert found.words.rank > found.words.depth == 300
    assert found.reasons[0].code == "lexical_depth"
    assert found.change is not None
    assert shows(base, as_typed(found), last)


def test_the_words_that_a_chunk_holds_are_told(base: kb.KB) -> None:
    words = base.why_not("kubelet.md", "how do the kubelets run on nodess", mode="lexical", top=1).words
    assert words.held == ("kubelets", "run")
    assert [(missing.word, missing.near[:1]) for missing in words.missing] == [("nodess", ("Node",))]
    assert words.dropped == ("how", "do", "the", "on")


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("kubelets'", ("kubelet", "cubes"), ("kubelet",)),
        ("Datenbank", ("Datenbankserver", "Daten", "Tisch"), ("Daten", "Datenbankserver")),
        ("git", ("gut", "get", "grit", "digital"), ("get", "gut")),
        ("git", ("GIT",), ()),
        ("ab", ("ac",), ()),
        ("개발", ("git",), ()),
    ],
)
def test_near_words(word: str, known: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert nearest(word, known) == found


# ---------------------------------------------------------------- the store, and what is not in it


def test_a_file_that_was_never_added(base: kb.KB, tmp_path: Path) -> None:
    file = tmp_path / "new notes.md"
    file.write_text("# New\n\nsourdough bread")
    (reason,) = base.why_not(str(file), "sourdough").reasons
    assert reason.code == "not_stored"
    base.add(*shlex.split(reason.fix)[2:])
    assert base.why_not(str(file), "sourdough").shown


@pytest.mark.parametrize(
    ("name", "said"),
    [(".hidden.md", "hidden"), ("skipped.md", "ignore file"), ("id_rsa", "secrets"), ("plain.md", "never added")],
)
def test_why_a_file_was_skipped(base: kb.KB, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / ".kbignore").write_text("skipped.md\n")
    (tmp_path / name).write_text("text")
    (reason,) = base.why_not(str(tmp_path / name), "text").reasons
    assert said in reason.text
    assert (reason.fix == "") == (name == "id_rsa")


def test_a_name_that_is_nearly_right_leads_to_the_document(base: kb.KB) -> None:
    found = base.why_not("run.py", "kubelet")
    assert found.document is None
    assert "code/run.py" in found.reasons[0].text
    validate(render.why_not(found))


def test_a_changed_file_and_a_document_without_text(base: kb.KB, tmp_path: Path) -> None:
    file, empty = tmp_path / "old.md", tmp_path / "empty.md"
    file.write_text("# Old\n\nabout bread")
    empty.write_text("\n")
    base.add(file, empty)
    file.write_text("# Old\n\nabout quinoa, at length")
    found = base.why_not(str(file), "quinoa", mode="lexical")
    assert "stale" in [reason.code for reason in found.reasons]
    assert found.reasons[-1].fix == f"kb add {file}"
    base.add(file)
    assert base.why_not(str(file), "quinoa", mode="lexical").shown
    if (without := base.why_not(str(empty), "anything")).document is not None:
        assert [reason.code for reason in without.reasons] == ["no_text"]


@pytest.mark.parametrize("path", ["a[1]*?.md", "[*].md", "x/]y[.md", "100%_'\".md"])
def test_a_path_may_look_like_a_pattern(make_base: MakeBase, path: str) -> None:
    base = make_base([kb.Document(path, "apple"), kb.Document("a1bc.md", "apple"), kb.Document("a.md", "apple")])
    found = base.why_not(path, "apple", top=3, mode="lexical")
    assert found.document is not None
    assert (found.document.path, found.shown, found.words.held) == (path, True, ("apple",))


def test_chunks_that_wait_for_a_vector(make_base: MakeBase, tmp_path: Path) -> None:
    base = make_base({"a.md": "# A\n\napple", "b.md": "# B\n\npear"})
    base.close()
    words_only = make_base({"c.md": "# C\n\nquince"}, embedder="none")
    words_only.close()
    found = make_base().why_not("c.md", "fruit", mode="vector")
    codes = [reason.code for reason in found.reasons]
    assert codes[0] == "no_words"
    assert {"no_vector", "pending"} <= set(codes)


def test_a_page_before_and_a_budget_without_room(base: kb.KB) -> None:
    first = base.search("git kubelet", top=2, mode="lexical")
    found = base.why_not(first.hits[0].doc_path, "git kubelet", top=2, mode="lexical", cursor=first.next_cursor)
    assert [reason.code for reason in found.reasons] == ["earlier_page"]
    assert found.change is not None
    assert found.change.told == (f"without --cursor {first.next_cursor}",)
    tight = Query("git kubelet", budget=1, top=3)
    last = base.search(replace(tight, budget=None)).hits[2]
    found = base.why_not(last.doc_path, tight)
    assert found.reasons[0].code == "budget"
    assert shows(base, as_typed(found), last.doc_path)


# ---------------------------------------------------------------- what a user can type wrong


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda base: base.why_not("", "git"), UsageError),
        (lambda base: base.why_not("filler", "git"), UsageError),
        (lambda base: base.why_not("git.md#L900", "git"), NotFound),
        (lambda base: base.why_not("git.md#p=2", "git"), NotFound),
        (lambda base: base.why_not("git.md", "'git AND'"), QueryError),
        (lambda base: base.why_not("git.md", "git", top=0), UsageError),
        (lambda base: base.why_not("git.md", "git", profile="nope"), UsageError),
        (lambda base: base.why_not("git.md", "git", cursor="x"), StaleCursor),
    ],
)
def test_what_makes_no_sense_is_refused_as_search_refuses_it(
    base: kb.KB, call: Callable[[kb.KB], object], error: type[kb.KBError]
) -> None:
    with pytest.raises(error) as caught:
        call(base)
    assert caught.value.fix


@pytest.mark.parametrize(
    "ref", ["\x00", "a\x00b", "*", "[", "#", "#L1", "git.md#L0", "💥", "a" * 9000, "../../etc", "\udc80"]
)
def test_any_name_gets_an_answer_or_an_error(base: kb.KB, ref: str) -> None:
    try:
        found = base.why_not(ref, "git")
    except kb.KBError as error:
        assert error.fix
    else:
        assert found.document is None
        assert found.reasons


# ---------------------------------------------------------------- the promise, for any store and search

WORDS = st.sampled_from(
    "git gits install installing kubelet apple pear the and 고양이 東京 東京都 v1.2 read-only".split()
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)


@st.composite
def documents(draw: st.DrawFn) -> list[kb.Document]:
    count = draw(st.integers(1, 14))
    return [
        kb.Document(
            f"{draw(st.sampled_from(('', 'a/', 'a/b/')))}d{n}.md",
            f"# {draw(TEXTS)}\n\n{draw(TEXTS)}\n\n## {draw(TEXTS)}\n\n{draw(TEXTS)}",
            tags=draw(st.lists(st.sampled_from(("x", "y")), unique=True)),
            collection=draw(st.sampled_from((None, "other"))),
            date=draw(st.sampled_from((None, date(2020, 1, 1), date(2026, 1, 1)))),
        )
        for n in range(count)
    ]


maybe = st.sampled_from
queries = st.builds(
    Query,
    text=TEXTS | TEXTS.map(lambda text: f'"{text}"') | TEXTS.map(lambda text: f"-{text}"),
    top=maybe((None, 1, 3)),
    mode=maybe(("hybrid", "lexical", "vector")),
    profile=maybe((None, "strict", "memory", "snippets", "best")),
    filters=st.builds(
        kb.Filters,
        tags=maybe(((), ("x",), ("x", "y"))),
        path=maybe((None, "a/**", "*.md")),
        collection=maybe((None, None, "other")),
        since=maybe((None, "2025-01-01")),
        lang=maybe((None,) * 9 + ("", "-x")),
    ),
    threshold=maybe((None, None, 0.02, 0.6, -0.5)),
    min_score=maybe((None, None, 0.3)),
    alpha=maybe((None, None, 0.0, 0.4)),
    budget=maybe((None, None, 150)),
    now=st.just(date(2026, 2, 1)),
    shape=st.builds(Shape, per_doc=maybe((None, 1)), mmr=maybe((None, 0.5)), merge=st.booleans()),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents(), queries, st.data())
def test_a_document_is_shown_or_there_is_a_reason_and_a_change_that_shows_it(
    given_documents: list[kb.Document], query: Query, data: st.DataObject
) -> None:
    with kb.open("memory:", settings=Settings(), embedder=HashingEmbedder(32)) as base:
        base.put(given_documents)
        stored = data.draw(maybe(base.list()))
        found = base.why_not(stored.doc_id, query)
        ranks = [hit.rank for hit in base.search(query).hits if hit.doc_id == stored.doc_id]
        assert found.rank == (ranks[0] if ranks else None)
        validate(render.why_not(found))
        if not ranks:
            assert found.reasons
            assert found.change is not None, found
            assert found.change.told
            typed = replace(as_typed(found), now=query.now)
            assert typed == found.change.query
            assert shows(base, typed, stored.doc_id)
            assert not set(told(query, query))


@given(queries)
@settings(max_examples=60, deadline=None)
def test_a_query_as_a_command_is_the_same_query(query: Query) -> None:
    session = Session(parse(argv(query, "hybrid")[1:]))
    assert question(session, session.words) == replace(query, now=None)
    assert told(query, query) == ()
