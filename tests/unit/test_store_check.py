"""Seeded damage: `check` finds each class of it, `repair` mends it or puts it aside, and sound stores are left alone."""

from __future__ import annotations

import hashlib
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from kb.store.sqlite import vectors
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry, everything, ids, keyword

Damage = Callable[[apsw.Connection], object]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    store = SQLiteStore(folder)
    store.set_model(MODEL)
    store.put(
        entry(
            f"d{n}", f"Installing thing {n}", f"한국어 문서 {n}", "etcd는 a\x00b", title=f"Title {n}", tags=("x", "y")
        )
        for n in range(20)
    )
    store.put([entry("blank", "nothing", vectors=(b"",))])
    store.close()
    return folder


def run(folder: Path, damage: Damage) -> None:
    """Write past all protection: no triggers, no keys, no defence."""
    connection = apsw.Connection(str(folder / "kb.db"))
    vectors.load(connection)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.execute("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON").fetchall()
    damage(connection)
    connection.close()


def sql(*statements: str) -> Damage:
    return lambda connection: [connection.execute(statement).fetchall() for statement in statements]


def overwrite(number: int, data: bytes) -> Damage:
    def damage(connection: apsw.Connection) -> None:
        block, slot = connection.execute(
            "SELECT chunk_id, chunk_offset FROM vectors_rowids WHERE rowid = ?", (number,)
        ).fetchone()
        with connection.blob_open("main", "vectors_vector_chunks00", "vectors", block, True) as blob:
            blob.seek(slot * 32)
            blob.write(data)

    return damage


