"""Rebuild what is derived; put aside, and never delete, what is not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import apsw

from kb.errors import StoreCorrupt, StoreError
from kb.models import Choice, Seat
from kb.store import choice as choices
from kb.store.sqlite import generations, salvage, vectorcheck, vectors, where, words
from kb.store.sqlite.check import FTS, SQL_TESTS, check, inspect, reference, unreadable_models
from kb.store.sqlite.connect import Place, writer
from kb.store.sqlite.lease import lease
from kb.store.sqlite.rows import CHUNK, DOCUMENT, checksum, to_chunk, to_document, unpack
from kb.types import CheckReport, Problem


def repair(place: Place, wait_s: float) -> CheckReport:
    """What is still wrong afterwards, and what was done."""
    before = check(place, wait_s)
    if before.ok:
        return before
    with lease(place.lock, wait_s):
        done: tuple[str, ...]
        if any(problem.code == "file" for problem in before.problems):
            done = (salvage.renew(place, aside(place)),)
        else:
            try:
                done = _mend(place, before.problems)
            except (apsw.Error, StoreError) as cause:
                done = (f"could not be mended in place ({cause})", salvage.renew(place, aside(place)))
    return replace(check(place, wait_s), repaired=done)


def aside(place: Place) -> Path:
    """A new folder for what is put aside."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    folder = place.folder / f"quarantine-{stamp}"
    folder.mkdir(mode=0o700)
    return folder


def _mend(place: Place, problems: Sequence[Problem]) -> tuple[str, ...]:
    codes = {problem.code for problem in problems}
    connection = writer(place)
    try:
        where.register(connection)
        vectors.load(connection)
        # By hand: the triggers would take words out of the index that it may not hold. It is built again at the end.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN IMMEDIATE")
        done = [text for code, step in STEPS.items() if code & codes for text in step(connection)]
        if codes & BROKEN:
            done.append(_put_aside(connection, place))
        done += _indexes(connection)
        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
        left = inspect(connection).problems
        if left:
            raise StoreCorrupt(f"{left[0].code}: {left[0].detail}")
        connection.execute("COMMIT")
        return tuple(done)
    finally:
        connection.close()  # what was not committed is undone


def _schema(connection: apsw.Connection) -> list[str]:
    there = dict(connection.execute("SELECT name, type FROM sqlite_schema").fetchall())
    sqls = dict(connection.execute("SELECT name, sql FROM sqlite_schema").fetchall())
    mended: list[str] = []
    for name, sql in reference().items():
        if sql is None or sqls.get(name) == sql or (name in there and there[name] == "table"):
            continue
        if name in there:
            connection.execute(f"DROP {there[name]} {name}")
        if not sql.startswith("CREATE TABLE") or name in ("blanks", "models"):
            connection.execute(sql)
        mended.append(name)
    for table, _ in FTS.values():
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('secure-delete', 1)")
    return [f"schema: made again {', '.join(mended) or 'settings'}"]


def _meta(connection: apsw.Connection) -> list[str]:
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if not isinstance(meta.get("revision"), int) or meta["revision"] < 0:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('revision', ?)", (int(datetime.now(UTC).timestamp()),))
    lost = unreadable_models(connection)
    for number in lost:  # whose vectors these are is no longer known: they are made anew
        connection.execute("DELETE FROM models WHERE id = ?", (number,))
        connection.execute("DELETE FROM blanks WHERE model = ?", (number,))
        connection.execute(f"DROP TABLE IF EXISTS {generations.table_of(number)}")
    held = [row[0] for row in connection.execute("SELECT label FROM models ORDER BY id").fetchall()]
    try:
        choice = choices.forget(choices.from_json(meta["choice"]), held)
    except (KeyError, TypeError, ValueError, AttributeError):
        choice = Choice(Seat(held[0])) if len(held) == 1 else Choice()
    generations.save_choice(connection, choice)
    return ["meta: revision and state set again"]


