"""The vector leg: three ways to find the nearest chunks, which agree to the last digit.

Each way only nominates: more candidates than asked for, by its own arithmetic. The cosine that counts is then computed
in one way for all, in double precision, and rounded to nine decimals.
"""

from __future__ import annotations

import heapq
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from operator import mul
from typing import TYPE_CHECKING, Any

import apsw

from kb.errors import UsageError
from kb.store.entries import floats
from kb.store.sqlite.like import best
from kb.store.sqlite.where import chunk_numbers
from kb.types import Candidate, Filters, Value, Vector

if TYPE_CHECKING:
    from kb.store.sqlite.matrix import Matrix

DIGITS = 9
CLOSE = 1e-5  # float32 arithmetic of 2,000 components errs by less: what is further apart stays in order
SLACK = 16  # candidates beyond the limit, or a tenth of it where that is more
KNN_MOST = 4096  # what sqlite-vec returns at most
CHUNK_ROWS = 64  # vectors per row of the table: a small store stays small, and a search costs the same as with 1024
PATIENCE = 2  # searches at one revision before the matrix pays: numpy takes 120 ms to import, sqlite-vec nothing

Found = list[tuple[int, float]]  # row number and cosine as that way computes it, best first


class Vectors:
    """The vector leg of one store: which way answers, and the matrix in memory for those that came often."""

    def __init__(self, engine: str | None = None) -> None:
        wanted = engine or os.environ.get("KB_VECTOR_ENGINE") or None
        if wanted is not None and wanted not in WAYS:
            raise UsageError(f"there is no vector engine '{wanted}'", fix=f"use one of: {', '.join(WAYS)}")
        self._wanted = wanted
        self._lock = threading.Lock()
        self._seen = (-1, 0)  # revision, searches at it
        self._matrix: dict[str, tuple[int, Matrix]] = {}  # by table: one for each model that answers

    def engine(self, table: str, revision: int, rows: int = 0) -> str:
        """Which way will answer a search at this revision for so many rows."""
        possible = rows <= KNN_MOST and extension() is not None
        if self._wanted is not None and (self._wanted != "sqlite-vec" or possible):
            return self._wanted
        ready = table in self._matrix and self._matrix[table][0] == revision
        often = self._seen[0] == revision and self._seen[1] >= PATIENCE
        if (ready or often or not possible) and has_numpy():
            return "numpy"
        return "sqlite-vec" if possible else "python"

    def count(self, revision: int) -> None:
        with self._lock:
            self._seen = (revision, self._seen[1] + 1 if self._seen[0] == revision else 1)

    def matrix(self, connection: apsw.Connection, table: Table, revision: int, dimension: int) -> Matrix:
        with self._lock:
            if table.name not in self._matrix or self._matrix[table.name][0] != revision:
                from kb.store.sqlite.matrix import Matrix

                older = [name for name, (at, _) in self._matrix.items() if at != revision]
                for name in older:  # of another state, perhaps of a model that is gone
                    del self._matrix[name]
                self._matrix[table.name] = (revision, Matrix(stored(connection, table.name), dimension))
            return self._matrix[table.name][1]

    def forget(self) -> None:
        self._matrix, self._seen = {}, (-1, 0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(Value):
    """Where the vectors of the model are that answers."""

    name: str
    clean: bool  # no leftovers of a writer without sqlite-vec among them


def nearest(
    connection: apsw.Connection, leg: Vectors, table: Table, revision: int, query: Vector, where: Filters, limit: int
) -> tuple[list[Candidate], str]:
    """The best chunks by cosine, ties by chunk id also where the limit cuts through them; and who found them."""
    total = connection.execute(f"SELECT count(*) FROM {table.name}_rowids").get
    rows = limit + max(SLACK, limit // 10)
    while True:
        rows = min(rows, total)
        engine = leg.engine(table.name, revision, rows)
        if engine == "sqlite-vec" and not load(connection):
            engine = "numpy" if has_numpy() else "python"
        found = WAYS[engine](connection, leg, table, revision, query, where, rows) if rows else []
        if len(found) < rows or rows >= total or found[limit - 1][1] - found[-1][1] > CLOSE:
            break
        rows *= 4
    leg.count(revision)
    if limit < len(found):
        edge = found[limit - 1][1] - CLOSE
        found = [pair for pair in found if pair[1] >= edge]
    return canonical(connection, table, query, [number for number, _ in found], limit), engine


def canonical(
    connection: apsw.Connection, table: Table, query: Vector, numbers: list[int], limit: int
) -> list[Candidate]:
    wanted = floats(query)
    scores = {
        number: min(1.0, max(-1.0, round(sum(map(mul, wanted, floats(vector))), DIGITS)))
        for number, vector in read(connection, table.name, len(query) // 4, numbers)
    }
    return best(connection, scores, limit)


def _by_sqlite_vec(
    connection: apsw.Connection, leg: Vectors, table: Table, revision: int, query: Vector, where: Filters, rows: int
) -> Found:
    load(connection)
    allowed, bindings = _allowed(connection, table, where)
    within = f" AND rowid IN ({allowed})" if allowed else ""
    statement = f"SELECT rowid, 1.0 - distance FROM {table.name} WHERE embedding MATCH :query AND k = :rows{within}"
    return connection.execute(statement, {**bindings, "query": query, "rows": rows}).fetchall()


def _by_numpy(
    connection: apsw.Connection, leg: Vectors, table: Table, revision: int, query: Vector, where: Filters, rows: int
) -> Found:
    matrix = leg.matrix(connection, table, revision, len(query) // 4)
    allowed, bindings = _allowed(connection, table, where)
    numbers = [row[0] for row in connection.execute(allowed, bindings)] if allowed else None
    return matrix.nearest(query, rows, numbers)


def _by_python(
    connection: apsw.Connection, leg: Vectors, table: Table, revision: int, query: Vector, where: Filters, rows: int
) -> Found:
    allowed, bindings = _allowed(connection, table, where)
    numbers = {row[0] for row in connection.execute(allowed, bindings)} if allowed else None
    wanted = floats(query)
    scored = (
        (number, math.fsum(map(mul, wanted, floats(vector))))
        for number, vector in _each(stored(connection, table.name), len(query))
        if numbers is None or number in numbers
    )
    return heapq.nlargest(rows, scored, key=lambda pair: pair[1])


WAYS: Mapping[str, Callable[[apsw.Connection, Vectors, Table, int, Vector, Filters, int], Found]] = {
    "sqlite-vec": _by_sqlite_vec,
    "numpy": _by_numpy,
    "python": _by_python,
}


def _allowed(connection: apsw.Connection, table: Table, where: Filters) -> tuple[str, dict[str, Any]]:
    """The chunks that may be found, or "" for all; leftovers of a writer without sqlite-vec are never among them."""
    if where.empty and table.clean:
        return "", {}
    return chunk_numbers(where)


# ---------------------------------------------------------------- the table


def stored(connection: apsw.Connection, table: str) -> Iterable[tuple[bytes, bytes, bytes]]:
    """Blocks of vectors as sqlite-vec keeps them: which slots are in use (a bit each), their row numbers, the vectors."""
    return connection.execute(
        f"SELECT k.validity, k.rowids, v.vectors FROM {table}_chunks k JOIN {table}_vector_chunks00 v "
        "ON v.rowid = k.chunk_id ORDER BY k.chunk_id"
    )


def _each(blocks: Iterable[tuple[bytes, bytes, bytes]], width: int) -> Iterable[tuple[int, bytes]]:
    for validity, rowids, vectors in blocks:
        for slot, number in enumerate(memoryview(rowids).cast("q")):
            if validity[slot >> 3] >> (slot & 7) & 1:
                yield number, vectors[slot * width : (slot + 1) * width]


def read(connection: apsw.Connection, table: str, dimension: int, numbers: list[int]) -> list[tuple[int, bytes]]:
    """The vectors of these chunks. It needs no extension: each is read in place, not with its whole block."""
    width = 4 * dimension
    places = connection.execute(
        f"SELECT rowid, chunk_id, chunk_offset FROM {table}_rowids "
        "WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY chunk_id, chunk_offset",
        (str(numbers),),
    ).fetchall()
    found: list[tuple[int, bytes]] = []
    if places:
        with connection.blob_open("main", f"{table}_vector_chunks00", "vectors", places[0][1], False) as blob:
            block = places[0][1]
            for number, wanted, slot in places:
                if wanted != block:
                    blob.reopen(wanted)
                    block = wanted
                blob.seek(slot * width)
                found.append((number, blob.read(width)))
    return found


@cache
def has_numpy() -> bool:
    return find_spec("numpy") is not None


@cache
def extension() -> str | None:
    """Where sqlite-vec lies. Importing its package would import numpy, which costs 120 ms."""
    spec = find_spec("sqlite_vec")
    return os.path.join(os.path.dirname(spec.origin), "vec0") if spec and spec.origin else None


def load(connection: apsw.Connection) -> bool:
    """Make sqlite-vec known to a connection; whether that worked."""
    if connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get:
        return True
    path = extension()
    if path is None:
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(path)
    except (apsw.Error, AttributeError):
        return False
    finally:
        connection.enable_load_extension(False)
    return True
