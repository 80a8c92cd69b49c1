"""How long chunks are, as bm25 counts it: from the two tables in which FTS5 keeps the sizes of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import apsw

from kb.types import Extent

AVERAGES = 1  # the row of chunks_fts_data that holds the number of rows and the words in each column
DIGITS = 9
EXTENTS = """
SELECT c.chunk_id, d.doc_id, z.sz, (SELECT count(*) FROM chunks s WHERE s.document = c.document)
FROM chunks c JOIN documents d ON d.id = c.document JOIN chunks_fts_docsize z ON z.id = c.id
WHERE c.chunk_id IN (SELECT value FROM json_each(:ids))"""


def extents(connection: apsw.Connection, chunk_ids: Sequence[str]) -> dict[str, Extent]:
    average = _average(connection)
    rows = connection.execute(EXTENTS, {"ids": json.dumps(list(chunk_ids))})
    return {
        name: Extent(doc_id, round(sum(_numbers(sizes)) / average, DIGITS), siblings)
        for name, doc_id, sizes, siblings in rows
    }


def _average(connection: apsw.Connection) -> float:
    """Words per row; FTS5 divides by it too."""
    block = connection.execute("SELECT block FROM chunks_fts_data WHERE id = ?", (AVERAGES,)).get
    rows, *words = _numbers(block) if block else [0]
    return (sum(words) / rows if rows else 0.0) or 1.0


def _numbers(block: bytes) -> list[int]:
    """The varints of SQLite: seven bits a byte, the highest first; a ninth byte would count whole."""
    return list(_varints(block))


def _varints(block: bytes) -> Iterator[int]:
    value = size = 0
    for byte in block:
        size += 1
        if size == 9:
            value = value << 8 | byte
        else:
            value = value << 7 | byte & 0x7F
            if byte & 0x80:
                continue
        yield value
        value = size = 0
