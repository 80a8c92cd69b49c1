"""What a scan means for the store: which files to read, which documents to remove. Opens no file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kb.config import IngestSettings
from kb.ingest.build import Given, Origin, doc_id, is_current
from kb.ingest.discover import Found, Scan
from kb.ingest.extract.languages import file_type
from kb.ingest.names import printable
from kb.ingest.options import AddOptions
from kb.ingest.roots import Target, within
from kb.ingest.work import Job
from kb.types import DEFAULT_COLLECTION, FileStamp, Issue, StoredDocument

RACY_NS = 2_000_000_000  # a file that changed so shortly before it was indexed may have changed again unseen
MANY = 20  # documents
SHARE = 0.3  # of a root: so many gone from a folder that is there but empty look like a disk that is not mounted


@dataclass(slots=True)
class Plan:
    jobs: list[tuple[Job, StoredDocument | None]] = field(default_factory=list)
    unchanged: int = 0
    remove: list[StoredDocument] = field(default_factory=list)
    refused: Issue | None = None  # the root has vanished


def plan(target: Target, scan: Scan, documents: Sequence[StoredDocument], options: AddOptions, settings: IngestSettings,
         indexed_at: str) -> Plan:  # fmt: skip
    """``documents`` are all of the collection."""
    result = Plan()
    mine = [document for document in documents if _belongs(document, target)]
    if not options.prune and mine and (reason := _vanished(target, scan, mine)):
        result.refused = Issue(printable(target.scope), "root_vanished", reason)
        return result
    inherited = _inherited([document for document in documents if document.root == target.root])
    names = _Names(target, documents, mine, scan.found)
    kept: set[str] = set()
    for found in scan.found:
        origin, old = names.origin(found, options.collection or DEFAULT_COLLECTION)
        identity = doc_id(origin.collection, origin.path)
        kept.add(identity)
        given = options.given.over(Given.of(old.signature) if old else inherited)
        job = _job(origin, old, given, options, settings, indexed_at)
        if job is None:
            result.unchanged += 1
        else:
            result.jobs.append((job, old if old is not None and old.doc_id == identity else None))
    gone = [document for document in mine if document.doc_id not in kept]
    if not options.prune:
        gone = [document for document in gone if not _hidden(document, scan)]
        gone, result.refused = _spared(gone, len(mine), target)
    result.remove = gone
    return result


def _job(origin: Origin, old: StoredDocument | None, given: Given, options: AddOptions, settings: IngestSettings,
         indexed_at: str) -> Job | None:  # fmt: skip
    """The work that a file needs; None when it is as it was."""
    is_pdf = file_type(origin.source or "").type == "pdf"
    known: str | None = None
    if old is not None and _same_place(old, origin) and is_current(old.signature, settings.chunk_tokens, given):
        if old.stamp == origin.stamp and not options.verify and not racy(old.stamp, old.indexed_at):
            return None
        if old.stamp == origin.stamp or is_pdf:  # a text file with another stamp may get another date: build it anew
            known = old.content_hash
    limit = settings.max_pdf_mb if is_pdf else settings.max_file_mb
    return Job(origin, given, indexed_at, settings.chunk_tokens, limit, known)


def _same_place(old: StoredDocument, origin: Origin) -> bool:
    return (old.path, old.root, old.source) == (origin.path, origin.root, origin.source)


def racy(stamp: FileStamp | None, indexed_at: str) -> bool:
    """Whether a file may have changed within the tick of its clock in which it was indexed, or a clock went wrong."""
    if stamp is None:
        return True
    try:
        indexed = datetime.fromisoformat(indexed_at).timestamp()
    except ValueError:
        return True
    return max(stamp.mtime_ns, stamp.ctime_ns) >= int(indexed * 1e9) - RACY_NS


class _Names:
    """Gives each file its path: unique in the collection, the same in every run."""

    def __init__(self, target: Target, documents: Sequence[StoredDocument], mine: Sequence[StoredDocument],
                 found: Sequence[Found]) -> None:  # fmt: skip
        self.root = target.root
        self.by_source = {document.source: document for document in documents if document.source is not None}
        here = {item.source for item in found}
        leaving = {document.doc_id for document in mine if document.source not in here or document.root != target.root}
        self.taken = {document.path: document for document in documents if document.doc_id not in leaving}
        self.claimed: set[str] = set()

    def origin(self, found: Found, collection: str) -> tuple[Origin, StoredDocument | None]:
        label = printable(os.path.basename(self.root)) or "root"
        path, count = found.path, 1
        while path in self.claimed or not self._free(path, found.source):
            path = f"{label}/{found.path}" if count == 1 else f"{label}-{count}/{found.path}"
            count += 1
        self.claimed.add(path)
        return Origin(path, collection, found.source, self.root, found.stamp), self.by_source.get(found.source)

    def _free(self, path: str, source: str) -> bool:
        holder = self.taken.get(path)
        return (
            holder is None
            or (holder.source == source and holder.root == self.root)
            or (holder.root == self.root and not os.path.lexists(holder.source or ""))
        )


def _belongs(document: StoredDocument, target: Target) -> bool:
    """Whether a document comes from the scope; those of roots that the target now holds move into it."""
    if document.source is None or document.root is None or not within(document.root, target.root):
        return False
    return within(document.source, target.scope)


def _inherited(documents: Sequence[StoredDocument]) -> Given:
    """What all documents of a root were given holds for its new ones too."""
    notes = {document.signature.partition("|")[2] for document in documents}
    return Given.of(documents[0].signature) if len(notes) == 1 else Given()


def _vanished(target: Target, scan: Scan, mine: Sequence[StoredDocument]) -> str | None:
    """Why nothing may be removed because of this scan."""
    kept = f"its {len(mine)} documents are kept"
    if not scan.exists:
        if target.scope != target.root and not _bare(target.root):
            return None  # the root is there, and holds other things: a part of it was deleted
        return f"it is gone; {kept}"
    if target.root in scan.unreadable or target.scope in scan.unreadable:
        return f"it cannot be read; {kept}"
    if scan.empty:
        return f"it is empty; {kept}"
    return None


def _hidden(document: StoredDocument, scan: Scan) -> bool:
    """Below a folder that could not be read: nobody knows whether it is gone."""
    return any(within(document.source or "", path) for path in scan.unreadable)


def _spared(gone: list[StoredDocument], total: int, target: Target) -> tuple[list[StoredDocument], Issue | None]:
    """Without the documents of folders that are suddenly empty, when those are many of the root's."""
    folders = {os.path.dirname(document.source or "") for document in gone}
    empty = {folder for folder in folders if os.path.isdir(folder) and _bare(folder)}
    suspect = [document for document in gone if os.path.dirname(document.source or "") in empty]
    if len(suspect) <= MANY or len(suspect) <= SHARE * total:
        return gone, None
    keep = {document.doc_id for document in suspect}
    reason = f"folders in it are suddenly empty; their {len(suspect)} documents are kept"
    rest = [document for document in gone if document.doc_id not in keep]
    return rest, Issue(printable(target.scope), "root_vanished", reason)


def _bare(folder: str) -> bool:
    """Missing, unreadable or without any entry."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return True
