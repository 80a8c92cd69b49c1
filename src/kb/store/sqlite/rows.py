"""Values to rows and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

from kb.store.wording import chunk_words, heading_index, is_cjk, title_index, title_words
from kb.text import index_text
from kb.types import TRUST_LEVELS, Chunk, FileStamp, Span, StoredChunk, StoredDocument
from kb.wordtext import path_words

Row = Sequence[Any]

DOCUMENT = (
    "d.doc_id, d.path, d.title, d.type, d.collection, "
    "(SELECT json_group_array(t.tag ORDER BY t.position) FROM tags t WHERE t.document = d.id), "
    "d.lang, d.repo, d.version, d.trust, d.date, d.source, d.root, d.size, d.mtime_ns, d.ctime_ns, d.inode, "
    "d.content_hash, d.signature, d.chunker_version, d.encoding, d.indexed_at"
)
CHUNK = (
    "c.chunk_id, d.doc_id, c.ordinal, c.text, c.span_kind, c.span_start, c.span_end, c.offset_start, c.offset_end, "
    "c.kind, c.heading_path, c.symbol, c.lang, c.embed_hash"
)
INSERT_DOCUMENT = """
INSERT INTO documents(doc_id, path, title, title_index, type, collection, lang, repo, version, trust, date, source, root,
  size, mtime_ns, ctime_ns, inode, content_hash, signature, chunker_version, encoding, indexed_at,
  title_words, path_words)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) RETURNING id"""
INSERT_CHUNK = """
INSERT INTO chunks(id, chunk_id, document, ordinal, kind, lang, symbol, heading_path, span_kind, span_start, span_end,
  offset_start, offset_end, embed_hash, cjk, crc, heading_index, text, search_text,
  heading_words, word_text, parts, stems, stem_lang)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"""


def pack(value: str | None) -> str | bytes | None:
    """Text as it is; text with lone surrogates, which SQLite cannot hold (names of files), as bytes."""
    if value is None or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def unpack(value: str | bytes | None) -> str | None:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _must(value: str | bytes | None) -> str:
    return unpack(value) or ""


def document_row(document: StoredDocument) -> tuple[Any, ...]:
    stamp = document.stamp
    return (
        document.doc_id, pack(document.path), pack(document.title), title_index(document),
        document.type, pack(document.collection), pack(document.lang), pack(document.repo), pack(document.version),
        TRUST_LEVELS.index(document.trust), document.date, pack(document.source), pack(document.root),
        *((stamp.size, stamp.mtime_ns, stamp.ctime_ns, _signed(stamp.inode)) if stamp else (None,) * 4),
        document.content_hash, document.signature, document.chunker_version, document.encoding, document.indexed_at,
        title_words(document), path_words(document.path),
    )  # fmt: skip


def to_document(row: Row) -> StoredDocument:
    stamp = None if row[13] is None else FileStamp(row[13], row[14], row[15], row[16] % (1 << 64))
    return StoredDocument(
        doc_id=row[0], path=_must(row[1]), title=_must(row[2]), type=row[3], collection=_must(row[4]),
        tags=tuple(json.loads(row[5])), lang=unpack(row[6]), repo=unpack(row[7]), version=unpack(row[8]),
        trust=TRUST_LEVELS[row[9]], date=row[10], source=unpack(row[11]), root=unpack(row[12]), stamp=stamp,
        content_hash=row[17], signature=row[18], chunker_version=row[19], encoding=row[20], indexed_at=row[21],
    )  # fmt: skip


def chunk_row(number: int, row: int, document: StoredDocument, stored: StoredChunk) -> tuple[Any, ...]:
    chunk, span = stored.chunk, stored.chunk.span
    title = title_index(document)
    heading, body = heading_index(stored), index_text(chunk.text)
    return (
        number, stored.chunk_id, row, stored.ordinal, chunk.kind, pack(chunk.lang), pack(chunk.symbol),
        json.dumps(chunk.heading_path) if chunk.heading_path else "[]",
        span.kind, span.start, span.end, span.offset_start, span.offset_end, stored.embed_hash,
        int(is_cjk(title, heading, body)), checksum(stored), heading, pack(chunk.text), None if body == chunk.text else body,
        *chunk_words(stored, document.lang),
    )  # fmt: skip


def checksum(stored: StoredChunk) -> int:
    chunk = stored.chunk
    sealed = (chunk.text, chunk.heading_path, chunk.symbol, chunk.span.start, chunk.span.end, stored.embed_hash)
    return zlib.crc32(repr(sealed).encode("utf-8", "surrogatepass"))


def to_chunk(row: Row) -> StoredChunk:
    headings = () if row[10] == "[]" else tuple(json.loads(row[10]))
    span = Span(row[4], row[5], row[6], row[7], row[8])
    chunk = Chunk(_must(row[3]), span, row[9], headings, unpack(row[11]), unpack(row[12]))
    return StoredChunk(row[0], row[1], row[2], chunk, row[13])


def _signed(number: int) -> int:
    """An inode may use all 64 bits, of which SQLite keeps one for the sign."""
    return number - (1 << 64) if number >= 1 << 63 else number
