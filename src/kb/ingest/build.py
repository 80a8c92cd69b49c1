"""From what was extracted to what is stored: ids, hashes, and the metadata of a document. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from hashlib import blake2b

from kb.ingest.chunk import CHUNKER_VERSION
from kb.ingest.extract import VERSIONS, Extracted
from kb.ingest.extract.frontmatter import valid_day
from kb.text import nfc
from kb.types import (
    DEFAULT_COLLECTION,
    DOC_TYPES,
    TRUST_LEVELS,
    Chunk,
    DocType,
    Entry,
    FileStamp,
    StoredChunk,
    StoredDocument,
    Trust,
)

_DAY_NAME = re.compile(r"^(\d{4}-\d{2}-\d{2})(?!\d)")
TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Given:
    """What the user says of documents; None where nothing was said."""

    tags: tuple[str, ...] | None = None
    type: DocType | None = None
    lang: str | None = None
    repo: str | None = None
    version: str | None = None
    trust: Trust | None = None
    title: str | None = None
    date: str | None = None

    def note(self) -> str:
        """As part of a signature, so that the next run knows what was given; "" for nothing."""
        said = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        return "|" + json.dumps(said, sort_keys=True) if said else ""

    @classmethod
    def of(cls, signature: str) -> Given:
        """What an earlier run was given."""
        _, bar, text = signature.partition("|")
        said = json.loads(text) if bar else {}
        tags = said.pop("tags", None)
        return cls(tags=None if tags is None else tuple(tags), **said)

    def over(self, earlier: Given) -> Given:
        """These, and where nothing is said what was said before."""
        missing = {name: getattr(earlier, name) for name in self.__slots__ if getattr(self, name) is None}
        return replace(self, **missing)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document comes from and under which name it is kept."""

    path: str
    collection: str = DEFAULT_COLLECTION
    source: str | None = None
    root: str | None = None
    stamp: FileStamp | None = None


def doc_id(collection: str, path: str) -> str:
    return _digest(json.dumps([collection, path]))


def chunk_id(doc: str, ordinal: int, text: str) -> str:
    """Unique by construction: the place within the document is part of it."""
    return _digest(json.dumps([doc, ordinal, text, CHUNKER_VERSION]))


def content_hash(raw: bytes) -> str:
    return blake2b(raw, digest_size=16).hexdigest()


def signature(kind: DocType, chunk_tokens: int, given: Given) -> str:
    """Everything besides its bytes that decides how a document is stored: ``markdown-1+chunk-1+t250|{given}``."""
    return f"{VERSIONS[kind]}+{CHUNKER_VERSION}+t{chunk_tokens}{given.note()}"


def is_current(stored: str, chunk_tokens: int, given: Given) -> bool:
    """Whether a document of this signature would come out the same today."""
    parser = stored.partition("+")[0]
    kinds = [kind for kind, version in VERSIONS.items() if version == parser]
    return any(stored == signature(kind, chunk_tokens, given) for kind in kinds)


def embed_text(title: str, chunk: Chunk) -> str:
    """What the embedder reads of a chunk: title, headings and symbol, each once, above its text."""
    head = list(dict.fromkeys(part for part in (title, " > ".join(chunk.heading_path), chunk.symbol) if part))
    if chunk.heading_path and chunk.heading_path[0] == title:
        head = list(dict.fromkeys(part for part in (" > ".join(chunk.heading_path), chunk.symbol) if part))
    return nfc("\n".join([*head, chunk.text]))


def build(
    origin: Origin, extracted: Extracted, given: Given, *, digest: str, chunk_tokens: int, indexed_at: str
) -> Entry:
    """One document with its chunks, ready to be embedded and put."""
    meta = extracted.meta
    said_trust = meta.trust if meta.trust in TRUST_LEVELS else None
    kind = extracted.type
    name = origin.path.rsplit("/", 1)[-1]
    title = given.title or (extracted.title if kind != "code" else None) or name
    document = StoredDocument(
        doc_id=doc_id(origin.collection, origin.path),
        path=origin.path,
        title=nfc(" ".join(title.split()))[:TITLE_CHARS].strip() or name,
        type=given.type or valid_type(meta.type) or kind,
        collection=origin.collection,
        tags=tuple(dict.fromkeys(nfc(tag) for tag in (*meta.tags, *(given.tags or ())))),
        lang=given.lang or extracted.lang,
        repo=given.repo,
        version=given.version,
        trust=given.trust or said_trust or "primary",
        date=given.date or day_of(name) or meta.date or _stamp_day(origin.stamp),
        source=origin.source,
        root=origin.root,
        stamp=origin.stamp,
        content_hash=digest,
        signature=signature(kind, chunk_tokens, given),
        chunker_version=CHUNKER_VERSION,
        encoding=extracted.encoding,
        indexed_at=indexed_at,
    )
    return Entry(document, stored_chunks(document, extracted.chunks))


def stored_chunks(document: StoredDocument, chunks: Sequence[Chunk]) -> tuple[StoredChunk, ...]:
    found: list[StoredChunk] = []
    for ordinal, chunk in enumerate(chunks):
        if chunk.lang is None and document.lang is not None:
            chunk = Chunk(chunk.text, chunk.span, chunk.kind, chunk.heading_path, chunk.symbol, document.lang)
        identity = chunk_id(document.doc_id, ordinal, chunk.text)
        found.append(StoredChunk(identity, document.doc_id, ordinal, chunk, _digest(embed_text(document.title, chunk))))
    return tuple(found)


def day_of(name: str) -> str | None:
    """The day that a file name begins with, if there is such a day."""
    found = _DAY_NAME.match(name)
    return valid_day(found[1]) if found else None


def _stamp_day(stamp: FileStamp | None) -> str | None:
    if stamp is None:
        return None
    try:
        return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def valid_type(text: str | None) -> DocType | None:
    return text if text in DOC_TYPES else None


def iso(day: date | None) -> str | None:
    return day.isoformat() if day is not None else None


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
