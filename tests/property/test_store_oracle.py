"""SQLite against the oracle: the same documents, the same questions, the same answers to the last digit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kb.store.memory import MemoryStore
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry
from kb.types import Chunk, Entry, Filters, LexicalQuery, Span, Term

WORDS = (
    "install installing installation git etcd Étude cafe the and AND NEAR or not C++ foo-bar snake_case v1.2 a ab it's "
    "한국어 한국 문서 검색 시스템의 백업 방법 etcd는 東京 東京都 の 日本語 重跑gen后 教程 ไทย ติดตั้ง โปรแกรม のテスト Ёлка ёлка "
    "naïve writeBoolean HTTPServer read-only ไป हिन्दी भाषा हिंदी كِتاب إسلام die Häuser und sind nicht Haus kuberntes kubernetes"
).split()
words = st.sampled_from(WORDS)
texts = st.lists(words, max_size=12).map(" ".join) | st.lists(words, min_size=1, max_size=5).map("".join)
tags = st.lists(st.sampled_from(("x", "y", "z")), max_size=2, unique=True).map(tuple)
maybe = st.sampled_from


@st.composite
def entries(draw: st.DrawFn, name: str | None = None) -> Entry:
    name = name or f"d{draw(st.integers(0, 9))}"
    pieces = draw(st.lists(st.tuples(texts, texts, maybe(("info", "code")), maybe((None, "ko", "en"))), max_size=3))
    span = Span("line", 1, 2, 0, 9)
    chunks = [
        Chunk(text, span, kind, (heading,) if heading else (), None, lang)  # type: ignore[arg-type]
        for text, heading, kind, lang in pieces
    ]
    given_vectors: Any = draw(
        maybe((None, ()))
        | st.lists(st.integers(-1, 3), min_size=len(chunks), max_size=len(chunks)).map(
            lambda seeds: tuple(b"" if seed < 0 else direction(seed) for seed in seeds)
        )
    )
    return entry(
        name,
        chunks=chunks,
        vectors=given_vectors,
        title=draw(texts),
        path=draw(maybe(("", "a/", "a/b/"))) + name + draw(maybe((".md", ".py"))),
        type=draw(maybe(("markdown", "code", "note"))),
        tags=draw(tags),
        lang=draw(maybe((None, "ko", "de"))),
        trust=draw(maybe(("generated", "secondary", "primary"))),
        date=draw(maybe((None, "2026-01-01", "2026-03-01"))),
        collection=draw(maybe(("default", "other"))),
    )


terms = st.lists(st.builds(Term, words | st.text(max_size=6) | texts, st.booleans()), min_size=1, max_size=4).map(tuple)
queries = st.builds(
    LexicalQuery, maybe(("fts", "fts", "trigram", "like")), terms, maybe(("any", "all")), repeats=st.booleans()
)
wheres = st.just(Filters()) | st.builds(
    Filters,
    tags=tags,
    tags_any=maybe(((), ("x",), ("x", "y"))),
    types=maybe(((), ("code",), ("code", "note"))),
    kind=maybe((None, None, "code", "info")),
    lang=maybe((None, None, "ko", "en")),
    path=maybe((None, None, "*.md", "a/**", "**/*.py", "a/*/d?.*", "**", "[!a]*", "d[0-4].md", "x")),
    collection=maybe((None, None, "other")),
    since=maybe((None, None, "2026-01-02")),
    before=maybe((None, None, "2026-03-01")),
    trust_min=maybe((None, None, "secondary")),
)
QUIET = settings(
    deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate), suppress_health_check=list(HealthCheck)
)


def agree(sqlite: SQLiteStore, oracle: MemoryStore, query: LexicalQuery, where: Filters, limit: int) -> None:
    with sqlite.snapshot() as ours, oracle.snapshot() as theirs:
        found, wanted = ours.match(query, where, limit), theirs.match(query, where, limit)
        assert [c.chunk_id for c in found] == [c.chunk_id for c in wanted]
        assert [c.score for c in found] == pytest.approx([c.score for c in wanted], abs=1e-9)
        for seed in (0, 7):
            assert ours.nearest(direction(seed), where, limit) == theirs.nearest(direction(seed), where, limit)
            names = [candidate.chunk_id for candidate in wanted]
            assert ours.cosines(direction(seed), names) == theirs.cosines(direction(seed), names)
        assert ours.find(where) == theirs.find(where)
        names = [candidate.chunk_id for candidate in found] + ["d0:0", "d1:1", "nowhere"]
        assert ours.vectors_of(names) == theirs.vectors_of(names)
        assert ours.extents(names) == theirs.extents(names)
        assert ours.vocabulary.languages == theirs.vocabulary.languages
        asked = [term.text for term in query.terms]
        assert ours.vocabulary.terms(asked) == theirs.vocabulary.terms(asked)
        assert ours.vocabulary.spellings([*asked, "kubernets", "instal"]) == theirs.vocabulary.spellings(
            [*asked, "kubernets", "instal"]
        )


def empty(store: SQLiteStore) -> None:
    with store.snapshot() as snapshot:
        names = [document.doc_id for document in snapshot.find(Filters())]
    store.remove(names)


@pytest.fixture(scope="module", params=["sqlite-vec", "numpy", "python"])
def sqlite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path_factory.mktemp("store"), vector_engine=request.param)
    store.set_model(MODEL)
    yield store
    store.close()


@settings(QUIET, max_examples=25)
@given(
    documents=st.lists(entries(), max_size=8),
    asked=st.lists(st.tuples(queries, wheres, st.integers(1, 12)), min_size=1, max_size=6),
)
def test_N02_the_same_candidates_and_scores_as_the_oracle(sqlite: SQLiteStore, documents: Any, asked: Any) -> None:
    empty(sqlite)
    oracle = MemoryStore()
    oracle.set_model(MODEL)
    sqlite.put(documents)
    oracle.put(documents)
    for query, where, limit in asked:
        agree(sqlite, oracle, query, where, limit)


class Machine(RuleBasedStateMachine):
    """Any sequence of writes leaves SQLite and the oracle with the same answers, and the store sound."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.sqlite, self.oracle = SQLiteStore(self.folder), MemoryStore()
        for store in (self.sqlite, self.oracle):
            store.set_model(MODEL)

    @rule(batch=st.lists(entries(), min_size=1, max_size=3))
    def put(self, batch: list[Entry]) -> None:
        assert self.sqlite.put(batch) == self.oracle.put(batch)

    @rule(numbers=st.lists(st.integers(0, 9), max_size=3))
    def remove(self, numbers: list[int]) -> None:
        names = [f"d{number}" for number in numbers]
        assert self.sqlite.remove(names) == self.oracle.remove(names)

    @rule(numbers=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(-1, 3)), max_size=4))
    def fill(self, numbers: list[tuple[int, int, int]]) -> None:
        found = {f"d{d}:{c}": b"" if seed < 0 else direction(seed) for d, c, seed in numbers}
        assert self.sqlite.fill(found) == self.oracle.fill(found)

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        assert {path.name for path in self.folder.iterdir()} <= {"kb.db", "write.lock"}
        self.sqlite = SQLiteStore(self.folder)

    @rule(query=queries, where=wheres)
    def ask(self, query: LexicalQuery, where: Filters) -> None:
        agree(self.sqlite, self.oracle, query, where, 5)

    @invariant()
    def sound(self) -> None:
        assert self.sqlite.check().problems == ()
        ours, theirs = self.sqlite.status(), self.oracle.status()
        for name in (
            "revision",
            "documents",
            "chunks",
            "vectors",
            "pending",
            "by_type",
            "by_collection",
            "tags",
            "model",
        ):
            assert getattr(ours, name) == getattr(theirs, name), name

    def teardown(self) -> None:
        self.sqlite.close()
        shutil.rmtree(self.folder, ignore_errors=True)


TestWrites = Machine.TestCase
TestWrites.settings = settings(QUIET, max_examples=6, stateful_step_count=10)


def test_M03_the_ways_to_the_nearest_agree_byte_for_byte(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    store.set_model(MODEL)
    near = [direction(number % 90) for number in range(600)]  # many exact ties
    store.put(
        entry(f"d{number:03}", "x", vectors=(near[number],), tags=("odd",) if number % 2 else ())
        for number in range(600)
    )
    answers = []
    for engine in ("sqlite-vec", "numpy", "python"):
        other = SQLiteStore(tmp_path, vector_engine=engine, read_only=True)
        with other.snapshot() as snapshot:
            assert snapshot.vector_engine == engine
            answers.append(
                [
                    snapshot.nearest(direction(seed), where, limit)
                    for seed in range(5)
                    for where in (Filters(), Filters(tags=("odd",)), Filters(path="d00?.md"))
                    for limit in (1, 7, 100, 599, 5000)
                ]
            )
        other.close()
    store.close()
    assert answers[0] == answers[1] == answers[2]
