"""The models of the oracle: the same promises as in SQLite, on the plain state of ``MemoryStore``."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from kb.errors import StoreBusy
from kb.models import Calibration, Choice, CollectionModel, ModelState, ModelStatus
from kb.store import calibrate
from kb.store import choice as choices
from kb.store.entries import unit
from kb.types import ModelInfo, StoredChunk, StoredDocument, Vector


@dataclass(frozen=True, slots=True)
class Held:
    """A model with its vectors."""

    info: ModelInfo
    vectors: dict[str, Vector] = field(default_factory=dict)  # by chunk id; b"": nothing to compare
    rate: float | None = None
    problem: str | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class State:
    """All of a store at one revision. It is replaced as a whole and never changed."""

    revision: int = 0
    choice: Choice = Choice()
    models: dict[str, Held] = field(default_factory=dict)
    documents: dict[str, StoredDocument] = field(default_factory=dict)
    chunks: dict[str, StoredChunk] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    def held(self, collection: str | None = None) -> Held | None:
        """The model that answers."""
        return self.models.get(self.choice.label(collection) or "")

    def within(self, collection: str | None) -> list[str]:
        """Ids of the chunks of a collection."""
        return [
            name
            for name, chunk in self.chunks.items()
            if collection is None or self.documents[chunk.doc_id].collection == collection
        ]

    def pending(self, label: str, collection: str | None) -> list[str]:
        return [name for name in self.within(collection) if name not in self.models[label].vectors]


class MemoryModels:
    def __init__(self, read: Callable[[], State], write: Callable[[Callable[[State], State]], None]) -> None:
        self._read, self._write = read, write
        self._building = threading.Lock()

    def choice(self) -> Choice:
        return self._read().choice

    def held(self) -> dict[str, ModelInfo]:
        return {label: held.info for label, held in self._read().models.items()}

    def want(self, model: ModelInfo, collection: str | None = None, *, chosen: bool = True) -> bool:
        before = self._read()

        def change(state: State) -> State:
            choice = choices.want(state.choice, model.label, collection, chosen=chosen)
            models = dict(state.models)
            known = models.get(model.label)
            if known and known.info.dimension != model.dimension and model.label not in state.choice.used:
                known = None
            if known is None:
                models = {label: held for label, held in models.items() if label in choice.used}
                models[model.label] = Held(model)
            elif model.spec:
                models[model.label] = replace(known, info=model)
            return _promoted(replace(state, models=models, choice=choices.forget(choice, models)), state.choice)

        self._write(change)
        return self._changed(before)

    def switch(self) -> bool:
        before = self._read()
        self._write(lambda state: _promoted(state, state.choice))
        return self._changed(before)

    def _changed(self, before: State) -> bool:
        return self._read().revision != before.revision

    def drop(self) -> int:
        state = self._read()
        unused = [held for label, held in state.models.items() if label not in state.choice.used]

        def change(state: State) -> State:
            models = {label: held for label, held in state.models.items() if label in state.choice.used}
            return replace(state, models=models, choice=choices.forget(state.choice, models))

        self._write(change)
        return sum(len(vector) for held in unused for vector in held.vectors.values())

    def vectors(self, label: str, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        state = self._read()
        return known(state, label, embed_hashes) if label in state.models else {}

    def waiting(self, label: str, collection: str | None, limit: int) -> list[str]:
        state = self._read()
        return state.pending(label, collection)[:limit] if label in state.models else []

    def fill(self, label: str, vectors: Mapping[str, Vector], *, rate: float | None = None) -> None:
        def change(state: State) -> State:
            if label not in state.models:
                return state
            held = state.models[label]
            units = {name: unit(vector, held.info) for name, vector in vectors.items()}
            new = {
                name: units[chunk.embed_hash]
                for name, chunk in state.chunks.items()
                if chunk.embed_hash in units and name not in held.vectors
            }
            filled = replace(held, vectors={**held.vectors, **new}, rate=rate or held.rate)
            collections = {document.collection for document in state.documents.values()}
            answers = {state.choice.label(), *(state.choice.label(name) for name in collections)}
            more = 1 if new and label in answers else 0
            return replace(state, models={**state.models, label: filled}, revision=state.revision + more)

        self._write(change)

    def note(self, label: str, problem: str | None) -> None:
        def change(state: State) -> State:
            if label not in state.models:
                return state
            return replace(state, models={**state.models, label: replace(state.models[label], problem=problem)})

        self._write(change)

    def calibrate(self) -> None:
        def change(state: State) -> State:
            return replace(state, models={label: _calibrated(held) for label, held in state.models.items()})

        self._write(change)

    @contextmanager
    def building(self) -> Iterator[None]:
        if not self._building.acquire(blocking=False):
            raise StoreBusy("another thread embeds for a change of the model", fix="wait until it is done")
        try:
            yield
        finally:
            self._building.release()

    def status(self) -> ModelStatus:
        state = self._read()
        choice = state.choice
        rows = Counter({document.collection: 0 for document in state.documents.values()})
        rows.update(state.documents[chunk.doc_id].collection for chunk in state.chunks.values())
        return ModelStatus(
            answering=choice.label(),
            building=choice.store.wanted,
            former=choice.store.former,
            chosen=choice.store.chosen,
            models=tuple(_state(state, label, rows) for label in state.models),
            collections=tuple(_collection(state, name, rows[name]) for name in sorted(rows)),
            builder=0 if self._building.locked() else None,
        )


def known(state: State, label: str, embed_hashes: Sequence[str]) -> dict[str, Vector]:
    wanted, vectors = set(embed_hashes), state.models[label].vectors
    pairs = [(c.embed_hash, vectors[c.chunk_id]) for c in state.chunks.values() if c.chunk_id in vectors]
    return dict(sorted((pair for pair in pairs if pair[0] in wanted), key=lambda pair: pair[1] != b""))  # blank first


def _promoted(state: State, before: Choice) -> State:
    """What is whole answers; a new revision where another model answers than before."""

    def whole(label: str, collection: str | None) -> bool:
        return label in state.models and not state.pending(label, collection)

    names = {document.collection for document in state.documents.values()}
    choice = choices.promote(state.choice, names, whole)
    named = {None, *dict(before.collections), *dict(choice.collections)}
    more = 1 if any(before.label(name) != choice.label(name) for name in named) else 0
    return replace(state, choice=choice, revision=state.revision + more)


def _calibrated(held: Held) -> Held:
    vectors = {name: vector for name, vector in held.vectors.items() if vector}
    if not calibrate.due(held.calibration, len(vectors)):
        return held
    names = calibrate.sample(vectors)
    return replace(held, calibration=calibrate.measure([vectors[name] for name in names], len(vectors)))


def _state(state: State, label: str, rows: Mapping[str, int]) -> ModelState:
    held, choice = state.models[label], state.choice
    names = [name for name in rows if label in choice.needed(name)] if label in choice.used else list(rows)
    answers = label == choice.label() or any(label == choice.label(name) for name in rows)
    building = label in {choice.store.wanted, *(seat.wanted for _, seat in choice.collections)}
    return ModelState(
        info=held.info,
        role="building" if building else "answering" if answers else "kept",
        chunks=sum(rows[name] for name in names),
        pending=sum(len(state.pending(label, name)) for name in names),
        bytes=sum(map(len, held.vectors.values())),
        rate=held.rate,
        problem=held.problem,
        calibration=held.calibration,
    )


def _collection(state: State, name: str, chunks: int) -> CollectionModel:
    answering, target = state.choice.label(name), state.choice.target(name)
    building = target if target != answering else None
    label = building or answering
    pending = len(state.pending(label, name)) if label in state.models and label else chunks
    return CollectionModel(name, answering, building, chunks, pending)
