"""Counts and facts about a store."""

from __future__ import annotations

import os
from contextlib import suppress

import apsw

from kb.store.sqlite import generations
from kb.store.sqlite.connect import Place
from kb.store.sqlite.rows import unpack
from kb.text import LEXICAL_VERSION
from kb.types import Status

BY_TYPE = "SELECT type, count(*) FROM documents GROUP BY type ORDER BY type"
BY_COLLECTION = "SELECT collection, count(*) FROM documents GROUP BY collection ORDER BY collection"
BY_TAG = "SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag"
ROOTS = "SELECT DISTINCT root FROM documents WHERE root IS NOT NULL ORDER BY root"


def status(connection: apsw.Connection, place: Place) -> Status:
    def one(statement: str) -> int:
        return int(connection.execute(statement).get or 0)

    generation = generations.answering(connection)
    model = generation.info if generation else None
    vectors = 0
    if generation is not None and generation.counts:
        vectors = one(f"SELECT count(*) FROM {generation.table}_rowids WHERE rowid IN (SELECT id FROM chunks)")
    return Status(
        location=str(place.folder),
        engine="sqlite",
        schema_version=one("PRAGMA user_version"),
        revision=one("SELECT value FROM meta WHERE key = 'revision'"),
        documents=one("SELECT count(*) FROM documents"),
        chunks=one("SELECT count(*) FROM chunks"),
        vectors=vectors,
        bytes=_bytes(place),
        model=model,
        embedder=None,
        pending=generations.pending(connection, generation) if generation else one("SELECT count(*) FROM chunks"),
        by_type=_counts(connection, BY_TYPE),
        by_collection=_counts(connection, BY_COLLECTION),
        tags=_counts(connection, BY_TAG),
        roots=tuple(unpack(row[0]) or "" for row in connection.execute(ROOTS)),
        index_version=f"hybrid:{LEXICAL_VERSION}+{model.label}" if model else f"lexical:{LEXICAL_VERSION}",
        last_indexed_at=connection.execute("SELECT max(indexed_at) FROM documents").get or None,
    )


def _counts(connection: apsw.Connection, statement: str) -> dict[str, int]:
    return {unpack(row[0]) or "": row[1] for row in connection.execute(statement)}


def _bytes(place: Place) -> int:
    total = 0
    for path in (place.db, place.wal):
        with suppress(FileNotFoundError):
            total += os.stat(path).st_size
    return total