DERIVED: dict[str, tuple[str, Damage]] = {
    "index emptied": ("fts", sql("INSERT INTO chunks_fts(chunks_fts) VALUES ('delete-all')")),
    "trigrams emptied": ("trigram", sql("INSERT INTO chunks_trigram(chunks_trigram) VALUES ('delete-all')")),
    "index row missing": (
        "fts",
        sql(
            "INSERT INTO chunks_fts(chunks_fts, rowid, title, heading, body) "
            "SELECT 'delete', id, title, heading, body FROM chunks_indexed WHERE id = 4"
        ),
    ),
    "index row extra": ("fts", sql("INSERT INTO chunks_fts(rowid, title, heading, body) VALUES (999, 'a', 'b', 'c')")),
    "trigram row extra": ("trigram", sql("INSERT INTO chunks_trigram(rowid, body) VALUES (1, 'Installing')")),
    "index row stale": ("words", sql("UPDATE documents SET title_index = 'Other' WHERE id = 3")),
    "index row plainly updated": ("fts", sql("UPDATE chunks_fts SET body = 'other words' WHERE rowid = 2")),
    "index page torn": (
        "fts",
        sql("UPDATE chunks_fts_data SET block = zeroblob(9) WHERE id = (SELECT max(id) FROM chunks_fts_data)"),
    ),
    "row size lost": ("fts", sql("DELETE FROM chunks_fts_docsize WHERE id = 5")),
    "row size wrong": ("fts", sql("UPDATE chunks_fts_docsize SET sz = x'000000' WHERE id = 5")),
    "script flag": ("script", sql("UPDATE chunks SET cjk = 1 - cjk WHERE id = 2")),
    "copy for the index": ("words", sql("UPDATE chunks SET search_text = 'else' WHERE id = 2")),
    "copy of the headings": ("words", sql("UPDATE chunks SET heading_index = 'else' WHERE id = 2")),
    "trigger dropped": ("schema", sql("DROP TRIGGER chunks_delete")),
    "trigger weakened": (
        "schema",
        sql(
            "DROP TRIGGER titles_after",
            "CREATE TRIGGER titles_after AFTER UPDATE OF id ON documents BEGIN SELECT 1; END",
        ),
    ),
    "index dropped": ("schema", sql("DROP INDEX chunks_by_hash")),
    "view dropped": ("schema", sql("DROP VIEW chunks_cjk")),
    "secure-delete off": ("schema", sql("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('secure-delete', 0)")),
    "orphaned tags": ("orphan", sql("INSERT INTO tags VALUES (777, 'ghost', 0)")),
    "orphaned chunks": ("orphan", sql("DELETE FROM documents WHERE id = 2")),
    "orphaned blank": ("orphan", sql("INSERT INTO blanks VALUES (1, 777)")),
    "orphaned vector": ("vector", lambda c: c.execute("INSERT INTO vectors(rowid, embedding) VALUES (777, ?)", (direction(1),))),
    "vector of a blank": ("vector", sql("INSERT INTO blanks VALUES (1, 3)")),
    "vector NaN": ("vector", overwrite(7, struct.pack("<f", float("nan")))),
    "vector infinite": ("vector", overwrite(7, struct.pack("<f", float("inf")))),
    "vector zeroed": ("vector", overwrite(7, bytes(32))),
    "vector too long": ("vector", overwrite(7, struct.pack("<f", 4.0))),
    "vector misplaced": ("vector", sql("UPDATE vectors_rowids SET chunk_offset = 60 WHERE rowid = 7")),
    "vector unlisted": ("vector", sql("DELETE FROM vectors_rowids WHERE rowid = 7")),
    "vector block cut": ("vector", sql("UPDATE vectors_vector_chunks00 SET vectors = zeroblob(64)")),
    "vector slots": ("vector", sql("UPDATE vectors_chunks SET validity = zeroblob(8)")),
    "other dimension": ("vector", sql("UPDATE models SET info = json_set(info, '$.dimension', 9)")),
    "revision": ("meta", sql("UPDATE meta SET value = 'x' WHERE key = 'revision'")),
    "model unreadable": ("meta", sql("UPDATE models SET info = '{cut'")),
    "model of other fields": ("meta", sql("UPDATE models SET info = '{}'")),
    "model of another name": ("meta", sql("UPDATE models SET label = 'x@1'")),
    "model missing": ("meta", sql("DELETE FROM models")),
    "choice unreadable": ("meta", sql("UPDATE meta SET value = '{cut' WHERE key = 'choice'")),
    "choice of other fields": ("meta", sql("UPDATE meta SET value = '{}' WHERE key = 'choice'")),
    "choice missing": ("meta", sql("DELETE FROM meta WHERE key = 'choice'")),
    "choice of a model that is not there": (
        "meta",
        sql("UPDATE meta SET value = json_set(value, '$.store[1]', 'other@2') WHERE key = 'choice'"),
    ),
    "state of vectors": ("meta", sql("UPDATE models SET state = 'none'")),
    "table of vectors gone": ("vector", lambda c: c.execute("DROP TABLE vectors")),
    "table of vectors of no model": (
        "vector",
        lambda c: c.execute("CREATE VIRTUAL TABLE vectors_7 USING vec0(embedding float[8])"),
    ),
}  # fmt: skip
NOT_DERIVED: dict[str, tuple[str, Damage]] = {
    "text changed": ("text", sql("UPDATE chunks SET text = 'Installing thinc 2' WHERE id = 7")),
    "headings changed": ("text", sql("UPDATE chunks SET heading_path = '[\"x\"]' WHERE id = 7")),
    "span": ("span", sql("UPDATE chunks SET span_start = 9, span_end = 3 WHERE id = 7")),
    "offsets": ("span", sql("UPDATE chunks SET offset_start = -1 WHERE id = 7")),
    "chunk gone": ("ordinal", sql("DELETE FROM chunks WHERE id = 7")),
    "last chunk renumbered": ("ordinal", sql("UPDATE chunks SET ordinal = 9 WHERE id = 7")),
    "kind": ("document", sql("UPDATE chunks SET kind = 'poem' WHERE id = 7")),
    "type": ("document", sql("UPDATE documents SET type = 'poem' WHERE id = 3")),
    "trust": ("document", sql("UPDATE documents SET trust = 9 WHERE id = 3")),
    "headings no JSON": ("document", sql("UPDATE chunks SET heading_path = '[' WHERE id = 7")),
}


