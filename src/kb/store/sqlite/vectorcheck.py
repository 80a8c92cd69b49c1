"""The vectors, verified from their own tables: counts that go through sqlite-vec would hide what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import mul

import apsw

from kb.store.entries import floats
from kb.store.sqlite.vectors import CHUNK_ROWS
from kb.store.sqlite.write import has_table, model_of, state_of
from kb.types import Problem

TOLERANCE = 1e-3  # of the length: writes are held to 1e-6, this is for damage


def _vector(connection: apsw.Connection) -> Iterator[Problem]:
    state = state_of(connection)
    if state not in ("ready", "leftovers"):
        return
    model = model_of(connection)
    if model is None or not has_table(connection):
        yield Problem("vector", "there is a model without vectors, or vectors without a model")
        return
    if f"float[{model.dimension}]" not in str(
        connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'vectors'").get
    ):
        yield Problem("vector", f"the vectors are not of the {model.dimension} components of {model.label}")
        return
    yield from _rows(connection, state)
    wrong = [number for number, fault in faults(connection, model.dimension) if fault]
    if wrong:
        yield Problem("vector", f"{len(wrong)} vectors are damaged, the first is of row {wrong[0]}")


def _rows(connection: apsw.Connection, state: str) -> Iterator[Problem]:
    orphans = connection.execute("SELECT count(*) FROM vectors_rowids WHERE rowid NOT IN (SELECT id FROM chunks)").get
    if orphans and state == "ready":
        yield Problem("vector", f"{orphans} vectors belong to no chunk")
    both = connection.execute("SELECT count(*) FROM vectors_rowids WHERE rowid IN (SELECT chunk FROM blanks)").get
    if both:
        yield Problem("vector", f"{both} chunks are said to have nothing to compare, but have a vector")


def faults(connection: apsw.Connection, dimension: int) -> Iterator[tuple[int, str | None]]:
    """Row number and what is wrong with it, ``None`` for a sound one; slots that nobody owns count, too."""
    places = {
        row[0]: (row[1], row[2])
        for row in connection.execute("SELECT rowid, chunk_id, chunk_offset FROM vectors_rowids")
    }
    for block, slot, number, vector in slots(connection, dimension):
        if places.pop(number, None) != (block, slot):
            yield number, "is in another place than it should be"
        else:
            yield number, None if sound(vector) else "is no unit vector"
    for number in places:
        yield number, "is missing"


def slots(connection: apsw.Connection, dimension: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Block, slot, row number and vector of every slot in use, as far as the blocks are whole."""
    width = 4 * dimension
    blocks = connection.execute(
        "SELECT k.chunk_id, k.validity, k.rowids, v.vectors FROM vectors_chunks k "
        "JOIN vectors_vector_chunks00 v ON v.rowid = k.chunk_id ORDER BY k.chunk_id"
    )
    for block, validity, rowids, vectors in blocks:
        if (len(validity), len(rowids), len(vectors)) != (CHUNK_ROWS // 8, CHUNK_ROWS * 8, CHUNK_ROWS * width):
            continue
        for slot, number in enumerate(memoryview(rowids).cast("q")):
            if validity[slot >> 3] >> (slot & 7) & 1:
                yield block, slot, number, vectors[slot * width : (slot + 1) * width]


def sound(vector: bytes) -> bool:
    values = floats(vector)
    length = math.fsum(map(mul, values, values)) if all(map(math.isfinite, values)) else math.nan
    return abs(length - 1.0) <= TOLERANCE  # false for NaN


TESTS = (_vector,)
