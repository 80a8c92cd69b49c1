"""Jobs and outcomes as JSON, between this process and its workers."""

from __future__ import annotations

from typing import Any

from kb.ingest.build import Given, Origin
from kb.ingest.work import Job, Outcome
from kb.types import Chunk, Entry, FileStamp, Issue, Span, StoredChunk, StoredDocument

_DOCUMENT = tuple(name for name in StoredDocument.__slots__ if name not in ("tags", "stamp"))


def wire_job(job: Job) -> Any:
    origin, given = job.origin, job.given
    return [
        [origin.path, origin.collection, origin.source, origin.root, _stamp(origin.stamp)],
        [getattr(given, name) for name in Given.__slots__],
        job.indexed_at,
        job.chunk_tokens,
        job.max_mb,
        job.known_hash,
    ]


def read_job(data: Any) -> Job:
    origin, given, indexed_at, chunk_tokens, max_mb, known_hash = data
    values = dict(zip(Given.__slots__, given, strict=True))
    if values["tags"] is not None:
        values["tags"] = tuple(values["tags"])
    path, collection, source, root, stamp = origin
    place = Origin(path, collection, source, root, FileStamp(*stamp) if stamp else None)
    return Job(place, Given(**values), indexed_at, chunk_tokens, max_mb, known_hash)


def wire_outcome(outcome: Outcome) -> Any:
    entry = outcome.entry
    return [_entry(entry) if entry else None, outcome.same, _issue(outcome.skipped), _issue(outcome.failed)]


def read_outcome(data: Any) -> Outcome:
    entry, same, skipped, failed = data
    return Outcome(
        _read_entry(entry) if entry else None,
        same,
        Issue(*skipped) if skipped else None,
        Issue(*failed) if failed else None,
    )


def _entry(entry: Entry) -> Any:
    document = entry.document
    rows = []
    for stored in entry.chunks:
        chunk, span = stored.chunk, stored.chunk.span
        place = (span.kind, span.start, span.end, span.offset_start, span.offset_end)
        rows.append(
            (
                stored.chunk_id,
                stored.embed_hash,
                chunk.text,
                place,
                chunk.kind,
                chunk.heading_path,
                chunk.symbol,
                chunk.lang,
            )
        )
    return [[getattr(document, name) for name in _DOCUMENT], document.tags, _stamp(document.stamp), rows]


def _read_entry(data: Any) -> Entry:
    values, tags, stamp, rows = data
    document = StoredDocument(
        tags=tuple(tags), stamp=FileStamp(*stamp) if stamp else None, **dict(zip(_DOCUMENT, values, strict=True))
    )
    chunks = tuple(
        StoredChunk(
            chunk_id, document.doc_id, ordinal, Chunk(text, Span(*place), kind, tuple(path), symbol, lang), embed_hash
        )
        for ordinal, (chunk_id, embed_hash, text, place, kind, path, symbol, lang) in enumerate(rows)
    )
    return Entry(document, chunks)


def _stamp(stamp: FileStamp | None) -> Any:
    return [stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode] if stamp else None


def _issue(issue: Issue | None) -> Any:
    return [issue.path, issue.code, issue.reason] if issue else None
