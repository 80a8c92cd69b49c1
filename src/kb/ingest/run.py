"""The state of one run of ``add`` or ``put``, and what both begin with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from kb.errors import EmbedderFailed
from kb.ingest.write import OnEvent, Writer
from kb.protocols import Store
from kb.types import AddReport, Filters, Issue, Progress, StoredDocument

__all__ = ["OnEvent", "Run", "declare_model", "documents_of"]


@dataclass(slots=True)
class Run:
    """The state of one run, which its report is made of."""

    writer: Writer
    started: float = field(default_factory=time.monotonic)
    unchanged: int = 0
    removed: int = 0
    skipped: list[Issue] = field(default_factory=list)
    failed: list[Issue] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False

    def skip(self, issue: Issue) -> None:
        self.skipped.append(issue)
        self.writer.on_event(Progress("skipped", issue.path, self.writer.done, self.writer.total, reason=issue.reason))

    def fail(self, issue: Issue) -> None:
        self.failed.append(issue)
        self.writer.on_event(Progress("failed", issue.path, self.writer.done, self.writer.total, reason=issue.reason))

    def report(self) -> AddReport:
        writer = self.writer
        event = Progress("interrupted" if self.interrupted else "done", None, writer.done, writer.total, writer.chunks)
        self.writer.on_event(event)
        return AddReport(
            added=writer.counts["added"],
            updated=writer.counts["updated"],
            unchanged=self.unchanged + writer.counts["unchanged"],
            removed=self.removed,
            chunks=writer.chunks,
            skipped=tuple(self.skipped),
            failed=tuple(self.failed),
            warnings=(*self.warnings, *writer.warnings),
            interrupted=self.interrupted,
            took_ms=(time.monotonic() - self.started) * 1000,
        )


def declare_model(writer: Writer) -> None:
    """Tell the store whose vectors come now; those of another model are dropped and made again."""
    if writer.embedder is None:
        return
    try:
        info = writer.embedder.info  # a remote one is asked for its dimension
    except EmbedderFailed as cause:
        writer.go_without(cause)
        return
    with writer.store.snapshot() as snapshot:
        current = snapshot.model
    if current != info:
        writer.store.set_model(info)


def documents_of(store: Store, collection: str) -> list[StoredDocument]:
    with store.snapshot() as snapshot:
        return snapshot.find(Filters(collection=collection))
