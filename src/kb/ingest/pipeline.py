"""The recipe of ``kb add``: scan, plan, extract, embed, put, remove.

Additions come before removals, so that a file that moved finds its vectors still there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

from kb.config import IngestSettings
from kb.errors import RootVanished, UsageError
from kb.ingest.build import day_of, iso
from kb.ingest.discover import scan
from kb.ingest.options import AddOptions
from kb.ingest.plan import Plan, plan
from kb.ingest.pool import outcomes
from kb.ingest.records import put
from kb.ingest.roots import Target, targets
from kb.ingest.run import EmbedderOf, OnEvent, Run, declare_model, documents_of, fill_waiting, start
from kb.ingest.work import Job, Outcome
from kb.ingest.write import Fate, Stopped
from kb.protocols import Embedder, Store
from kb.types import DEFAULT_COLLECTION, AddReport, Entry, Issue, Progress, StoredDocument, utc_now

__all__ = ["AddOptions", "add", "put"]

REMOVE_BATCH = 500
# What says nothing of the file itself: its document stays. A disk may be gone in the middle of a run.
_KEEP_ON = frozenset({"unreadable", "vanished", "timeout", "crash", "pdf_timeout", "pdf_crash", "pdf_unavailable"})


def add(paths: Iterable[str | os.PathLike[str]], *, store: Store, embedder: Embedder | None, settings: IngestSettings,
        options: AddOptions | None = None, on_event: OnEvent | None = None,
        now: datetime | None = None, stop: threading.Event | None = None,
        embedder_of: EmbedderOf | None = None, chosen: bool = False) -> AddReport:  # fmt: skip
    """Bring the store up to date with these files and folders.

    ``embedder_of`` knows the embedders of other models that the store holds; ``chosen``: see ``Makers.declare``.
    """
    options = options or AddOptions()
    stop = stop or threading.Event()
    indexed_at = utc_now((now or datetime.now(UTC)).astimezone(UTC))
    collection = options.collection or DEFAULT_COLLECTION
    wanted, missing = targets(paths, documents_of(store, collection))
    if missing and not wanted:
        raise _no_such_path(missing)
    run = start(store, embedder, stop, on_event)
    for issue in missing:
        run.fail(issue)
    refused = 0
    try:
        declare_model(run, embedder_of, chosen=chosen)
        for target in wanted:
            refused += not _sync(run, target, store, settings, options, indexed_at, stop)
        fill_waiting(run)
    except (KeyboardInterrupt, Stopped):
        run.interrupted = True
    if refused and refused == len(wanted) and not missing and not run.interrupted:
        raise _root_vanished(run.failed)
    return run.report()


def _sync(run: Run, target: Target, store: Store, settings: IngestSettings, options: AddOptions, indexed_at: str,
          stop: threading.Event) -> bool:  # fmt: skip
    """One target; False when it was refused because its root has vanished."""
    seen = scan(target.root, target.scope, settings)
    made = plan(
        target, seen, documents_of(store, options.collection or DEFAULT_COLLECTION), options, settings, indexed_at
    )
    for issue in seen.skipped:
        run.skip(issue)
    for issue in seen.failed:
        run.fail(issue)
    run.unchanged += made.unchanged
    run.writer.total += len(made.jobs)
    run.writer.on_event(Progress("scan", target.scope, run.writer.done, run.writer.total))
    if target.scope in (os.path.expanduser("~"), os.path.abspath(os.sep)):
        run.warnings.append(f"'{target.scope}' is a whole {'disk' if target.scope == os.sep else 'home folder'}")
    drop = _extract(run, made, store, settings, stop)
    _remove(run, [*made.remove, *drop], store, stop)
    if made.refused is not None:
        run.fail(made.refused)
    return made.refused is None or bool(made.jobs or made.unchanged or made.remove)


def _extract(
    run: Run, made: Plan, store: Store, settings: IngestSettings, stop: threading.Event
) -> list[StoredDocument]:
    """Read the files and write what they hold; the documents whose file can no longer be indexed."""
    before = {id(job): old for job, old in made.jobs}
    drop: list[StoredDocument] = []
    with closing(outcomes([job for job, _ in made.jobs], settings, stop)) as results:
        for job, outcome in results:
            old = before[id(job)]
            if outcome.skipped is not None:
                run.skip(outcome.skipped)
            elif outcome.failed is not None:
                run.fail(outcome.failed)
            else:
                _write(run, job, outcome, old, store)
                continue
            run.writer.tick()
            issue = outcome.skipped or outcome.failed
            if old is not None and issue is not None and issue.code not in _KEEP_ON:
                drop.append(old)
    run.writer.flush()
    if stop.is_set():
        raise Stopped
    return drop


def _write(run: Run, job: Job, outcome: Outcome, old: StoredDocument | None, store: Store) -> None:
    entry = outcome.entry
    if entry is None:
        assert old is not None
        if old.stamp == job.origin.stamp:
            run.unchanged += 1
            return
        entry = _restamped(job, old, store)
    fate: Fate = "added" if old is None else "updated"
    if old is not None and (old.content_hash, old.signature) == (entry.document.content_hash, entry.document.signature):
        fate = "unchanged"
    run.writer.add(entry, fate)


def _restamped(job: Job, old: StoredDocument, store: Store) -> Entry:
    """A file that was touched and holds what it held: only its stamp, and the day that comes from it, are new."""
    stamp = job.origin.stamp
    day = job.given.date or day_of(old.path.rsplit("/", 1)[-1])
    if day is None and stamp is not None:
        day = iso(datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC).date())
    with store.snapshot() as snapshot:
        document, chunks = snapshot.read(old.doc_id)
    return Entry(replace(document, stamp=stamp, date=day, indexed_at=job.indexed_at), chunks)


def _remove(run: Run, documents: list[StoredDocument], store: Store, stop: threading.Event) -> None:
    for at in range(0, len(documents), REMOVE_BATCH):
        if stop.is_set():
            raise Stopped
        part = documents[at : at + REMOVE_BATCH]
        run.removed += store.remove([document.doc_id for document in part])
        for document in part:
            run.writer.on_event(Progress("removed", document.path, run.writer.done, run.writer.total))


def _no_such_path(missing: list[Issue]) -> UsageError:
    more = f" (nor {len(missing) - 1} more)" if len(missing) > 1 else ""
    return UsageError(
        f"there is no file or folder '{missing[0].path}'{more}",
        fix="check the path: kb add PATH",
        details={"paths": [issue.path for issue in missing]},
    )


def _root_vanished(failed: list[Issue]) -> RootVanished:
    gone = [issue for issue in failed if issue.code == "root_vanished"]
    first = gone[0]
    return RootVanished(
        f"'{first.path}' is not what it was: {first.reason}",
        fix=f"bring it back, or forget its documents: kb add --prune '{first.path}'",
        details={"roots": [issue.path for issue in gone]},
    )
