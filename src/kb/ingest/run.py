"""The state of one run of ``add`` or ``put``, and what both begin with."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from kb.ingest.embedding import EmbedderOf, Makers
from kb.ingest.write import OnEvent, Writer
from kb.protocols import Embedder, Store
from kb.types import AddReport, Filters, Issue, ModelInfo, Progress, StoredDocument

__all__ = ["EmbedderOf", "OnEvent", "Run", "declare_model", "documents_of", "fill_waiting", "start"]


@dataclass(slots=True)
class Run:
    """The state of one run, which its report is made of."""

    writer: Writer
    embedder: Embedder | None = None
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
            warnings=(*self.warnings, *writer.makers.warnings),
            interrupted=self.interrupted,
            took_ms=(time.monotonic() - self.started) * 1000,
        )


def start(store: Store, embedder: Embedder | None, stop: threading.Event, on_event: OnEvent | None) -> Run:
    return Run(Writer(store, Makers(store, stop), on_event), embedder)


def declare_model(run: Run, embedder_of: EmbedderOf | None, *, chosen: bool) -> None:
    run.writer.makers.declare(run.embedder, embedder_of or _nobody, chosen=chosen)


def fill_waiting(run: Run) -> None:
    """Vectors for chunks that lack one: after a failed embedder, or a change of the model in the settings.

    A change that was asked for by ``kb model set`` has its own process, which this run need not wait for.
    """
    makers = run.writer.makers
    choice = makers.choice
    answering = {choice.label(), *(choice.label(name) for name, _ in choice.collections)}
    wanted = [choice.store.wanted] if makers.here else []
    makers.fill([label for label in [*sorted(filter(None, answering)), *wanted] if label])
    run.writer.store.models.switch()
    run.writer.store.models.calibrate()


def _nobody(_info: ModelInfo) -> None:
    """No other embedder than the one that was given."""


def documents_of(store: Store, collection: str) -> list[StoredDocument]:
    with store.snapshot() as snapshot:
        return snapshot.find(Filters(collection=collection))
