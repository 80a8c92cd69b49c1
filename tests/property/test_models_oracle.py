"""Any sequence of writes, builds, switches and changes of mind: SQLite and the oracle agree, and the store is sound."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kb.store.memory import MemoryStore
from kb.store.sqlite.store import SQLiteStore
from kb.testing import DIMENSION, MODEL, direction, entry
from kb.types import Entry, Filters, ModelInfo, Vector

MODELS = (MODEL, ModelInfo("next", "000000000002", 4), ModelInfo("twin", "000000000003", DIMENSION))
COLLECTIONS = ("default", "lib")
models = st.sampled_from(MODELS)
wheres = st.sampled_from((None, *COLLECTIONS))


def vector(text: str, model: ModelInfo) -> Vector:
    return b"" if text == "blank" else direction((model.id, text), model.dimension)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    texts = draw(st.lists(st.sampled_from(("one", "two", "three", "blank")), min_size=1, max_size=3))
    made = entry(f"d{draw(st.integers(0, 4))}", *texts, vectors=(), collection=draw(st.sampled_from(COLLECTIONS)))
    by_model = {
        model.label: tuple(vector(text, model) if draw(st.booleans()) else None for text in texts)
        for model in draw(st.lists(models, unique_by=lambda model: model.label, max_size=3))
    }
    return replace(made, by_model=by_model)


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.sqlite, self.oracle = SQLiteStore(self.folder), MemoryStore()
        for store in (self.sqlite, self.oracle):
            store.set_model(MODEL)

    @rule(batch=st.lists(entries(), min_size=1, max_size=3))
    def put(self, batch: list[Entry]) -> None:
        assert self.sqlite.put(batch) == self.oracle.put(batch)

    @rule(number=st.integers(0, 4))
    def remove(self, number: int) -> None:
        assert self.sqlite.remove([f"d{number}"]) == self.oracle.remove([f"d{number}"])

    @rule(model=models, collection=wheres, chosen=st.booleans())
    def want(self, model: ModelInfo, collection: str | None, chosen: bool) -> None:
        ours = self.sqlite.models.want(model, collection, chosen=chosen)
        assert ours == self.oracle.models.want(model, collection, chosen=chosen)

    @rule(model=models, collection=wheres, limit=st.integers(1, 9))
    def build(self, model: ModelInfo, collection: str | None, limit: int) -> None:
        ours = self.sqlite.models.waiting(model.label, collection, 999)
        assert sorted(ours) == sorted(self.oracle.models.waiting(model.label, collection, 999))
        with self.sqlite.snapshot() as snapshot:
            texts = [chunk.chunk.text for chunk in snapshot.chunks(sorted(ours)[:limit]).values()]
        made = {f"hash of {text}": vector(text, model) for text in texts}
        for store in (self.sqlite, self.oracle):
            store.models.fill(model.label, made)

    @rule()
    def switch(self) -> None:
        assert self.sqlite.models.switch() == self.oracle.models.switch()

    @rule()
    def drop(self) -> None:
        assert (self.sqlite.models.drop() > 0) >= (self.oracle.models.drop() > 0)  # an empty table has its size, too

    @rule()
    def calibrate(self) -> None:
        for store in (self.sqlite, self.oracle):
            store.models.calibrate()

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = SQLiteStore(self.folder)

    @invariant()
    def the_same_answers_by_the_same_model(self) -> None:
        for collection in (None, *COLLECTIONS):
            where = Filters(collection=collection)
            with self.sqlite.snapshot(collection) as ours, self.oracle.snapshot(collection) as theirs:
                assert (ours.model, ours.revision, ours.chosen) == (theirs.model, theirs.revision, theirs.chosen)
                assert ours.calibration == theirs.calibration
                assert ours.model is not None
                query = vector("two", ours.model)
                assert ours.nearest(query, where, 9) == theirs.nearest(query, where, 9)

    @invariant()
    def the_same_account_of_it(self) -> None:
        ours, theirs = self.sqlite.models.status(), self.oracle.models.status()
        assert (ours.answering, ours.building, ours.former) == (theirs.answering, theirs.building, theirs.former)
        assert ours.collections == theirs.collections
        told = [(each.info, each.role, each.chunks, each.pending) for each in ours.models]
        assert told == [(each.info, each.role, each.chunks, each.pending) for each in theirs.models]
        assert self.sqlite.models.choice() == self.oracle.models.choice()

    @invariant()
    def what_answers_is_never_less_whole_than_what_it_replaced(self) -> None:
        """A model is held and used, or forgotten; and the store is sound."""
        choice, held = self.sqlite.models.choice(), self.sqlite.models.held()
        assert choice.used <= held.keys()
        assert self.sqlite.check().problems == ()

    def teardown(self) -> None:
        self.sqlite.close()
        shutil.rmtree(self.folder, ignore_errors=True)


TestModels = Machine.TestCase
TestModels.settings = settings(
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
    max_examples=12,
    stateful_step_count=15,
)
