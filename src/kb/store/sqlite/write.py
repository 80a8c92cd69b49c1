"""Everything that changes the store: one writer, one transaction, one new revision."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import apsw

from kb.errors import StoreError
from kb.models import Choice, Seat
from kb.store.entries import prepare, unit
from kb.store.sqlite import generations, vectors
from kb.store.sqlite.generations import Generation
from kb.store.sqlite.rows import INSERT_CHUNK, INSERT_DOCUMENT, chunk_row, document_row, pack
from kb.types import Entry, ModelInfo, Vector

BATCH_CHUNKS = 4_000  # per transaction: the index merges well, and no other writer waits for more than about a second


def put(connection: apsw.Connection, entries: Sequence[Entry]) -> None:
    every = generations.every(connection)
    answering = generations.answering(connection)
    held = {generation.info.label: generation.info for generation in every}
    entries = [prepare(entry, answering.info if answering else None, held) for entry in entries]
    usable = {each.info.label: each for one in every if (each := generations.ready(connection, one))}
    for entry in entries:
        _drop(connection, _replaced(connection, entry), list(usable.values()) or every)
        _add(connection, entry, usable)


def _replaced(connection: apsw.Connection, entry: Entry) -> list[int]:
    """What the entry takes the place of: the document of its id, and another of its path."""
    document = entry.document
    statement = "SELECT id FROM documents WHERE doc_id = ? OR (collection = ? AND path = ?)"
    values = (document.doc_id, pack(document.collection), pack(document.path))
    return [row[0] for row in connection.execute(statement, values)]


def _add(connection: apsw.Connection, entry: Entry, usable: Mapping[str, Generation]) -> None:
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
    for label, row in entry.by_model.items():
        if label in usable:
            found = [(first + place, vector) for place, vector in enumerate(row) if vector is not None]
            generations.store_vectors(connection, usable[label], found)


def remove(connection: apsw.Connection, doc_ids: Sequence[str]) -> int:
    statement = "SELECT id FROM documents WHERE doc_id IN (SELECT value FROM json_each(?))"
    numbers = [row[0] for row in connection.execute(statement, (json.dumps(list(doc_ids)),))]
    _drop(connection, numbers, generations.every(connection))
    return len(numbers)


def _drop(connection: apsw.Connection, documents: Sequence[int], every: Sequence[Generation]) -> None:
    if not documents:
        return
    numbers = str(list(documents))
    for generation in every:
        generations.drop_vectors(connection, generation, numbers)
    connection.executemany("DELETE FROM documents WHERE id = ?", [(number,) for number in documents])


def set_model(connection: apsw.Connection, model: ModelInfo) -> None:
    """The vectors of all other models go in the same transaction. Without sqlite-vec they only stop to count."""
    loaded = vectors.load(connection)
    for generation in generations.every(connection):
        if loaded or not generations.has_table(connection, generation):
            generations.drop(connection, generation)
        elif generation.info.label == model.label:
            connection.execute("DELETE FROM models WHERE id = ?", (generation.number,))
        else:
            generations.set_state(connection, generation, "stale")
            connection.execute("DELETE FROM blanks WHERE model = ?", (generation.number,))
    generations.create(connection, model)
    generations.save_choice(connection, Choice(Seat(model.label)))


def fill(connection: apsw.Connection, generation: Generation, found: Mapping[str, Vector], by: str) -> None:
    """Store vectors for chunks that lack one, by their `chunk_id` or by the `embed_hash` of their text."""
    units = {name: unit(vector, generation.info) for name, vector in found.items()}
    usable = generations.ready(connection, generation)
    if usable is None:
        return
    column = {"chunk_id": "chunk_id", "embed_hash": "embed_hash"}[by]
    rows = connection.execute(
        f"SELECT c.id, c.{column} FROM chunks c WHERE c.{column} IN (SELECT value FROM json_each(?)) "
        f"AND {generations.lacking(usable)}",
        (json.dumps(list(units)),),
    ).fetchall()
    generations.store_vectors(connection, usable, [(number, units[name]) for number, name in rows])


def next_revision(connection: apsw.Connection, documents: int = 1) -> int:
    """It counts documents, not transactions: how many share one depends on the clock, and answers should not."""
    statement = "UPDATE meta SET value = value + ? WHERE key = 'revision' RETURNING value"
    return int(connection.execute(statement, (documents,)).fetchall()[0][0])
