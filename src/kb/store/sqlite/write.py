"""Everything that changes the store: one writer, one transaction, one new revision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import apsw

from kb.errors import StoreError
from kb.store.entries import prepare, unit
from kb.store.sqlite import vectors
from kb.store.sqlite.rows import INSERT_CHUNK, INSERT_DOCUMENT, chunk_row, document_row, pack
from kb.store.sqlite.snapshot import to_model
from kb.types import Entry, ModelInfo, Vector

BATCH_CHUNKS = 4_000  # per transaction: the index merges well, and no other writer waits for more than about a second
PENDING = """
SELECT (SELECT count(*) FROM chunks) - (SELECT count(*) FROM blanks)"""
PENDING_WITH_VECTORS = f"{PENDING} - (SELECT count(*) FROM vectors_rowids WHERE rowid IN (SELECT id FROM chunks))"


def model_of(connection: apsw.Connection) -> ModelInfo | None:
    return to_model(connection.execute("SELECT value FROM meta WHERE key = 'model'").get)


def put(connection: apsw.Connection, entries: Sequence[Entry]) -> None:
    model = model_of(connection)
    ready = usable(connection)
    for entry in [prepare(entry, model) for entry in entries]:
        drop(connection, _replaced(connection, entry), ready)
        _add(connection, entry, ready)


def _replaced(connection: apsw.Connection, entry: Entry) -> list[int]:
    """What the entry takes the place of: the document of its id, and another of its path."""
    document = entry.document
    statement = "SELECT id FROM documents WHERE doc_id = ? OR (collection = ? AND path = ?)"
    values = (document.doc_id, pack(document.collection), pack(document.path))
    return [row[0] for row in connection.execute(statement, values)]


def _add(connection: apsw.Connection, entry: Entry, ready: bool) -> None:
    document = entry.document
    number = connection.execute(INSERT_DOCUMENT, document_row(document)).fetchall()[0][0]
    tags = [(number, tag, position) for position, tag in enumerate(document.tags)]
    connection.executemany("INSERT INTO tags(document, tag, position) VALUES (?, ?, ?)", tags)
    first = (connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").get or 0) + 1
    rows = [chunk_row(first + place, number, document, chunk) for place, chunk in enumerate(entry.chunks)]
    try:
        connection.executemany(INSERT_CHUNK, rows)
    except apsw.ConstraintError as cause:
        raise StoreError(f"a chunk id of {document.path!r} belongs to another document", fix="kb check") from cause
    if ready:
        store_vectors(connection, [(first + place, vector or b"") for place, vector in enumerate(entry.vectors)])


def store_vectors(connection: apsw.Connection, found: Iterable[tuple[int, Vector]]) -> None:
    found = list(found)
    connection.executemany(
        "INSERT INTO blanks(chunk) VALUES (?)", [(number,) for number, vector in found if not vector]
    )
    there = [pair for pair in found if pair[1]]
    connection.executemany("INSERT INTO vectors(rowid, embedding) VALUES (?, ?)", there)


def remove(connection: apsw.Connection, doc_ids: Sequence[str]) -> int:
    statement = "SELECT id FROM documents WHERE doc_id IN (SELECT value FROM json_each(?))"
    numbers = [row[0] for row in connection.execute(statement, (json.dumps(list(doc_ids)),))]
    drop(connection, numbers, usable(connection))
    return len(numbers)


def drop(connection: apsw.Connection, documents: Sequence[int], ready: bool) -> None:
    if not documents:
        return
    numbers = str(list(documents))
    if ready:
        chunks = f"SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each('{numbers}'))"
        held = connection.execute(f"SELECT rowid FROM vectors_rowids WHERE rowid IN ({chunks})").fetchall()
        connection.executemany("DELETE FROM vectors WHERE rowid = ?", held)
    elif has_table(connection):
        connection.execute("UPDATE meta SET value = 'leftovers' WHERE key = 'vectors' AND value = 'ready'")
    connection.executemany("DELETE FROM documents WHERE id = ?", [(number,) for number in documents])


def set_model(connection: apsw.Connection, model: ModelInfo) -> None:
    """The vectors of the former model go in the same transaction. Without sqlite-vec they only stop to count."""
    connection.execute("DELETE FROM blanks")
    connection.execute("UPDATE meta SET value = ? WHERE key = 'model'", (json.dumps(asdict(model)),))
    loaded = vectors.load(connection)
    if loaded:
        connection.execute("DROP TABLE IF EXISTS vectors")
        create_table(connection, model)
    set_state(connection, "ready" if loaded else "stale")


def create_table(connection: apsw.Connection, model: ModelInfo) -> None:
    connection.execute(
        f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{int(model.dimension)}] distance_metric=cosine, "
        f"chunk_size={vectors.CHUNK_ROWS})"
    )


def set_state(connection: apsw.Connection, state: str) -> None:
    """``none``, ``ready``, ``leftovers`` (rows of deleted chunks among them) or ``stale`` (all of another model)."""
    connection.execute("UPDATE meta SET value = ? WHERE key = 'vectors'", (state,))


def state_of(connection: apsw.Connection) -> str:
    return str(connection.execute("SELECT value FROM meta WHERE key = 'vectors'").get)


def usable(connection: apsw.Connection) -> bool:
    """Whether vectors can be written; what a writer without sqlite-vec left over is cleared first."""
    state = state_of(connection)
    if state == "none" or not vectors.load(connection):
        return False
    model = model_of(connection)
    if state == "stale" and model is not None:
        connection.execute("DROP TABLE IF EXISTS vectors")
        create_table(connection, model)
    elif state == "leftovers":
        gone = "SELECT rowid FROM vectors_rowids WHERE rowid NOT IN (SELECT id FROM chunks)"
        connection.executemany("DELETE FROM vectors WHERE rowid = ?", connection.execute(gone).fetchall())
    if state != "ready":
        set_state(connection, "ready")
    return True


def fill(connection: apsw.Connection, found: Mapping[str, Vector]) -> None:
    model = model_of(connection)
    units = {chunk_id: unit(vector, model) for chunk_id, vector in found.items()}
    if not usable(connection):
        return
    lacking = """
      SELECT c.id, c.chunk_id FROM chunks c WHERE c.chunk_id IN (SELECT value FROM json_each(?))
      AND c.id NOT IN (SELECT rowid FROM vectors_rowids) AND c.id NOT IN (SELECT chunk FROM blanks)"""
    rows = connection.execute(lacking, (json.dumps(list(units)),)).fetchall()
    store_vectors(connection, [(number, units[chunk_id]) for number, chunk_id in rows])


def pending(connection: apsw.Connection) -> int:
    counts = state_of(connection) in ("ready", "leftovers")
    return int(connection.execute(PENDING_WITH_VECTORS if counts else PENDING).get)


def has_table(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'vectors'").get)
