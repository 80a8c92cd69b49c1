"""The copies that the indexes read, made again from the texts: when a store is brought up to date, and by a repair."""

from __future__ import annotations

from typing import Any

import apsw

from kb.store.sqlite.rows import CHUNK, to_chunk, unpack
from kb.store.wording import chunk_words, heading_index, is_cjk
from kb.text import index_text
from kb.wordtext import in_place, path_words

BATCH = 1_000  # chunks in memory at once
OF_DOCUMENT = "title_index, title_words, path_words"
OF_CHUNK = "heading_index, search_text, cjk, heading_words, word_text, parts, stems, stem_lang"


def of_document(title: str, path: str) -> tuple[Any, ...]:
    """What the columns OF_DOCUMENT must hold."""
    plain, words = index_text(title), in_place(title)
    return plain, None if words == plain else words, path_words(path)


def of_chunk(row: Any, title: str, lang: str | None) -> tuple[Any, ...]:
    """What the columns OF_CHUNK must hold, for a row that begins with the columns CHUNK."""
    stored = to_chunk(row)
    heading, body = heading_index(stored), index_text(stored.chunk.text)
    copies = heading, None if body == stored.chunk.text else body, int(is_cjk(title, heading, body))
    return *copies, *chunk_words(stored, lang)


def fill(connection: apsw.Connection) -> None:
    """All copies, row by row. The caller sees to the indexes: triggers are off, or not yet made."""
    documents = connection.execute("SELECT id, title, path FROM documents").fetchall()
    connection.executemany(
        f"UPDATE documents SET ({OF_DOCUMENT}) = (?, ?, ?) WHERE id = ?",
        [(*of_document(unpack(title) or "", unpack(path) or ""), number) for number, title, path in documents],
    )
    last = 0
    while True:
        rows = connection.execute(
            f"SELECT {CHUNK}, c.id, d.title_index, d.lang FROM chunks c JOIN documents d ON d.id = c.document "
            "WHERE c.id > ? ORDER BY c.id LIMIT ?",
            (last, BATCH),
        ).fetchall()
        if not rows:
            return
        connection.executemany(
            f"UPDATE chunks SET ({OF_CHUNK}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?",
            [(*of_chunk(row, row[15], unpack(row[16])), row[14]) for row in rows],
        )
        last = rows[-1][14]
