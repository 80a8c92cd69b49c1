"""The models of one run: texts to vectors, for the model that answers and for one that is being made ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kb.errors import EmbedderFailed, StoreBusy
from kb.ingest.build import embed_text
from kb.models import Choice
from kb.protocols import Embedder, Store
from kb.types import Entry, ModelInfo, Vector

BATCH_S = 0.25  # what one batch may take: short enough to stop within, long enough to spread the cost of an fsync
FIRST, LARGEST = 64, 1024  # texts per call of an embedder
BUSY_S = 0.5  # before the next try where another process writes
OnDone = Callable[[int], None]  # how many chunks more have a vector
EmbedderOf = Callable[[ModelInfo], Embedder | None]


class Stopped(Exception):
    """The caller wants an end; what was put stays."""


class Makers:
    """An embedder for each model that needs vectors, as far as there is one, and how fast it is."""

    def __init__(self, store: Store, stop: threading.Event) -> None:
        self.store = store
        self.stop = stop
        self.warnings: list[str] = []
        self.choice = Choice()
        self.here = False  # whether this run builds what is wanted; else a process of its own does
        self._embedders: dict[str, Embedder] = {}
        self._kept: tuple[str, ...] = ()
        self._step: dict[str, int] = {}

    def declare(self, embedder: Embedder | None, embedder_of: EmbedderOf, *, chosen: bool) -> None:
        """Tell the store whose vectors come now; another model than the one that answers is built beside it.

        ``chosen``: the store has a model of its own choice, and the embedder is of that one.
        """
        if embedder is not None:
            try:
                info = embedder.info  # a remote one is asked for its dimension
            except EmbedderFailed as cause:
                self._warn(cause)
            else:
                self._declare(info, chosen)
                self._embedders[info.label] = embedder
        self.choice, held = self.store.models.choice(), self.store.models.held()
        self._kept = tuple(label for label in held if label not in self.choice.used)
        for label in sorted(self.choice.used & held.keys() - self._embedders.keys()):
            if (other := embedder_of(held[label])) is not None:
                self._embedders[label] = other

    def _declare(self, info: ModelInfo, chosen: bool) -> None:
        choice, held = self.store.models.choice(), self.store.models.held()
        current = held.get(choice.label() or "")
        if current is None or (current.label == info.label and current.dimension != info.dimension):
            self.store.set_model(info)
            return
        newer = current.id == info.id and info.label not in choice.used  # of another version of kb: the old one is gone
        if newer or (not chosen and info.label != choice.target()):
            self.store.models.want(info, chosen=chosen)
        self.here = newer or not chosen

    def _warn(self, cause: EmbedderFailed) -> None:
        self.warnings.append(f"embedding failed: {cause.message}; the next 'kb add' embeds what is missing")

    def use(self, embedder: Embedder) -> None:
        """Embed with it whatever is to have vectors of its model."""
        self._embedders[embedder.info.label] = embedder

    def go_without(self, label: str, cause: EmbedderFailed) -> None:
        """Ask no more in this run: each try may take its whole time limit. What has no vector is found by its words."""
        self._warn(cause)
        self._embedders.pop(label, None)

    # ------------------------------------------------------------ what is written now

    def embedded(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries with their vectors; what cannot be had is left open, and waits."""
        texts: dict[str, dict[str, str]] = {}  # by model, by hash
        for entry in entries:
            for label in self._labels(entry):
                for stored in entry.chunks:
                    texts.setdefault(label, {})[stored.embed_hash] = embed_text(entry.document.title, stored.chunk)
        vectors = {label: self._vectors(label, wanted) for label, wanted in texts.items()}
        return [replace(entry, by_model=self._rows(entry, vectors)) for entry in entries]

    def _labels(self, entry: Entry) -> tuple[str, ...]:
        """Models that are needed, and those that are kept: of these only what is known, so that they stay whole."""
        return (*self.choice.needed(entry.document.collection), *self._kept)

    def _rows(self, entry: Entry, vectors: Mapping[str, Mapping[str, Vector]]) -> dict[str, tuple[Vector | None, ...]]:
        return {
            label: tuple(vectors[label].get(stored.embed_hash) for stored in entry.chunks)
            for label in self._labels(entry)
            if label in vectors
        }

    def _vectors(self, label: str, texts: Mapping[str, str]) -> dict[str, Vector]:
        """Known vectors, and new ones for the rest as far as the embedder can."""
        vectors = self.store.models.vectors(label, list(texts))
        missing = {embed_hash: text for embed_hash, text in texts.items() if embed_hash not in vectors}
        while missing and label in self._embedders:
            made, _ = self._made(label, missing)
            if not made:
                break
            vectors.update(made)
            missing = {embed_hash: text for embed_hash, text in missing.items() if embed_hash not in made}
        return vectors

    def _made(self, label: str, texts: Mapping[str, str]) -> tuple[dict[str, Vector], float]:
        """Vectors for the first of these texts, as many as take a quarter of a second, and how long they took."""
        if self.stop.is_set():
            raise Stopped
        part = list(texts)[: self._step.get(label, FIRST)]
        began = time.monotonic()
        try:
            made = self._embedders[label].embed_passages([texts[embed_hash] for embed_hash in part])
        except EmbedderFailed as cause:
            self.go_without(label, cause)
            return {}, 0.0
        took = max(time.monotonic() - began, 1e-4)
        self._step[label] = max(1, min(LARGEST, 2 * len(part), int(len(part) * BATCH_S / took)))
        return dict(zip(part, made, strict=True)), took

    # ------------------------------------------------------------ what waits

    def fill(self, labels: Sequence[str], on_done: OnDone = lambda _count: None) -> None:
        """Vectors for all chunks that lack one of these models; each collection switches when it is ready."""
        for label in labels:
            for collection in self._collections(label):
                while label in self._embedders and label in self.store.models.choice().used:
                    step = self._step.get(label, FIRST)
                    names = self.store.models.waiting(label, collection, step)
                    if not names:
                        break
                    self._fill_some(label, names, on_done)
                self.store.models.switch()

    def _fill_some(self, label: str, names: Sequence[str], on_done: OnDone) -> None:
        if self.stop.is_set():
            raise Stopped
        texts = self._texts(names)
        vectors = self.store.models.vectors(label, list(texts))  # the same text elsewhere
        missing = {embed_hash: text for embed_hash, text in texts.items() if embed_hash not in vectors}
        rate = None
        if missing:
            made, took = self._made(label, missing)
            vectors.update(made)
            rate = len(made) / took if made else None
        while vectors:
            try:
                self.store.models.fill(label, vectors, rate=rate)
                break
            except StoreBusy:  # another writer goes first
                if self.stop.wait(BUSY_S):
                    raise Stopped from None
        on_done(len(names))

    def _texts(self, names: Sequence[str]) -> dict[str, str]:
        """The text to embed of each chunk that is still there, by its hash."""
        with self.store.snapshot() as snapshot:
            chunks = snapshot.chunks(names)
            documents = snapshot.documents(list(dict.fromkeys(stored.doc_id for stored in chunks.values())))
        return {
            stored.embed_hash: embed_text(documents[stored.doc_id].title, stored.chunk) for stored in chunks.values()
        }

    def _collections(self, label: str) -> Sequence[str | None]:
        """Where chunks may wait for this model: in the whole store, or one after the other, so that they switch early."""
        choice = self.store.models.choice()
        if label == choice.store.answering:
            return [None]
        rows = self.store.models.status().collections
        return [row.collection for row in rows if label in choice.needed(row.collection)]
