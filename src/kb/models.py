"""Values about the models of a store: which one answers, which is wanted, and how far that one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kb.types import ModelInfo, Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Seat(Value):
    """What holds for the store, or for one collection, where None is what holds for the store."""

    answering: str | None = None
    wanted: str | None = None  # its vectors are being made; it answers once all are there
    former: str | None = None  # what answered before, to go back to
    chosen: bool = False  # asked for by name, so that the settings no longer decide


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choice(Value):
    """Which model answers, and which is wanted. They go by their labels."""

    store: Seat = Seat()
    collections: tuple[tuple[str, Seat], ...] = ()  # by name

    def seat(self, collection: str | None) -> Seat:
        return self.store if collection is None else dict(self.collections).get(collection, Seat())

    def label(self, collection: str | None = None) -> str | None:
        """The model that answers searches in this collection, or without a collection."""
        return self.seat(collection).answering or self.store.answering

    def target(self, collection: str | None = None) -> str | None:
        """The model that this collection is to be answered by, now or when it is ready."""
        own = self.seat(collection)
        return own.wanted or (own.answering if own.chosen else None) or self.store.wanted or self.label(collection)

    def needed(self, collection: str) -> tuple[str, ...]:
        """The models that every chunk of this collection must have a vector of."""
        own = self.seat(collection)
        labels = (self.store.answering, self.store.wanted, own.answering, own.wanted)
        return tuple(dict.fromkeys(label for label in labels if label))

    @property
    def used(self) -> frozenset[str]:
        """All models that answer somewhere or are to."""
        seats = (self.store, *(seat for _, seat in self.collections))
        return frozenset(label for seat in seats for label in (seat.answering, seat.wanted) if label)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Value):
    """The cosines of random pairs of a store's chunks: what a cosine is worth that says nothing."""

    mean: float
    deviation: float
    vectors: int  # how many there were when it was measured


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelState(Value):
    """A model whose vectors a store holds, and how far they are."""

    info: ModelInfo
    role: Literal["answering", "building", "kept"]
    chunks: int  # that are to have a vector of it
    pending: int  # of these, those that wait for it
    bytes: int
    rate: float | None = None  # chunks per second, as the last ones went
    problem: str | None = None  # why its building stopped
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CollectionModel(Value):
    """The model that answers searches in one collection, and the one that is being built for it."""

    collection: str
    answering: str | None
    building: str | None
    chunks: int
    pending: int  # chunks that wait for a vector of the model in building, else of the one that answers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelStatus(Value):
    """Which model answers where, what is being built and how far it is."""

    answering: str | None  # searches that name no collection
    building: str | None
    former: str | None
    chosen: bool  # by `kb model set`; else the settings decide
    models: tuple[ModelState, ...] = ()
    collections: tuple[CollectionModel, ...] = ()
    builder: int | None = None  # the process that embeds now