def _orphan(connection: apsw.Connection) -> list[str]:
    connection.execute("DELETE FROM tags WHERE document NOT IN (SELECT id FROM documents)")
    connection.execute("DELETE FROM chunks WHERE document NOT IN (SELECT id FROM documents)")
    connection.execute("DELETE FROM blanks WHERE chunk NOT IN (SELECT id FROM chunks)")
    connection.execute("DELETE FROM blanks WHERE model NOT IN (SELECT id FROM models)")
    return ["orphan: rows that belonged to nothing are gone"]


def _words(connection: apsw.Connection) -> list[str]:
    words.fill(connection)
    return ["words: copies for the index made again from the texts"]


def _vector(connection: apsw.Connection) -> list[str]:
    """Keep every vector that is sound and belongs to a chunk; the others wait for the embedder again."""
    every = generations.every(connection)
    for name in vectorcheck.stray(connection, every):
        connection.execute(f'DROP TABLE "{name}"')
    done = []
    for generation in every:
        good: dict[int, bytes] = {}
        if generation.counts and generations.has_table(connection, generation):
            chunks = {row[0] for row in connection.execute("SELECT id FROM chunks")}
            right = {number for number, fault in vectorcheck.faults(connection, generation) if fault is None}
            for _, _, number, vector in vectorcheck.slots(connection, generation):
                if number in chunks & right:
                    good[number] = vector
        generations.create_table(connection, generation)
        generations.set_state(connection, generation, "ready")
        blank = "DELETE FROM blanks WHERE model = ? AND chunk = ?"
        connection.executemany(blank, [(generation.number, number) for number in good])
        generations.store_vectors(connection, generation, good.items())
        done.append(f"vector: {len(good)} of {generation.info.label} kept, the others wait to be embedded")
    return done or ["vector: dropped, as no model is known"]


def _indexes(connection: apsw.Connection) -> list[str]:
    connection.execute("REINDEX")
    for table, _ in FTS.values():
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
    return ["fts, trigram, index: built again from the texts"]


STEPS: dict[frozenset[str], Callable[[apsw.Connection], list[str]]] = {
    frozenset({"schema"}): _schema,
    frozenset({"meta"}): _meta,
    frozenset({"orphan"}): _orphan,
    frozenset({"words", "script"}): _words,
    frozenset({"vector", "orphan"}): _vector,
}
BROKEN = {"text", *SQL_TESTS}  # not derived: only the sources can bring it back


def _put_aside(connection: apsw.Connection, place: Place) -> str:
    """Documents that no longer are what was stored: into a file beside the store, and out of it."""
    broken = {row[0] for statement in SQL_TESTS.values() for row in connection.execute(statement)}
    for row in connection.execute(
        f"SELECT {CHUNK}, c.crc, c.document FROM chunks c JOIN documents d ON d.id = c.document"
    ):
        try:
            if checksum(to_chunk(row)) != row[14]:
                broken.add(row[15])
        except (ValueError, TypeError):
            broken.add(row[15])
    folder = aside(place)
    with open(folder / "documents.jsonl", "w", encoding="utf-8", opener=_private) as file:
        for number in sorted(broken):
            file.write(json.dumps(_readable(connection, number)) + "\n")
    _delete(connection, str(sorted(broken)))
    return f"{len(broken)} damaged documents put aside in {folder.name}: add them again from their sources"


def _delete(connection: apsw.Connection, documents: str) -> None:
    among = "(SELECT value FROM json_each(?))"
    chunks = f"(SELECT id FROM chunks WHERE document IN {among})"
    for generation in generations.every(connection):
        generations.drop_vectors(connection, generation, documents)
    connection.execute(f"DELETE FROM blanks WHERE chunk IN {chunks}", (documents,))
    for table, column in (("tags", "document"), ("chunks", "document"), ("documents", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN {among}", (documents,))


def _readable(connection: apsw.Connection, number: int) -> dict[str, object]:
    document = connection.execute(f"SELECT {DOCUMENT} FROM documents d WHERE d.id = ?", (number,)).fetchone()
    texts = connection.execute("SELECT text FROM chunks WHERE document = ? ORDER BY ordinal", (number,)).fetchall()
    try:
        known: object = asdict(to_document(document))
    except (ValueError, TypeError, IndexError):
        known = repr(document)
    return {"document": known, "texts": [unpack(row[0]) for row in texts]}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
