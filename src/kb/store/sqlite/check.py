"""Every promise of the store, verified: from the bytes of the file up to what a search will find.

What the obvious checks miss (measured): after rows vanish from a full-text index, or all of them, the integrity check
of SQLite and the plain one of FTS5 still say "ok", and ``count(*)`` counts the content instead of the index.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import apsw

from kb.errors import StoreCorrupt
from kb.store import choice as choices
from kb.store.sqlite import generations, schema, vectorcheck, vectors, where, words
from kb.store.sqlite.connect import Place, missing, reader, recognise, writer
from kb.store.sqlite.lease import lease
from kb.store.sqlite.rows import CHUNK, checksum, to_chunk, unpack
from kb.text import index_text
from kb.types import DOC_TYPES, TRUST_LEVELS, CheckReport, Problem

BIG = 1 << 30  # bytes of file from which on the quicker check of SQLite has to do
FTS = {"fts": ("chunks_fts", "chunks_words"), "trigram": ("chunks_trigram", "chunks_cjk")}
Check = Callable[[apsw.Connection], Iterator[Problem]]


def check(place: Place, wait_s: float) -> CheckReport:
    """Look at everything and change nothing."""
    try:
        recognise(place.db)
        if not os.access(place.folder, os.W_OK):
            return _closing(reader(place))
        with lease(place.lock, wait_s):
            return _closing(writer(place))
    except FileNotFoundError:
        raise missing(place.folder) from None
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, StoreCorrupt) as cause:
        return CheckReport((Problem("file", f"the database cannot be read: {cause}", repairable=False),))


def _closing(connection: apsw.Connection) -> CheckReport:
    try:
        return inspect(connection)
    finally:
        connection.close()


def inspect(connection: apsw.Connection) -> CheckReport:
    """All checks in one transaction, which is rolled back."""
    where.register(connection)
    vectors.load(connection)
    # The full check of FTS5 is a command in the form of an INSERT, which a reader may not give.
    commands = not connection.execute("PRAGMA query_only").get
    outer = connection.in_transaction
    if not outer:
        connection.execute("BEGIN IMMEDIATE" if commands else "BEGIN")
    try:
        problems = list(_file(connection))
        if not any(problem.code == "file" for problem in problems):
            for test in (*TESTS, *([_fts] if commands else []), *vectorcheck.TESTS):
                problems += _guarded(test, connection)
        counted = {} if any(problem.code == "file" for problem in problems) else _counts(connection)
    finally:
        if not outer:
            connection.execute("ROLLBACK")
    return CheckReport(tuple(problems), counted)


def _guarded(test: Check, connection: apsw.Connection) -> list[Problem]:
    """A check that itself stumbles over the damage has found it."""
    try:
        return list(test(connection))
    except (apsw.Error, ValueError, TypeError, LookupError) as cause:
        code = {"_fts": "fts", "_fts_rows": "fts"}.get(test.__name__, test.__name__.strip("_"))
        return [Problem(code if code in REPAIRABLE else "file", f"{type(cause).__name__}: {cause}", code in REPAIRABLE)]


def _counts(connection: apsw.Connection) -> dict[str, int]:
    tables = ("documents", "chunks", "tags", "chunks_fts_docsize", "chunks_trigram_docsize", "blanks", "models")
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    found = {name: int(connection.execute(f"SELECT count(*) FROM {name}").get) for name in tables if name in there}
    held = [name for name in sorted(there) if re.fullmatch(r"vectors(_\d+)?_rowids", name)]
    found["vectors_rowids"] = sum(int(connection.execute(f"SELECT count(*) FROM {name}").get) for name in held)
    return found


# ---------------------------------------------------------------- the checks


def _file(connection: apsw.Connection) -> Iterator[Problem]:
    size = connection.execute("PRAGMA page_count").get * connection.execute("PRAGMA page_size").get
    try:
        found = [row[0] for row in connection.execute(f"PRAGMA {'quick' if size > BIG else 'integrity'}_check(20)")]
    except apsw.Error as cause:
        found = [str(cause)]
    for text in [] if found == ["ok"] else found:
        table = next((code for code, (name, _) in FTS.items() if name in text), None)
        if table:
            yield Problem(table, text)
        elif re.search(r"missing from index|wrong # of entries in index|non-unique entry in index", text):
            yield Problem("index", text)
        else:
            yield Problem("file", text, repairable=False)


def _schema(connection: apsw.Connection) -> Iterator[Problem]:
    there = dict(connection.execute("SELECT name, sql FROM sqlite_schema"))
    for name, sql in reference().items():
        if there.get(name) != sql:
            yield Problem("schema", f"'{name}' is {'not as it should be' if name in there else 'missing'}")
    for table, _ in FTS.values():
        if connection.execute(f"SELECT v FROM {table}_config WHERE k = 'secure-delete'").get != 1:
            yield Problem("schema", f"'{table}' keeps words of deleted texts (secure-delete is off)")


def _meta(connection: apsw.Connection) -> Iterator[Problem]:
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    if not isinstance(meta.get("revision"), int) or meta["revision"] < 0:
        yield Problem("meta", f"the revision is {meta.get('revision')!r}")
    yield from _choice(connection, meta)


def _choice(connection: apsw.Connection, meta: Mapping[str, Any]) -> Iterator[Problem]:
    bad = unreadable_models(connection)
    for number in bad:
        yield Problem("meta", f"the model of number {number} is not readable")
    try:
        named = choices.labels(choices.from_json(meta["choice"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        yield Problem("meta", f"the choice of models is {meta.get('choice', 'missing')!r}")
        return
    gone = named - {row[0] for row in connection.execute("SELECT label FROM models")}
    if gone:
        yield Problem("meta", f"the store is to use models that it does not hold: {', '.join(sorted(gone))}")


def unreadable_models(connection: apsw.Connection) -> list[int]:
    found = []
    for row in connection.execute(f"SELECT label, {generations.ROW[7:]} ORDER BY id").fetchall():
        try:
            generation = generations.to_generation(row[1:])
            fine = generation.info.label == row[0] and generation.state in ("ready", "leftovers", "stale")
            fine = fine and generation.info.dimension > 0
        except (KeyError, TypeError, ValueError):
            fine = False
        if not fine:
            found.append(int(row[1]))
    return found


def _orphan(connection: apsw.Connection) -> Iterator[Problem]:
    orphans: dict[str, int] = {}
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        orphans[str(table)] = orphans.get(str(table), 0) + 1
    for table, count in sorted(orphans.items()):
        yield Problem("orphan", f"{count} rows of '{table}' belong to nothing")


def _fts_rows(connection: apsw.Connection) -> Iterator[Problem]:
    for code, (table, view) in FTS.items():
        pair = (f"SELECT id FROM {table}_docsize", f"SELECT id FROM {view}")
        extra, lacking = (
            connection.execute(f"SELECT count(*) FROM ({a} EXCEPT {b})").get for a, b in (pair, pair[::-1])
        )
        if extra or lacking:
            yield Problem(code, f"the index '{table}' lacks {lacking} chunks and has {extra} too many")


def _fts(connection: apsw.Connection) -> Iterator[Problem]:
    for code, (table, _) in FTS.items():
        try:
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        except apsw.Error as cause:
            yield Problem(code, f"the index '{table}' does not agree with the texts: {cause}")


def _derived(connection: apsw.Connection) -> Iterator[Problem]:
    """What the index reads, against the texts it is made of; and the texts against their checksums."""
    wrong: dict[str, list[str]] = {"text": [], "words": [], "script": []}
    for title, path, *held in connection.execute(f"SELECT title, path, {words.OF_DOCUMENT} FROM documents"):
        if tuple(held) != words.of_document(unpack(title) or "", unpack(path) or ""):
            wrong["words"].append(str(title))
    columns = f"{CHUNK}, c.crc, d.title, d.lang, {words.OF_CHUNK}"
    for row in connection.execute(f"SELECT {columns} FROM chunks c JOIN documents d ON d.id = c.document"):
        (crc, title, lang), held = row[14:17], row[17:]
        try:
            stored = to_chunk(row)
        except (ValueError, TypeError):
            wrong["text"].append(str(row[0]))
            continue
        right = words.of_chunk(row, index_text(unpack(title) or ""), unpack(lang))
        if crc != checksum(stored):
            wrong["text"].append(stored.chunk_id)
        elif held[:2] + held[3:] != right[:2] + right[3:]:
            wrong["words"].append(stored.chunk_id)
        elif held[2] != right[2]:
            wrong["script"].append(stored.chunk_id)
    for code, names in wrong.items():
        if names:
            yield Problem(code, f"{WRONG[code]}: {len(names)}, the first is {names[0]}", code != "text")


WRONG = {
    "text": "chunks whose text, headings or span are not those that were stored",
    "words": "chunks or titles whose copy for the index is not made from them",
    "script": "chunks that are in the wrong index for their script",
}
SQL_TESTS = {
    "span": "SELECT document FROM chunks WHERE NOT (0 <= offset_start AND offset_start <= offset_end "
    "AND 1 <= span_start AND span_start <= span_end AND span_kind IN ('line', 'page'))",
    "ordinal": "SELECT document FROM chunks GROUP BY document HAVING min(ordinal) <> 0 OR max(ordinal) <> count(*) - 1",
    "document": f"SELECT id FROM documents WHERE type NOT IN {DOC_TYPES} OR trust NOT BETWEEN 0 AND "
    f"{len(TRUST_LEVELS) - 1} OR doc_id = '' UNION SELECT document FROM chunks WHERE kind NOT IN ('code', 'info') "
    "OR NOT json_valid(heading_path)",
}


def _values(connection: apsw.Connection) -> Iterator[Problem]:
    for code, statement in SQL_TESTS.items():
        count = connection.execute(
            f"SELECT count(DISTINCT document) FROM ({statement.replace(' id ', ' id document ', 1)})"
        )
        if found := count.get:
            yield Problem(code, f"{found} documents have an impossible {code}", repairable=False)


TESTS: tuple[Check, ...] = (_schema, _meta, _orphan, _values, _derived, _fts_rows)
REPAIRABLE = {"schema", "meta", "orphan", "fts", "trigram", "index", "words", "script", "vector"}


@cache
def reference() -> dict[str, str | None]:
    """The tables, views, indexes and triggers as they must be."""
    connection = apsw.Connection(":memory:")
    schema.upgrade(connection)
    rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    return dict(rows.fetchall())