def damaged(sound: Path, tmp_path: Path, damage: Damage) -> SQLiteStore:
    shutil.copytree(sound, tmp_path / "store")
    run(tmp_path / "store", damage)
    return SQLiteStore(tmp_path / "store")


@pytest.mark.parametrize("name", DERIVED)
def test_damage_to_what_is_derived_is_found_and_mended(sound: Path, tmp_path: Path, name: str) -> None:
    code, damage = DERIVED[name]
    store = damaged(sound, tmp_path, damage)
    problems = store.check().problems
    assert code in {problem.code for problem in problems}, problems
    assert all(problem.repairable for problem in problems)
    report = store.check(repair=True)
    assert report.problems == ()
    assert report.repaired
    assert store.check() == type(report)((), report.checked)
    with store.snapshot() as snapshot:
        assert "d9:0" in ids(snapshot.match(keyword("installing"), everything, 99))
        assert "d9:1" in ids(snapshot.match(keyword("한국어", tier="trigram"), everything, 99))
    assert not list((tmp_path / "store").glob("quarantine-*"))
    store.close()


@pytest.mark.parametrize("name", NOT_DERIVED)
def test_documents_that_are_not_what_was_stored_are_put_aside(sound: Path, tmp_path: Path, name: str) -> None:
    code, damage = NOT_DERIVED[name]
    store = damaged(sound, tmp_path, damage)
    problems = store.check().problems
    assert code in {problem.code for problem in problems}, problems
    assert not all(problem.repairable for problem in problems)
    report = store.check(repair=True)
    assert report.problems == ()
    assert any("put aside" in line for line in report.repaired)
    (kept,) = (tmp_path / "store").glob("quarantine-*/documents.jsonl")
    assert "d2" in kept.read_text()
    with store.snapshot() as snapshot:
        assert len(snapshot.find(everything)) == 20
    store.close()


@pytest.mark.parametrize("place", [0.2, 0.35, 0.5, 0.65, 0.8])
def test_a_broken_file_is_kept_and_what_can_be_read_is_saved(sound: Path, tmp_path: Path, place: float) -> None:
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    data = bytearray((folder / "kb.db").read_bytes())
    page = int(len(data) // 8192 * place)
    data[page * 8192 : (page + 2) * 8192] = b"\xa5" * 16384
    (folder / "kb.db").write_bytes(data)
    store = SQLiteStore(folder)
    assert not store.check().ok
    report = store.check(repair=True)
    assert report.problems == ()
    saved = list(folder.glob("quarantine-*/kb.db"))
    assert not saved or saved[0].read_bytes() == bytes(data)
    with store.snapshot() as snapshot:
        known = snapshot.model
    if known is None:  # the page that named it was among the broken ones
        store.set_model(MODEL)
    store.put([entry("after", "life goes on")])
    assert store.check().ok
    store.close()


@pytest.mark.parametrize("size", [0.3, 0.6, 0.95])
def test_a_cut_file_is_found_and_kept(sound: Path, tmp_path: Path, size: float) -> None:
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    whole = (folder / "kb.db").read_bytes()
    cut = whole[: int(len(whole) * size)]
    (folder / "kb.db").write_bytes(cut)
    store = SQLiteStore(folder)
    assert not store.check().ok
    assert store.check(repair=True).problems == ()
    assert [path.read_bytes() for path in folder.glob("quarantine-*/kb.db")] == [cut]
    store.close()


def test_check_changes_no_byte(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(sound, folder)
    before = hashlib.sha256((folder / "kb.db").read_bytes()).hexdigest()
    store = SQLiteStore(folder)
    report = store.check()
    store.close()
    assert report.ok
    assert report.checked["chunks"] == report.checked["chunks_fts_docsize"] == 61
    assert hashlib.sha256((folder / "kb.db").read_bytes()).hexdigest() == before
