"""Documents that are not files: notes of an agent, rows of a table, text from a pipe."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from kb.config import IngestSettings
from kb.ingest.build import Given, Origin, build, content_hash, doc_id, iso
from kb.ingest.chunk import Limits
from kb.ingest.extract import extract
from kb.ingest.run import EmbedderOf, OnEvent, Run, declare_model, fill_waiting, start
from kb.ingest.work import failure
from kb.ingest.write import Stopped
from kb.protocols import Embedder, Store
from kb.types import (
    DEFAULT_COLLECTION,
    DOC_TYPES,
    TRUST_LEVELS,
    AddReport,
    Document,
    Entry,
    Issue,
    StoredDocument,
    utc_now,
)

GROUP = 256  # records that are looked up in the store together
_SURROGATE = re.compile("[\ud800-\udfff]")


def put(documents: Iterable[Document], *, store: Store, embedder: Embedder | None, settings: IngestSettings,
        on_event: OnEvent | None = None, now: datetime | None = None,
        stop: threading.Event | None = None,
        embedder_of: EmbedderOf | None = None, chosen: bool = False) -> AddReport:  # fmt: skip
    """Write records; one with a path that is there already replaces it, an unchanged one costs nothing."""
    stop = stop or threading.Event()
    indexed_at = utc_now((now or datetime.now(UTC)).astimezone(UTC))
    run = start(store, embedder, stop, on_event)
    try:
        declare_model(run, embedder_of, chosen=chosen)
        for group in _groups(documents, run):
            if stop.is_set():
                raise Stopped
            _put_group(run, group, store, settings, indexed_at)
        run.writer.flush()
        fill_waiting(run)
    except (KeyboardInterrupt, Stopped):
        run.interrupted = True
    return run.report()


def _groups(documents: Iterable[Document], run: Run) -> Iterator[list[Document]]:
    """Good records, no path twice in a group; the bad ones are failures by name."""
    rest = iter(documents)
    while block := list(islice(rest, GROUP)):
        group: dict[tuple[str, str], Document] = {}
        for document in block:
            reason = _wrong(document)
            if reason is not None:
                run.fail(Issue(str(getattr(document, "path", "?")), "bad_record", reason))
                continue
            key = (document.collection or DEFAULT_COLLECTION, document.path)
            if key in group:
                yield list(group.values())
                group = {}
            group[key] = document
        yield list(group.values())


def _wrong(document: Document) -> str | None:
    """Records come from outside: what the types promise is checked once, here."""
    values: dict[str, Any] = {field.name: getattr(document, field.name) for field in fields(document)}
    if not isinstance(values["path"], str) or not values["path"].strip():
        return "a record needs a path"
    if not isinstance(values["text"], str):
        return "the text of a record must be a string"
    if not isinstance(values["tags"], (tuple, list)) or not all(isinstance(tag, str) for tag in values["tags"]):
        return "the tags of a record must be a list of strings"
    if values["type"] not in (None, *DOC_TYPES):
        return f"the type must be one of {', '.join(DOC_TYPES)}, not {document.type!r}"
    if values["trust"] not in (None, *TRUST_LEVELS):
        return f"the trust must be one of {', '.join(TRUST_LEVELS)}, not {document.trust!r}"
    return None


def _put_group(run: Run, group: Sequence[Document], store: Store, settings: IngestSettings, indexed_at: str) -> None:
    run.writer.flush()  # so that a record of an earlier group with the same path is seen
    run.writer.total += len(group)
    with store.snapshot() as snapshot:
        known = snapshot.documents([_identity(document) for document in group])
    for document in group:
        try:
            entry = _entry(document, settings, indexed_at)
        except Exception as cause:  # one record must never end a run
            failed = failure(document.path, cause)
            issue = failed.failed or failed.skipped
            assert issue is not None
            run.fail(issue)
            continue
        old = known.get(entry.document.doc_id)
        if old is not None and _same(old, entry.document):
            run.unchanged += 1
        else:
            run.writer.add(entry, "added" if old is None else "updated")


def _entry(document: Document, settings: IngestSettings, indexed_at: str) -> Entry:
    raw = _SURROGATE.sub("\ufffd", document.text).encode()
    given = Given(
        tags=tuple(document.tags) or None,
        type=document.type,
        lang=document.lang,
        repo=document.repo,
        version=document.version,
        trust=document.trust,
        title=document.title,
        date=iso(document.date),
    )
    extracted = extract(raw, document.path, Limits.of(settings.chunk_tokens), force=document.type)
    origin = Origin(_SURROGATE.sub("\ufffd", document.path), document.collection or DEFAULT_COLLECTION)
    tokens = settings.chunk_tokens
    return build(origin, extracted, given, digest=content_hash(raw), chunk_tokens=tokens, indexed_at=indexed_at)


def _identity(document: Document) -> str:
    return doc_id(document.collection or DEFAULT_COLLECTION, _SURROGATE.sub("\ufffd", document.path))


def _same(old: StoredDocument, new: StoredDocument) -> bool:
    return (old.content_hash, old.signature, old.source) == (new.content_hash, new.signature, new.source)
