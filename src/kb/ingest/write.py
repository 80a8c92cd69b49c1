"""The writing end of an ingest: entries gather, are embedded, put in one transaction, and only then reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from kb.ingest.embedding import BATCH_S, Makers, Stopped
from kb.protocols import Store
from kb.types import Entry, Progress

__all__ = ["Fate", "OnEvent", "Stopped", "Writer"]

FIRST, SMALLEST, LARGEST = 128, 8, 4096  # chunks in a batch
OnEvent = Callable[[Progress], None]
Fate = Literal["added", "updated", "unchanged"]


def _ignore(_event: Progress) -> None:
    """Nobody listens."""


class Writer:
    """Counts what is committed, and nothing else."""

    def __init__(self, store: Store, makers: Makers, on_event: OnEvent | None = None, total: int = 0) -> None:
        self.store = store
        self.makers = makers
        self.stop = makers.stop
        self.on_event: OnEvent = on_event or _ignore
        self.total = total
        self.counts: dict[str, int] = {"added": 0, "updated": 0, "unchanged": 0}
        self.done = 0
        self.chunks = 0
        self._batch: list[tuple[Entry, Fate]] = []
        self._size = 0
        self._began = 0.0
        self._most = FIRST

    def add(self, entry: Entry, fate: Fate) -> None:
        if not self._batch:
            self._began = time.monotonic()
        self._batch.append((entry, fate))
        self._size += 1 + len(entry.chunks)
        if self._size >= self._most or time.monotonic() - self._began >= BATCH_S:
            self.flush()

    def tick(self) -> None:
        """Nothing to add, but what waits should not wait for ever."""
        if self._batch and time.monotonic() - self._began >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        batch, self._batch, size, self._size = self._batch, [], self._size, 0
        if not batch:
            return
        began = time.monotonic()
        entries = self.makers.embedded([entry for entry, _ in batch])
        if self.stop.is_set():
            raise Stopped
        self.store.put(entries)
        took = max(time.monotonic() - began, 1e-3)
        self._most = min(LARGEST, max(SMALLEST, min(2 * self._most, int(size * BATCH_S / took))))
        for entry, fate in batch:
            self.counts[fate] += 1
            self.done += 1
            self.chunks += len(entry.chunks)
            self.on_event(
                Progress("document", entry.document.path, self.done, self.total, len(entry.chunks), reason=fate)
            )
