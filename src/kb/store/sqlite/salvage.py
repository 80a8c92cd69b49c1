"""A database that is damaged itself: everything that can still be read goes into a new one, the old one is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import apsw

from kb.errors import KBError
from kb.store.sqlite import generations, write
from kb.store.sqlite.connect import Place, writer
from kb.store.sqlite.generations import Generation
from kb.store.sqlite.rows import CHUNK, DOCUMENT, checksum, to_chunk, to_document
from kb.store.sqlite.vectors import read as read_vectors
from kb.types import Entry


def renew(place: Place, folder: Path) -> str:
    """Put the damaged files into ``folder`` and what can be read of them into a new database."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(place.folder / f"kb.db{suffix}", folder / f"kb.db{suffix}")
    os.close(os.open(place.db, os.O_RDWR | os.O_CREAT, 0o600))
    connection = writer(place)
    kept = 0
    try:
        for entry in _entries(folder / "kb.db", connection):
            with suppress(KBError, apsw.Error):
                connection.execute("BEGIN IMMEDIATE")
                write.put(connection, [entry])
                connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
                connection.execute("COMMIT")
                kept += 1
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    finally:
        connection.close()
    return f"the damaged database is kept in {folder.name}; {kept} documents were saved from it"


def _entries(damaged: Path, target: apsw.Connection) -> Iterator[Entry]:
    try:
        source = apsw.Connection(str(damaged), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return
    try:
        model = _model(source, target)
        for number in _numbers(source):
            entry = _entry(source, number, model)
            if entry is not None:
                yield entry
    finally:
        source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # evidence stays as it is
        source.close()


def _model(source: apsw.Connection, target: apsw.Connection) -> Generation | None:
    """The model that answers: its vectors are saved, those of others are made again when they are wanted again."""
    with suppress(apsw.Error, ValueError, TypeError, KeyError):
        generation = generations.answering(source)
        revision = source.execute("SELECT value FROM meta WHERE key = 'revision'").get
        target.execute("UPDATE meta SET value = ? WHERE key = 'revision'", (int(revision),))
        if generation is not None:
            write.set_model(target, generation.info)
        return generation
    return None


def _numbers(source: apsw.Connection) -> list[int]:
    """Numbers of documents from every tree that holds them: where one is broken, another may still be read."""
    found: set[int] = set()
    for statement in (
        "SELECT id FROM documents NOT INDEXED",
        "SELECT id FROM documents NOT INDEXED ORDER BY id DESC",
        "SELECT id FROM documents INDEXED BY documents_in_order ORDER BY collection, CAST(path AS BLOB)",
        "SELECT DISTINCT document FROM chunks",
    ):
        with suppress(apsw.Error):
            for (number,) in source.execute(statement):
                found.add(int(number))
    return sorted(found)


def _entry(source: apsw.Connection, number: int, model: Generation | None) -> Entry | None:
    """A document with all its chunks, or nothing: half a document would be a lie."""
    try:
        row = source.execute(f"SELECT {DOCUMENT} FROM documents d WHERE d.id = ?", (number,)).fetchone()
        rows = source.execute(
            f"SELECT {CHUNK}, c.crc, c.id FROM chunks c JOIN documents d ON d.id = c.document "
            "WHERE c.document = ? ORDER BY c.ordinal",
            (number,),
        ).fetchall()
        chunks = tuple(map(to_chunk, rows))
        if row is None or any(checksum(chunk) != row[14] for chunk, row in zip(chunks, rows, strict=True)):
            return None
        entry = Entry(to_document(row), chunks)
    except (apsw.Error, ValueError, TypeError, IndexError):
        return None
    with suppress(apsw.Error, ValueError, TypeError):
        numbers = [row[15] for row in rows]
        held = dict(read_vectors(source, model.table, model.info.dimension, numbers)) if model else {}
        if len(held) == len(rows):
            return replace(entry, vectors=tuple(held[row[15]] for row in rows))
    return entry
