"""A store that an older kb wrote is brought up to date once, wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from kb.errors import StoreError
from kb.store.sqlite import schema, words
from kb.store.sqlite.store import SQLiteStore
from kb.testing import everything, ids, keyword

TEXTS = ("writeBoolean is read-only", "旧東京都の文書", "Die alten Häuser sind nicht groß und haben eine Tür", "plain")
DOCUMENT = """
INSERT INTO documents(id, doc_id, path, title, title_index, type, collection, trust, content_hash, signature,
  chunker_version, encoding, indexed_at)
VALUES (?1, 'd' || ?1, ?2, ?3, ?3, 'note', 'default', 2, '', '', '', 'utf-8', '')"""
CHUNK = """
INSERT INTO chunks(chunk_id, document, ordinal, kind, heading_path, span_kind, span_start, span_end, offset_start,
  offset_end, embed_hash, cjk, crc, heading_index, text)
VALUES ('c' || ?1, ?1, 0, 'info', '[]', 'line', 1, 1, 0, 1, '', ?3, ?4, '', ?2)"""


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """A store as the first format has it, made by the tables and triggers of then."""
    from kb.store.sqlite.rows import checksum
    from kb.types import Chunk, Span, StoredChunk

    folder = tmp_path / "store"
    folder.mkdir()
    connection = apsw.Connection(str(folder / "kb.db"))
    connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL").fetchall()
    schema.upgrade(connection, schema.MIGRATIONS[:1])
    for number, text in enumerate(TEXTS, start=1):
        stored = StoredChunk(f"c{number}", f"d{number}", 0, Chunk(text, Span("line", 1, 1, 0, 1)), "")
        connection.execute(DOCUMENT, (number, f"a/deepPath/{number}.md", f"Title {number}"))
        connection.execute(CHUNK, (number, text, int(number == 2), checksum(stored)))
        if number == 2:
            connection.execute("UPDATE chunks SET search_text = NULL WHERE id = 2")
    connection.close()
    return folder


def version(folder: Path) -> int:
    connection = apsw.Connection(str(folder / "kb.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute("PRAGMA user_version").get)
    finally:
        connection.close()


@pytest.mark.parametrize("read_only", [False, True])
def test_an_older_store_is_brought_up_to_date_when_it_is_opened(first_version: Path, read_only: bool) -> None:
    assert version(first_version) == 1
    store = SQLiteStore(first_version, read_only=read_only)
    with store.snapshot() as snapshot:
        for word, chunk in (("Boolean", "c1"), ("東京", "c2"), ("deep", "c1"), ("plain", "c4")):
            assert chunk in ids(snapshot.match(keyword(word), everything, 9)), word
        assert snapshot.vocabulary.languages == ("de",)
    assert store.check().problems == ()
    store.close()
    assert version(first_version) == schema.SCHEMA_VERSION


def test_tables_brought_up_to_date_are_those_of_a_new_store(first_version: Path, tmp_path: Path) -> None:
    SQLiteStore(first_version).close()
    SQLiteStore(tmp_path / "new").close()
    old, new = (apsw.Connection(str(folder / "kb.db")) for folder in (first_version, tmp_path / "new"))
    tables = "SELECT name, sql FROM sqlite_schema ORDER BY name"
    assert old.execute(tables).fetchall() == new.execute(tables).fetchall()


def test_what_was_interrupted_is_done_again(first_version: Path) -> None:
    class Killed(BaseException):
        pass

    def stop(connection: apsw.Connection) -> None:
        words.fill(connection)
        raise Killed

    second = (schema.MIGRATIONS[1][0], stop, *schema.MIGRATIONS[1][2:])
    connection = apsw.Connection(str(first_version / "kb.db"))
    with pytest.raises(Killed):
        schema.upgrade(connection, (schema.MIGRATIONS[0], second))
    connection.close()
    assert version(first_version) == 1
    store = SQLiteStore(first_version)
    assert store.check().problems == ()
    store.close()


def test_an_older_store_that_cannot_be_written_says_so(first_version: Path) -> None:
    import os

    first_version.chmod(0o500)
    try:
        if os.access(first_version, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(StoreError, match="older format"):
            SQLiteStore(first_version, read_only=True)
    finally:
        first_version.chmod(0o700)
