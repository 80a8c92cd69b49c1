"""The models of a store as rows and tables: one table of vectors for each, and the choice between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import apsw

from kb.errors import StoreError
from kb.models import Calibration, Choice
from kb.store import choice as choices
from kb.store.sqlite import vectors
from kb.store.sqlite.rows import pack
from kb.types import ModelInfo, Value, Vector

ROW = "SELECT id, info, state, rate, problem, calibration FROM models"
NO_EXTENSION = "sqlite-vec does not load here, and vectors are written through it"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Generation(Value):
    """A model, and the table with its vectors."""

    number: int
    info: ModelInfo
    state: str
    rate: float | None
    problem: str | None
    calibration: Calibration | None

    @property
    def table(self) -> str:
        return table_of(self.number)

    @property
    def counts(self) -> bool:
        """Whether what is in its table can be used."""
        return self.state in ("ready", "leftovers")


def table_of(number: int) -> str:
    return "vectors" if number == 1 else f"vectors_{int(number)}"


def to_model(value: str) -> ModelInfo:
    known = json.loads(value)
    return ModelInfo(**{**known, "scripts": tuple(known["scripts"])})


def to_generation(row: Sequence[Any]) -> Generation:
    calibration = Calibration(*json.loads(row[5])) if row[5] else None
    return Generation(row[0], to_model(row[1]), row[2], row[3], row[4], calibration)


# ---------------------------------------------------------------- reading


def every(connection: apsw.Connection) -> list[Generation]:
    return [to_generation(row) for row in connection.execute(f"{ROW} ORDER BY id").fetchall()]


def find(connection: apsw.Connection, label: str | None) -> Generation | None:
    if label is None:
        return None
    row = connection.execute(f"{ROW} WHERE label = ?", (label,)).fetchone()
    return to_generation(row) if row else None


def choice_of(connection: apsw.Connection) -> Choice:
    return choices.from_json(connection.execute("SELECT value FROM meta WHERE key = 'choice'").get)


def answering(connection: apsw.Connection, collection: str | None = None) -> Generation | None:
    return find(connection, choice_of(connection).label(collection))


def has_table(connection: apsw.Connection, generation: Generation) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = ?", (generation.table,)).get)


def lacking(generation: Generation) -> str:
    """A condition on ``chunks c``: there is neither a vector of this model nor the note that there is nothing to compare."""
    number = int(generation.number)
    blank = f"NOT EXISTS (SELECT 1 FROM blanks b WHERE b.model = {number} AND b.chunk = c.id)"
    if not generation.counts:
        return blank
    return f"NOT EXISTS (SELECT 1 FROM {generation.table}_rowids r WHERE r.rowid = c.id) AND {blank}"


def pending(connection: apsw.Connection, generation: Generation, collection: str | None = None) -> int:
    if collection is None:
        return int(connection.execute(f"SELECT count(*) FROM chunks c WHERE {lacking(generation)}").get)
    statement = (
        "SELECT count(*) FROM documents d CROSS JOIN chunks c ON c.document = d.id "
        f"WHERE d.collection = ? AND {lacking(generation)}"
    )
    return int(connection.execute(statement, (pack(collection),)).get)


def known(connection: apsw.Connection, generation: Generation, hashes: Iterable[str]) -> dict[str, Vector]:
    """Stored vectors by the hash of their text; ``b""`` where it is known that there is nothing to compare."""
    if not generation.counts:
        return {}
    among = "c.embed_hash IN (SELECT value FROM json_each(:hashes))"
    bindings = {"hashes": json.dumps(list(dict.fromkeys(hashes))), "model": generation.number}
    blank = (
        f"SELECT DISTINCT c.embed_hash FROM chunks c JOIN blanks b ON b.chunk = c.id AND b.model = :model WHERE {among}"
    )
    found = {row[0]: b"" for row in connection.execute(blank, bindings)}
    held = (
        f"SELECT c.embed_hash, min(c.id) FROM chunks c JOIN {generation.table}_rowids r ON r.rowid = c.id "
        f"WHERE {among} GROUP BY c.embed_hash"
    )
    numbers = {number: name for name, number in connection.execute(held, {"hashes": bindings["hashes"]})}
    read = vectors.read(connection, generation.table, generation.info.dimension, list(numbers))
    return found | {numbers[number]: vector for number, vector in read}


# ---------------------------------------------------------------- writing


def save_choice(connection: apsw.Connection, choice: Choice) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('choice', ?)", (choices.to_json(choice),))


def create(connection: apsw.Connection, info: ModelInfo) -> Generation:
    """A place for the vectors of a model. Without sqlite-vec its table has to wait for a writer that has it."""
    loaded = vectors.load(connection)
    statement = "INSERT INTO models(label, info, state) VALUES (?, ?, ?) RETURNING id"
    state = "ready" if loaded else "stale"
    number = connection.execute(statement, (info.label, json.dumps(asdict(info)), state)).fetchall()[0][0]
    generation = Generation(number, info, state, None, None, None)
    if loaded:
        create_table(connection, generation)
    return generation


def create_table(connection: apsw.Connection, generation: Generation) -> None:
    connection.execute(f"DROP TABLE IF EXISTS {generation.table}")
    connection.execute(
        f"CREATE VIRTUAL TABLE {generation.table} USING vec0("
        f"embedding float[{int(generation.info.dimension)}] distance_metric=cosine, chunk_size={vectors.CHUNK_ROWS})"
    )


def drop(connection: apsw.Connection, generation: Generation) -> None:
    """Everything of a model. Without sqlite-vec its table cannot go: then it stays, and counts for nothing."""
    if vectors.load(connection):
        connection.execute(f"DROP TABLE IF EXISTS {generation.table}")
        connection.execute("DELETE FROM models WHERE id = ?", (generation.number,))
        connection.execute("DELETE FROM blanks WHERE model = ?", (generation.number,))  # foreign keys may be off
        return
    if has_table(connection, generation):
        raise StoreError(NO_EXTENSION, fix="kb doctor")
    connection.execute("DELETE FROM models WHERE id = ?", (generation.number,))


def set_state(connection: apsw.Connection, generation: Generation, state: str) -> None:
    connection.execute("UPDATE models SET state = ? WHERE id = ?", (state, generation.number))


def ready(connection: apsw.Connection, generation: Generation) -> Generation | None:
    """The same, when its vectors can be written; what a writer without sqlite-vec left over is cleared first."""
    if not vectors.load(connection):
        return None
    if generation.state == "stale":
        create_table(connection, generation)
    elif generation.state == "leftovers":
        table = generation.table
        gone = f"SELECT rowid FROM {table}_rowids WHERE rowid NOT IN (SELECT id FROM chunks)"
        connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", connection.execute(gone).fetchall())
    if generation.state != "ready":
        set_state(connection, generation, "ready")
    return replace(generation, state="ready")


def store_vectors(connection: apsw.Connection, generation: Generation, found: Iterable[tuple[int, Vector]]) -> None:
    """By number of the chunk; ``b""`` where there is nothing to compare."""
    found = list(found)
    blanks = [(generation.number, number) for number, vector in found if not vector]
    connection.executemany("INSERT INTO blanks(model, chunk) VALUES (?, ?)", blanks)
    there = [pair for pair in found if pair[1]]
    connection.executemany(f"INSERT INTO {generation.table}(rowid, embedding) VALUES (?, ?)", there)


def drop_vectors(connection: apsw.Connection, generation: Generation, documents: str) -> None:
    """Those of the chunks of these documents (a JSON list of numbers), before the chunks themselves go."""
    if vectors.load(connection) and generation.counts:
        chunks = "SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?))"
        held = f"SELECT rowid FROM {generation.table}_rowids WHERE rowid IN ({chunks})"
        rows = connection.execute(held, (documents,)).fetchall()
        connection.executemany(f"DELETE FROM {generation.table} WHERE rowid = ?", rows)
    elif generation.state == "ready":
        set_state(connection, generation, "leftovers")
