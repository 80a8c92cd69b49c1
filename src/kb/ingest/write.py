"""The writing end of an ingest: entries gather, are embedded, put in one transaction, and only then reported."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from kb.errors import EmbedderFailed
from kb.ingest.build import embed_text
from kb.protocols import Embedder, Snapshot, Store
from kb.types import Entry, Filters, Progress, Vector

BATCH_S = 0.25  # what one batch may take: short enough to stop within, long enough to spread the cost of an fsync
FIRST, SMALLEST, LARGEST = 128, 8, 4096  # chunks in a batch
OnEvent = Callable[[Progress], None]
Fate = Literal["added", "updated", "unchanged"]


def _ignore(_event: Progress) -> None:
    """Nobody listens."""


class Stopped(Exception):
    """The caller wants an end; what was put stays."""


class Writer:
    """Counts what is committed, and nothing else."""

    def __init__(self, store: Store, embedder: Embedder | None, stop: threading.Event,
                 on_event: OnEvent | None = None, total: int = 0) -> None:  # fmt: skip
        self.store = store
        self.embedder = embedder
        self.stop = stop
        self.on_event: OnEvent = on_event or _ignore
        self.total = total
        self.counts: dict[str, int] = {"added": 0, "updated": 0, "unchanged": 0}
        self.done = 0
        self.chunks = 0
        self.warnings: list[str] = []
        self._batch: list[tuple[Entry, Fate]] = []
        self._size = 0
        self._began = 0.0
        self._most = FIRST
        self._step = 64  # texts per call of the embedder, so that it can be stopped

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
        entries = self._embedded([entry for entry, _ in batch])
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

    def go_without(self, cause: EmbedderFailed) -> None:
        """Ask no more in this run: each try may take its whole time limit. What has no vector is found by its words."""
        self.warnings.append(f"embedding failed: {cause.message}; the next 'kb add' embeds what is missing")
        self.embedder = None

    def _embedded(self, entries: Sequence[Entry]) -> list[Entry]:
        if self.embedder is None:
            return list(entries)
        texts: dict[str, str] = {}
        for entry in entries:
            for stored in entry.chunks:
                if stored.embed_hash not in texts:
                    texts[stored.embed_hash] = embed_text(entry.document.title, stored.chunk)
        vectors = self._vectors(texts)
        found: list[Entry] = []
        for entry in entries:
            row = [vectors.get(stored.embed_hash) for stored in entry.chunks]
            whole = bool(row) and all(vector is not None for vector in row)
            found.append(replace(entry, vectors=tuple(row)) if whole else entry)  # none at all: pending
        return found

    def _vectors(self, texts: dict[str, str]) -> dict[str, Vector]:
        """Known vectors, and new ones for the rest as far as the embedder can."""
        vectors = dict(self.store.vectors(list(texts))) if texts else {}
        missing = [embed_hash for embed_hash in texts if embed_hash not in vectors]
        at = 0
        while at < len(missing) and self.embedder is not None:
            if self.stop.is_set():
                raise Stopped
            part = missing[at : at + self._step]
            began = time.monotonic()
            try:
                made = self.embedder.embed_passages([texts[embed_hash] for embed_hash in part])
            except EmbedderFailed as cause:
                self.go_without(cause)
                break
            vectors.update(zip(part, made, strict=True))
            at += len(part)
            took = max(time.monotonic() - began, 1e-4)
            self._step = max(1, min(1024, 2 * self._step, int(len(part) * BATCH_S / took)))
        return vectors

    def fill_pending(self) -> None:
        """Vectors for chunks that lack one: after a failed embedder, or a change of the model."""
        if self.embedder is None or not self.store.status().pending:
            return
        after: str | None = None
        while self.embedder is not None:
            with self.store.snapshot() as snapshot:
                documents = snapshot.find(Filters(), after=after, limit=64)
                texts, owners = _texts(snapshot, [(document.doc_id, document.title) for document in documents])
            if not documents:
                return
            after = documents[-1].doc_id
            vectors = self._vectors(texts)
            if self.stop.is_set():
                raise Stopped
            found = {chunk: vectors[embed_hash] for chunk, embed_hash in owners.items() if embed_hash in vectors}
            if found and not self.store.fill(found):
                return


def _texts(snapshot: Snapshot, documents: Sequence[tuple[str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts to embed by their hash, and the hash of each chunk."""
    texts: dict[str, str] = {}
    owners: dict[str, str] = {}
    for doc_id, title in documents:
        for stored in snapshot.read(doc_id)[1]:
            texts[stored.embed_hash] = embed_text(title, stored.chunk)
            owners[stored.chunk_id] = stored.embed_hash
    return texts, owners
