"""For those who write a store or an embedder: the suites that every one of them passes, samples and test doubles.

class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        store = MyStore(tmp_path)
        yield store
        store.close()
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from kb.errors import IndexMismatch, NotFound, QueryError, QueryTimeout, StoreError
from kb.protocols import Embedder, Store
from kb.types import (
    DEFAULT_COLLECTION,
    Candidate,
    Chunk,
    DocType,
    Entry,
    Filters,
    LexicalQuery,
    ModelInfo,
    Span,
    StoredChunk,
    StoredDocument,
    Term,
    Tier,
    Trust,
    Vector,
)

if TYPE_CHECKING:
    from kb.embed.hashing import CountingEmbedder, FailingEmbedder, HashingEmbedder

__all__ = [
    "DIMENSION", "MODEL", "CountingEmbedder", "EmbedderContract", "FailingEmbedder", "HashingEmbedder",
    "StoreContract", "direction", "entry", "everything", "keyword",
]  # fmt: skip

DIMENSION = 8
MODEL = ModelInfo("sample", "000000000001", DIMENSION)
everything = Filters()


def __getattr__(name: str) -> Any:
    if name in ("CountingEmbedder", "FailingEmbedder", "HashingEmbedder"):
        from kb.embed import hashing

        return getattr(hashing, name)
    raise AttributeError(name)


# ---------------------------------------------------------------- samples


def direction(seed: object, dimension: int = DIMENSION) -> Vector:
    """A vector of unit length that depends on the seed alone."""
    source = random.Random(repr(seed))
    values = [source.gauss(0, 1) for _ in range(dimension)]
    norm = math.sqrt(math.fsum(value * value for value in values))
    return struct.pack(f"<{dimension}f", *(value / norm for value in values))


def entry(
    name: str,
    *texts: str,
    chunks: Sequence[Chunk] = (),
    vectors: Sequence[Vector | None] | None = None,
    path: str | None = None,
    title: str | None = None,
    type: DocType = "markdown",
    tags: tuple[str, ...] = (),
    lang: str | None = None,
    trust: Trust = "primary",
    date: str | None = None,
    collection: str = DEFAULT_COLLECTION,
    repo: str | None = None,
    version: str | None = None,
    source: str | None = None,
) -> Entry:
    """A document ``<name>.md`` of these texts, or chunks. Each text has the vector ``direction(text)`` unless told."""
    span = Span("line", 1, 1, 0, 1)
    pieces = [*(Chunk(text, span) for text in texts), *chunks]
    document = StoredDocument(
        doc_id=name, path=f"{name}.md" if path is None else path, title=name if title is None else title, type=type,
        collection=collection, tags=tags, lang=lang, repo=repo, version=version, trust=trust, date=date, source=source,
    )  # fmt: skip
    stored = tuple(
        StoredChunk(f"{name}:{ordinal}", name, ordinal, piece, f"hash of {piece.text}")
        for ordinal, piece in enumerate(pieces)
    )
    given = (direction(piece.text) for piece in pieces) if vectors is None else vectors
    return Entry(document, stored, tuple(given))


def keyword(*words: str, tier: Tier = "fts", every: bool = False, deadline: float | None = None) -> LexicalQuery:
    """A keyword query; a word in double quotes is a phrase."""
    terms = tuple(Term(word.strip('"'), phrase=word.startswith('"')) for word in words)
    return LexicalQuery(tier, terms, "all" if every else "any", deadline=deadline)


def ids(found: Sequence[Candidate]) -> list[str]:
    return [candidate.chunk_id for candidate in found]


# ---------------------------------------------------------------- suites


class StoreContract:
    """What every store must do. Give it a fixture ``store``: an empty one, closed after the test."""

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError("override the fixture `store`")

    @pytest.fixture
    def filled(self, store: Store) -> Store:
        store.set_model(MODEL)
        code = Chunk("def install(): pass", Span("line", 3, 4, 10, 30), "code", ("api",), "Tool.install", "python")
        store.put(
            [
                entry("git", "Installing git is easy", "git the tool", tags=("ops", "home"), date="2026-01-01"),
                entry("vim", "The installation of vim", "nothing of note", tags=("ops",), date="2026-02-01", lang="en"),
                entry(
                    "ko",
                    "한국어 문서 검색 시스템의 백업 방법",
                    "etcd는 빠르다",
                    lang="ko",
                    trust="generated",
                    path="k/ko.md",
                ),
                entry("api", chunks=[code], type="code", repo="r", version="1", collection="lib", path="src/a/api.py"),
            ]
        )
        return store

    # ------------------------------------------------------------ writing and reading back

    def test_what_was_put_is_read_back(self, store: Store) -> None:
        store.set_model(MODEL)
        name = "caf\u0065\u0301 \udcff\n.md"  # not NFC, with a byte that is no text: names of files can be anything
        one = entry("a", "text\x00 with NUL", "e\u0301", title=name, path=name, source=f"/{name}", tags=("x", "y"))
        store.put([one])
        with store.snapshot() as snapshot:
            assert snapshot.read("a") == (one.document, one.chunks)
            assert snapshot.documents(["a", "b"]) == {"a": one.document}
            assert snapshot.chunks(["a:1", "zz"]) == {"a:1": one.chunks[1]}
            assert snapshot.model == MODEL
            with pytest.raises(NotFound):
                snapshot.read("b")

    def test_a_document_is_replaced_whole(self, filled: Store) -> None:
        filled.put([entry("git", "only this")])
        with filled.snapshot() as snapshot:
            assert [chunk.chunk.text for chunk in snapshot.read("git")[1]] == ["only this"]
            assert ids(snapshot.match(keyword("easy"), everything, 9)) == []
            assert ids(snapshot.nearest(direction("only this"), everything, 1)) == ["git:0"]
            assert "git:1" not in ids(snapshot.nearest(direction("git the tool"), everything, 99))

    def test_a_document_takes_the_place_of_another_at_its_path(self, store: Store) -> None:
        store.put([entry("a", "one", path="same", vectors=()), entry("b", "two", path="same", vectors=())])
        with store.snapshot() as snapshot:
            assert [document.doc_id for document in snapshot.find(everything)] == ["b"]

    def test_remove_leaves_nothing(self, filled: Store) -> None:
        assert filled.remove(["git", "none", "git"]) == 1
        with filled.snapshot() as snapshot:
            assert snapshot.documents(["git"]) == {}
            assert snapshot.chunks(["git:0"]) == {}
            assert ids(snapshot.match(keyword("git"), everything, 9)) == []
            assert all(not name.startswith("git") for name in ids(snapshot.nearest(direction(0), everything, 99)))
        assert filled.vectors(["hash of git the tool"]) == {}

    def test_every_write_is_a_new_revision_and_nothing_else_is(self, store: Store) -> None:
        def revision() -> int:
            with store.snapshot() as snapshot:
                return snapshot.revision

        seen = [revision()]
        store.set_model(MODEL)
        seen.append(revision())
        assert store.put([entry("a", "x")]) == revision()
        seen.append(revision())
        store.remove(["a"])
        seen.append(revision())
        assert seen == sorted(set(seen))
        store.set_model(MODEL)
        store.remove(["a"])
        assert store.put([]) == revision()
        assert revision() == seen[-1]

    def test_a_snapshot_keeps_what_it_began_with(self, filled: Store) -> None:
        with filled.snapshot() as before:
            filled.remove(["git"])
            filled.put([entry("new", "git again")])
            assert ids(before.match(keyword("git"), everything, 9)) == ["git:1", "git:0"]
            assert "new" not in before.documents(["git", "new"])
            assert "git:1" in ids(before.nearest(direction("git the tool"), everything, 99))
        with filled.snapshot() as after:
            assert ids(after.match(keyword("git"), everything, 9)) == ["new:0"]
            assert after.revision > before.revision

    @pytest.mark.parametrize(
        "wrong",
        [
            Entry(entry("a", "x", "y").document, (entry("a", "x").chunks[0],) * 2),
            Entry(entry("a", "x").document, entry("b", "x").chunks),
            Entry(entry("a", "x", "y").document, entry("a", "x", "y").chunks[1:]),
            entry("a", chunks=[Chunk("x", Span("line", 2, 1, 0, 1))], vectors=()),
            entry("a", "x", vectors=(direction(1, DIMENSION + 1),)),
            entry("a", "x", vectors=(struct.pack("<8f", *[math.nan] * 8),)),
            entry("a", "x", vectors=(struct.pack("<8f", math.inf, *[0.0] * 7),)),
            entry("a", "x", vectors=(direction(1), direction(2))),
        ],
        ids=["twice", "foreign", "ordinal", "span", "dimension", "nan", "infinite", "too many"],
    )
    def test_a_wrong_entry_is_refused_and_nothing_of_it_stays(self, filled: Store, wrong: Entry) -> None:
        with pytest.raises(StoreError):
            filled.put([entry("first", "before the wrong one"), wrong])
        with filled.snapshot() as snapshot:
            assert snapshot.documents(["first", "a"]) == {}
        assert filled.check().ok

    def test_a_chunk_id_of_another_document_is_refused(self, filled: Store) -> None:
        thief = entry("thief", "x")
        chunk = StoredChunk("git:0", "thief", 0, thief.chunks[0].chunk, "h")
        with pytest.raises(StoreError):
            filled.put([Entry(thief.document, (chunk,))])
        assert filled.check().ok

    # ------------------------------------------------------------ vectors and their model

    def test_vectors_come_back_as_stored(self, filled: Store) -> None:
        assert filled.vectors(["hash of git the tool", "none"]) == {"hash of git the tool": direction("git the tool")}

    def test_vectors_without_a_model_are_refused(self, store: Store) -> None:
        with pytest.raises(IndexMismatch):
            store.put([entry("a", "x")])

    def test_zero_vectors_are_never_found_and_never_asked_for_again(self, store: Store) -> None:
        store.set_model(MODEL)
        store.put([entry("a", "x", "y", "z", vectors=(bytes(4 * DIMENSION), b"", direction("z")))])
        assert store.status().pending == 0
        assert store.vectors(["hash of x", "hash of y"]) == {"hash of x": b"", "hash of y": b""}
        with store.snapshot() as snapshot:
            assert ids(snapshot.nearest(direction("x"), everything, 9)) == ["a:2"]
            assert snapshot.nearest(bytes(4 * DIMENSION), everything, 9) == []
            assert snapshot.nearest(b"", everything, 9) == []

    def test_fill_stores_what_was_pending(self, store: Store) -> None:
        store.set_model(MODEL)
        store.put([entry("a", "x", "y", "z", vectors=())])
        assert store.status().pending == 3
        assert store.fill({"a:0": direction("x"), "a:1": b"", "gone": direction(0)}) == 1
        assert store.fill({"a:0": direction("other"), "a:2": direction("z")}) == 0
        assert store.vectors(["hash of x", "hash of y"]) == {"hash of x": direction("x"), "hash of y": b""}
        with pytest.raises(IndexMismatch):
            store.fill({"a:0": direction(1, 4)})

    def test_another_model_drops_the_vectors_of_the_first(self, filled: Store) -> None:
        other = ModelInfo("sample", "000000000002", DIMENSION + 1, scripts=("latin",))
        filled.set_model(other)
        assert filled.status().pending == filled.status().chunks
        assert filled.vectors(["hash of git the tool"]) == {}
        with filled.snapshot() as snapshot:
            assert snapshot.model == other
            assert snapshot.nearest(direction(1, DIMENSION + 1), everything, 9) == []
            with pytest.raises(IndexMismatch):
                snapshot.nearest(direction(1), everything, 9)
            assert ids(snapshot.match(keyword("git"), everything, 9)) == ["git:1", "git:0"]
        filled.fill({"git:0": direction(1, DIMENSION + 1)})
        with filled.snapshot() as snapshot:
            assert ids(snapshot.nearest(direction(1, DIMENSION + 1), everything, 9)) == ["git:0"]

    def test_vectors_that_are_not_of_unit_length_are_scaled(self, store: Store) -> None:
        store.set_model(MODEL)
        twice = struct.pack("<8f", *(2 * value for value in struct.unpack("<8f", direction("x"))))
        store.put([entry("a", "x", vectors=(twice,))])
        with store.snapshot() as snapshot:
            assert snapshot.nearest(twice, everything, 1)[0].score == pytest.approx(1.0, abs=1e-6)

    def test_nearest_is_exact_and_breaks_ties_by_chunk_id(self, store: Store) -> None:
        store.set_model(MODEL)
        same = [entry(f"d{number:02}", "same", "same") for number in range(40)]
        store.put([*same[::-1], entry("other", "else")])
        with store.snapshot() as snapshot:
            assert ids(snapshot.nearest(direction("same"), everything, 3)) == ["d00:0", "d00:1", "d01:0"]
            found = snapshot.nearest(direction("else"), everything, 99)
            assert found[0].chunk_id == "other:0" and 0.999999 < found[0].score <= 1
            assert len(found) == 81
            assert snapshot.nearest(direction("else"), everything, 0) == []

    def test_vectors_of_chunks_come_back_as_stored_and_zero_ones_do_not(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.vectors_of(["a:0"]) == {}
        store.set_model(MODEL)
        store.put([entry("a", "x", "y", "z", vectors=(direction("x"), b"", direction("z"))), entry("b", "x")])
        with store.snapshot() as snapshot:
            found = snapshot.vectors_of(["b:0", "gone", "a:1", "a:0"])
            assert list(found) == ["b:0", "a:0"]
            assert found == {"b:0": direction("x"), "a:0": direction("x")}
            assert snapshot.vectors_of([]) == {}

    # ------------------------------------------------------------ keywords

    def test_words_are_stemmed_folded_and_ranked(self, filled: Store) -> None:
        filled.put([entry("accents", "Étude of the café", vectors=())])
        with filled.snapshot() as snapshot:
            found = snapshot.match(keyword("install", "git"), everything, 9)
            assert found[0].chunk_id == "git:0"
            assert {"git:0", "git:1", "vim:0"} <= set(ids(found))
            assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
            assert ids(snapshot.match(keyword("install", "git", every=True), everything, 9)) == ["git:0"]
            assert ids(snapshot.match(keyword("etude", "cafe", every=True), everything, 9)) == ["accents:0"]
            assert ids(snapshot.match(keyword('"vim of installation"'), everything, 9)) == []
            assert ids(snapshot.match(keyword('"installation of vim"'), everything, 9)) == ["vim:0"]
            assert (
                snapshot.match(keyword("install"), everything, 1)
                == snapshot.match(keyword("install"), everything, 9)[:1]
            )

    @pytest.mark.parametrize("tier", ["fts", "trigram", "like"])
    @pytest.mark.parametrize(
        "text", ['"', "^", "*", ":", "(", ")", "-", "+", "%", "_", "\\", "\x00", "\udc80", "+++", "", " "]
    )
    def test_signs_alone_are_never_an_error(self, filled: Store, tier: Tier, text: str) -> None:
        with filled.snapshot() as snapshot:
            assert snapshot.match(keyword(text, tier=tier), everything, 9) == []
            assert isinstance(snapshot.match(LexicalQuery(tier, (Term(text, phrase=True),)), everything, 9), list)
            snapshot.match(keyword(f"git{text}", tier=tier), everything, 9)

    def test_trigrams_find_runs_and_short_words(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            for words in (("한국어",), ("시스템", "백업"), ("백업",), ("어",), ("한국어", "문서", "시스템의")):
                assert ids(snapshot.match(keyword(*words, tier="trigram", every=True), everything, 9)) == ["ko:0"]
            assert ids(snapshot.match(keyword("etcd는", tier="trigram"), everything, 9)) == ["ko:1"]
            assert snapshot.match(keyword("한국어", "없음", tier="trigram"), everything, 9) == []

    def test_like_counts_distinct_words_and_parts_of_long_runs(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            found = snapshot.match(keyword("nstal", "ASY", "백업", tier="like"), everything, 9)
            assert found[0] == Candidate("git:0", 2.0)
            assert Candidate("ko:0", 1.0) in found
            parts = snapshot.match(keyword("시스템의백업방법", tier="like"), everything, 9)
            assert ids(parts) == ["ko:0"]
            assert 0.5 * 0.9 <= parts[0].score < 1
            assert snapshot.match(keyword('"시스템의백업방법"', tier="like"), everything, 9) == []

    def test_a_raw_expression_means_what_it_says(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            found = snapshot.match(LexicalQuery("raw", raw="inst* NOT git"), everything, 9)
            assert set(ids(found)) == {"vim:0", "api:0"}
            with pytest.raises(QueryError) as error:
                snapshot.match(LexicalQuery("raw", raw="git AND (("), everything, 9)
            assert error.value.details["message"]
            with pytest.raises(QueryError):
                snapshot.match(LexicalQuery("raw", raw="nocolumn:git"), everything, 9)

    @pytest.mark.parametrize("tier", ["fts", "trigram", "like", "raw"])
    def test_a_deadline_that_has_passed_is_a_timeout(self, filled: Store, tier: Tier) -> None:
        query = LexicalQuery(tier, (Term("git"),), raw="git", deadline=0.0)
        with filled.snapshot() as snapshot, pytest.raises(QueryTimeout):
            snapshot.match(query, everything, 9)
        with filled.snapshot() as snapshot:
            assert snapshot.match(keyword("git"), everything, 9)

    def test_ties_at_the_limit_are_broken_by_chunk_id(self, store: Store) -> None:
        store.put([entry(f"d{number:03}", "the same words", title="t", vectors=()) for number in range(99, -1, -1)])
        with store.snapshot() as snapshot:
            found = snapshot.match(keyword("words"), everything, 3)
            assert ids(found) == ["d000:0", "d001:0", "d002:0"]

    # ------------------------------------------------------------ filters

    @pytest.mark.parametrize(
        ("where", "documents"),
        [
            (Filters(), "git vim ko api"),
            (Filters(tags=("ops",)), "git vim"),
            (Filters(tags=("ops", "home")), "git"),
            (Filters(tags_any=("home", "none")), "git"),
            (Filters(types=("code", "pdf")), "api"),
            (Filters(kind="code"), "api"),
            (Filters(lang="python"), "api"),
            (Filters(lang="ko"), "ko"),
            (Filters(path="*.md"), "git vim"),
            (Filters(path="**/*.md"), "git vim ko"),
            (Filters(path="src/**"), "api"),
            (Filters(path="src/*"), ""),
            (Filters(path="[gv]i?.md"), "git vim"),
            (Filters(collection="lib"), "api"),
            (Filters(repo="r", version="1"), "api"),
            (Filters(repo="r", version="2"), ""),
            (Filters(since="2026-01-01", before="2026-02-01"), "git"),
            (Filters(trust_min="secondary"), "git vim api"),
            (Filters(tags=("'; DROP TABLE documents; --",)), ""),
        ],
        ids=repr,
    )
    def test_filters_hold_in_every_call(self, filled: Store, where: Filters, documents: str) -> None:
        wanted = set(documents.split())
        with filled.snapshot() as snapshot:
            assert {document.doc_id for document in snapshot.find(where)} == wanted
            near = snapshot.nearest(direction(1), where, 99)
            assert {name.split(":")[0] for name in ids(near)} == wanted
            every = {n.split(":")[0] for n in ids(snapshot.match(keyword("git", "vim", "ko", "api"), where, 99))}
            assert every == wanted
            like = {
                n.split(":")[0] for n in ids(snapshot.match(keyword("git", "vim", "ko", "api", tier="like"), where, 99))
            }
            assert like == wanted

    def test_filters_act_before_the_limit(self, store: Store) -> None:
        store.set_model(MODEL)
        store.put([entry(f"d{number:03}", "needle " * 9) for number in range(300)])
        store.put([entry("last", "one needle in much other text", tags=("rare",))])
        where = Filters(tags=("rare",))
        with store.snapshot() as snapshot:
            assert ids(snapshot.match(keyword("needle"), where, 1)) == ["last:0"]
            assert ids(snapshot.match(keyword("needl", tier="like"), where, 1)) == ["last:0"]
            assert ids(snapshot.nearest(direction("needle " * 9), where, 1)) == ["last:0"]

    def test_find_goes_page_by_page_in_order(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            everyone = [document.doc_id for document in snapshot.find(everything)]
            assert everyone == ["git", "ko", "vim", "api"]
            pages: list[str] = []
            while page := snapshot.find(everything, after=pages[-1] if pages else None, limit=3):
                pages += [document.doc_id for document in page]
            assert pages == everyone

    # ------------------------------------------------------------ the store as a whole

    def test_status_counts(self, filled: Store) -> None:
        status = filled.status()
        assert (status.documents, status.chunks, status.vectors, status.pending) == (4, 7, 7, 0)
        assert dict(status.by_type) == {"code": 1, "markdown": 3}
        assert dict(status.by_collection) == {"default": 3, "lib": 1}
        assert dict(status.tags) == {"home": 1, "ops": 2}
        assert status.model == MODEL

    def test_a_sound_store_has_no_problems(self, filled: Store) -> None:
        assert filled.check().problems == ()
        assert filled.check(repair=True).ok

    def test_an_empty_store_answers(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.find(everything) == []
            assert snapshot.match(keyword("x"), everything, 9) == []
            assert snapshot.nearest(direction(1), everything, 9) == []
        assert store.status().documents == 0
        assert store.check().ok

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError), store.snapshot():
            pass


class EmbedderContract:
    """What every embedder must do. Give it a fixture ``embedder``."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("override the fixture `embedder`")

    def test_vectors_have_the_dimension_and_unit_length_or_are_zero(self, embedder: Embedder) -> None:
        texts = ["install git", "한국어 문서", "", "x" * 5000, "a\x00b"]
        for vector in [*embedder.embed_passages(texts), *map(embedder.embed_query, texts)]:
            values = struct.unpack(f"<{len(vector) // 4}f", vector)
            assert len(values) in (0, embedder.info.dimension)
            length = math.sqrt(math.fsum(value * value for value in values))
            assert length == 0 or abs(length - 1) < 1e-3

    def test_one_vector_for_each_text_in_order(self, embedder: Embedder) -> None:
        texts = ["one thing", "another thing", "one thing"]
        first, second, third = embedder.embed_passages(texts)
        assert first == third != second
        assert embedder.embed_passages([]) == []

    def test_the_same_text_gives_the_same_bytes(self, embedder: Embedder) -> None:
        assert embedder.embed_query("install git") == embedder.embed_query("install git")

    def test_it_says_who_it_is(self, embedder: Embedder) -> None:
        info = embedder.info
        assert info.id and info.revision and info.dimension > 0
