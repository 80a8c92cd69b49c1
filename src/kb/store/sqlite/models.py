"""Changing the model of a store while it answers: see ``protocols.Models`` and docs/decisions/008-model-change.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict

import apsw

from kb.models import Choice, CollectionModel, ModelState, ModelStatus
from kb.store import calibrate
from kb.store import choice as choices
from kb.store.sqlite import generations, write
from kb.store.sqlite.connect import Place
from kb.store.sqlite.generations import Generation
from kb.store.sqlite.lease import holder, lease
from kb.store.sqlite.rows import pack, unpack
from kb.store.sqlite.vectors import CHUNK_ROWS, read
from kb.types import ModelInfo, Vector

STEADY = 0.9  # of the rate so far: batches take a quarter of a second, and estimates should not jump
COLLECTIONS = (
    "SELECT d.collection, count(c.id) FROM documents d LEFT JOIN chunks c ON c.document = d.id "
    "GROUP BY d.collection ORDER BY d.collection"
)


Transaction = Callable[[], AbstractContextManager[apsw.Connection]]


class SQLiteModels:
    """The models of one store."""

    def __init__(self, reading: Transaction, writing: Transaction, place: Place) -> None:
        self._reading, self._writing = reading, writing
        self._place = place
        self._at: dict[
            tuple[str, str | None], int
        ] = {}  # where `waiting` goes on: what lies before is done, or was missed

    # ------------------------------------------------------------ which

    def choice(self) -> Choice:
        with self._reading() as connection:
            return generations.choice_of(connection)

    def held(self) -> dict[str, ModelInfo]:
        with self._reading() as connection:
            return {each.info.label: each.info for each in generations.every(connection)}

    def want(self, model: ModelInfo, collection: str | None = None, *, chosen: bool = True) -> bool:
        with self._writing() as connection:
            before = generations.choice_of(connection)
            after = choices.want(before, model.label, collection, chosen=chosen)
            found = generations.find(connection, model.label)
            if found is not None and found.info.dimension != model.dimension and model.label not in before.used:
                generations.drop(connection, found)
                found = None
            if found is None:
                after = _cleared(connection, after)
                generations.create(connection, model)
            elif model.spec != found.info.spec and model.spec:
                info = json.dumps(asdict(model))
                connection.execute("UPDATE models SET info = ? WHERE id = ?", (info, found.number))
            generations.save_choice(connection, after)
            return self._promoted(connection, before, after)

    def switch(self) -> bool:
        with self._reading() as connection:  # mostly there is nothing to do, and nobody has to wait for that
            before = generations.choice_of(connection)
            if _promoted(connection, before) == before:
                return False
        with self._writing() as connection:
            before = generations.choice_of(connection)
            return self._promoted(connection, before, before)

    def drop(self) -> int:
        """Forget the vectors of all models that neither answer nor are to; how many bytes those were."""
        with self._writing() as connection:
            before = generations.choice_of(connection)
            unused = [each for each in generations.every(connection) if each.info.label not in before.used]
            freed = sum(_bytes(connection, each) for each in unused)
            after = _cleared(connection, before)
            if after != before:
                generations.save_choice(connection, after)
            return freed

    def _promoted(self, connection: apsw.Connection, before: Choice, after: Choice) -> bool:
        """Let what is whole answer; a new revision where answers may differ from now on."""
        promoted = _promoted(connection, after)
        if promoted != after:
            generations.save_choice(connection, promoted)
        names = {None, *dict(before.collections), *dict(promoted.collections)}
        changed = any(before.label(name) != promoted.label(name) for name in names)
        if changed:
            write.next_revision(connection)
        return changed

    # ------------------------------------------------------------ vectors

    def vectors(self, label: str, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        with self._reading() as connection:
            generation = generations.find(connection, label)
            return generations.known(connection, generation, embed_hashes) if generation else {}

    def waiting(self, label: str, collection: str | None, limit: int) -> list[str]:
        key = (label, collection)
        with self._reading() as connection:
            generation = generations.find(connection, label)
            if generation is None:
                return []
            found = _waiting(connection, generation, collection, self._at.get(key, 0), limit)
            if not found and self._at.get(key):
                found = _waiting(connection, generation, collection, 0, limit)
            self._at[key] = found[0][0] - 1 if found else 0
            return [name for _, name in found]

    def fill(self, label: str, vectors: Mapping[str, Vector], *, rate: float | None = None) -> None:
        with self._writing() as connection:
            generation = generations.find(connection, label)
            if generation is None:
                return
            before = connection.total_changes()
            write.fill(connection, generation, vectors, "embed_hash")
            choice = generations.choice_of(connection)
            answers = {choice.label(), *(choice.label(name) for name, _ in choice.collections)}
            if label in answers and connection.total_changes() != before:
                write.next_revision(connection)
            if rate is not None:
                smooth = rate if generation.rate is None else STEADY * generation.rate + (1 - STEADY) * rate
                connection.execute("UPDATE models SET rate = ? WHERE id = ?", (smooth, generation.number))

    def note(self, label: str, problem: str | None) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE models SET problem = ? WHERE label = ?", (problem, label))

    def calibrate(self) -> None:
        with self._reading() as connection:
            made = {each: _measured(connection, each) for each in _due(connection)}
        if made:
            with self._writing() as connection:
                for each, text in made.items():
                    connection.execute("UPDATE models SET calibration = ? WHERE id = ?", (text, each.number))

    # ------------------------------------------------------------ who, and how far

    @contextmanager
    def building(self) -> Iterator[None]:
        with lease(self._place.builder, 0.0):
            yield

    def status(self) -> ModelStatus:
        with self._reading() as connection:
            choice = generations.choice_of(connection)
            rows = {unpack(name) or "": count for name, count in connection.execute(COLLECTIONS)}
            every = {each.info.label: each for each in generations.every(connection)}
            pending = {
                (label, name): generations.pending(connection, each, name)
                for label, each in every.items()
                for name in rows
                if label in choice.needed(name)
            }
            return ModelStatus(
                answering=choice.label(),
                building=choice.store.wanted,
                former=choice.store.former,
                chosen=choice.store.chosen,
                models=tuple(_state(connection, each, choice, rows, pending) for each in every.values()),
                collections=tuple(_collection(name, count, choice, pending) for name, count in rows.items()),
                builder=holder(self._place.builder),
            )


def _promoted(connection: apsw.Connection, choice: Choice) -> Choice:
    names = [unpack(row[0]) or "" for row in connection.execute("SELECT DISTINCT collection FROM documents")]
    return choices.promote(choice, names, _whole(connection))


def _whole(connection: apsw.Connection) -> Callable[[str, str | None], bool]:
    def whole(label: str, collection: str | None) -> bool:
        generation = generations.find(connection, label)
        return generation is not None and generation.counts and not _waiting(connection, generation, collection, 0, 1)

    return whole


def _waiting(
    connection: apsw.Connection, generation: Generation, collection: str | None, after: int, limit: int
) -> list[tuple[int, str]]:
    """In the order of their numbers, which grow. The plus keeps SQLite from going by documents instead."""
    bindings: tuple[object, ...] = (after, limit)
    within = ""
    if collection is not None:
        within = " AND (SELECT +d.collection FROM documents d WHERE d.id = c.document) = ?"
        bindings = (after, pack(collection), limit)
    statement = (
        f"SELECT c.id, c.chunk_id FROM chunks c WHERE c.id > ?{within} AND {generations.lacking(generation)} "
        "ORDER BY c.id LIMIT ?"
    )
    return connection.execute(statement, bindings).fetchall()


def _cleared(connection: apsw.Connection, choice: Choice) -> Choice:
    """Without the vectors of models that the choice does not use; and without their names."""
    every = generations.every(connection)
    for each in every:
        if each.info.label not in choice.used:
            generations.drop(connection, each)
    held = {each.info.label for each in generations.every(connection)} | choice.used
    return choices.forget(choice, held)


def _bytes(connection: apsw.Connection, generation: Generation) -> int:
    if not generations.has_table(connection, generation):
        return 0
    blocks = int(connection.execute(f"SELECT count(*) FROM {generation.table}_chunks").get)
    return blocks * CHUNK_ROWS * (4 * generation.info.dimension + 8)


def _due(connection: apsw.Connection) -> list[Generation]:
    found = []
    for each in generations.every(connection):
        if each.counts:
            count = int(connection.execute(f"SELECT count(*) FROM {each.table}_rowids").get)
            if calibrate.due(each.calibration, count):
                found.append(each)
    return found


def _measured(connection: apsw.Connection, generation: Generation) -> str | None:
    rows = connection.execute(
        f"SELECT c.chunk_id, c.id FROM chunks c JOIN {generation.table}_rowids r ON r.rowid = c.id"
    )
    numbers = dict(rows)
    names = calibrate.sample(numbers)
    vectors = dict(read(connection, generation.table, generation.info.dimension, [numbers[name] for name in names]))
    found = calibrate.measure([vectors[numbers[name]] for name in names], len(numbers))
    return json.dumps([found.mean, found.deviation, found.vectors]) if found else None


def _state(
    connection: apsw.Connection, each: Generation, choice: Choice, rows: Mapping[str, int],
    pending: Mapping[tuple[str, str], int],
) -> ModelState:  # fmt: skip
    label = each.info.label
    names = [name for name in rows if label in choice.needed(name)]
    answers = label == choice.label() or any(label == choice.label(name) for name in rows)
    building = label in {choice.store.wanted, *(seat.wanted for _, seat in choice.collections)}
    used = label in choice.used
    return ModelState(
        info=each.info,
        role="building" if building else "answering" if answers else "kept",
        chunks=sum(rows[name] for name in (names if used else rows)),
        pending=sum(pending[label, name] for name in names) if used else generations.pending(connection, each),
        bytes=_bytes(connection, each),
        rate=each.rate,
        problem=each.problem,
        calibration=each.calibration,
    )


def _collection(name: str, chunks: int, choice: Choice, pending: Mapping[tuple[str, str], int]) -> CollectionModel:
    answering, target = choice.label(name), choice.target(name)
    building = target if target != answering else None
    waits = pending.get((building or answering or "", name), chunks)
    return CollectionModel(name, answering, building, chunks, waits)
