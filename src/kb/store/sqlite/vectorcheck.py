"""The vectors, verified from their own tables: counts that go through sqlite-vec would hide what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import mul

import apsw

from kb.store.entries import floats
from kb.store.sqlite import generations
from kb.store.sqlite.generations import Generation
from kb.store.sqlite.vectors import CHUNK_ROWS
from kb.types import Problem

TOLERANCE = 1e-3  # of the length: writes are held to 1e-6, this is for damage


def _vector(connection: apsw.Connection) -> Iterator[Problem]:
    every = generations.every(connection)
    for generation in every:
        if generation.counts:
            yield from _table(connection, generation)
    for name in stray(connection, every):
        yield Problem("vector", f"the vectors in '{name}' are of no known model")


def _table(connection: apsw.Connection, generation: Generation) -> Iterator[Problem]:
    info = generation.info
    made = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (generation.table,)).get
    if made is None:
        yield Problem("vector", f"there are no vectors of {info.label}, not even a place for them")
        return
    if f"float[{info.dimension}]" not in str(made):
        yield Problem("vector", f"the vectors are not of the {info.dimension} components of {info.label}")
        return
    yield from _rows(connection, generation)
    wrong = [number for number, fault in faults(connection, generation) if fault]
    if wrong:
        yield Problem("vector", f"{len(wrong)} vectors of {info.label} are damaged, the first is of row {wrong[0]}")


def _rows(connection: apsw.Connection, generation: Generation) -> Iterator[Problem]:
    held = f"SELECT count(*) FROM {generation.table}_rowids WHERE rowid"
    orphans = connection.execute(f"{held} NOT IN (SELECT id FROM chunks)").get
    if orphans and generation.state == "ready":
        yield Problem("vector", f"{orphans} vectors of {generation.info.label} belong to no chunk")
    both = connection.execute(f"{held} IN (SELECT chunk FROM blanks WHERE model = ?)", (generation.number,)).get
    if both:
        yield Problem("vector", f"{both} chunks are said to have nothing to compare, but have a vector")


def stray(connection: apsw.Connection, every: Sequence[Generation]) -> list[str]:
    """Tables of vectors that belong to no model."""
    known = {generation.table for generation in every}
    made = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING vec0(%'"
    return sorted(row[0] for row in connection.execute(made) if row[0] not in known)


def faults(connection: apsw.Connection, generation: Generation) -> Iterator[tuple[int, str | None]]:
    """Row number and what is wrong with it, ``None`` for a sound one; slots that nobody owns count, too."""
    places = {
        row[0]: (row[1], row[2])
        for row in connection.execute(f"SELECT rowid, chunk_id, chunk_offset FROM {generation.table}_rowids")
    }
    for block, slot, number, vector in slots(connection, generation):
        if places.pop(number, None) != (block, slot):
            yield number, "is in another place than it should be"
        else:
            yield number, None if sound(vector) else "is no unit vector"
    for number in places:
        yield number, "is missing"


def slots(connection: apsw.Connection, generation: Generation) -> Iterator[tuple[int, int, int, bytes]]:
    """Block, slot, row number and vector of every slot in use, as far as the blocks are whole."""
    width, table = 4 * generation.info.dimension, generation.table
    blocks = connection.execute(
        f"SELECT k.chunk_id, k.validity, k.rowids, v.vectors FROM {table}_chunks k "
        f"JOIN {table}_vector_chunks00 v ON v.rowid = k.chunk_id ORDER BY k.chunk_id"
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
