"""The suite for stores that hold several models: whoever passes ``StoreContract`` passes this one as well.

class TestMyModels(ModelsContract):
    @pytest.fixture
    def store(self, tmp_path): ...
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kb.errors import IndexMismatch, StoreBusy
from kb.protocols import Store
from kb.testing import DIMENSION, MODEL, direction, entry, everything, ids
from kb.types import Entry, Filters, ModelInfo, Vector

NEXT = ModelInfo("next", "000000000002", 4)
TWIN = ModelInfo("twin", "000000000003", DIMENSION)  # the same dimension: only its name tells it from MODEL
LIB = Filters(collection="lib")


def other(text: object, model: ModelInfo = NEXT) -> Vector:
    """The vector of a text by another model."""
    return direction((model.id, text), model.dimension)


def texts(store: Store) -> dict[str, str]:
    """The text of each chunk by its id."""
    with store.snapshot() as snapshot:
        documents = snapshot.find(everything)
        return {chunk.chunk_id: chunk.chunk.text for d in documents for chunk in snapshot.read(d.doc_id)[1]}


def fill(store: Store, model: ModelInfo = NEXT, collection: str | None = None) -> None:
    """Everything that waits, as a builder does it."""
    known = texts(store)
    while names := store.models.waiting(model.label, collection, 2):
        store.models.fill(model.label, {f"hash of {known[name]}": other(known[name], model) for name in names})


def revision(store: Store) -> int:
    with store.snapshot() as snapshot:
        return snapshot.revision


class ModelsContract:
    """What every store must do while its model changes. Give it a fixture ``store``: an empty one."""

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError("override the fixture `store`")

    @pytest.fixture
    def two(self, store: Store) -> Store:
        """Two collections with vectors of MODEL."""
        store.set_model(MODEL)
        store.put([entry("a", "red apple", "green apple"), entry("b", "pear")])
        store.put([entry("c", "open a file", "close it", collection="lib")])
        return store

    def test_the_old_model_answers_until_the_new_one_is_whole(self, two: Store) -> None:
        assert not two.models.want(NEXT)
        before = revision(two)
        known = texts(two)
        for name in sorted(known)[:-1]:
            two.models.fill(NEXT.label, {f"hash of {known[name]}": other(known[name])})
            two.models.switch()
            with two.snapshot() as snapshot:
                assert snapshot.model == MODEL
                assert len(snapshot.nearest(direction("pear"), everything, 9)) == len(known)
                with pytest.raises(IndexMismatch):
                    snapshot.nearest(other("pear"), everything, 9)
        fill(two)
        assert two.models.switch()
        assert revision(two) > before
        with two.snapshot() as snapshot:
            assert snapshot.model == NEXT
            assert snapshot.chosen
            assert ids(snapshot.nearest(other("pear"), everything, 1)) == ["b:0"]
            assert len(snapshot.nearest(other("pear"), everything, 9)) == len(known)
            with pytest.raises(IndexMismatch):
                snapshot.nearest(direction("pear"), everything, 9)
        assert not two.models.switch()
        assert two.check().ok

    def test_vectors_of_a_model_that_does_not_answer_are_no_new_revision(self, two: Store) -> None:
        two.models.want(NEXT)
        before = revision(two)
        known = texts(two)
        two.models.fill(NEXT.label, {f"hash of {text}": other(text) for text in known.values()})
        assert revision(two) == before
        two.models.switch()
        assert revision(two) == before + 1

    def test_a_collection_goes_over_as_soon_as_it_is_whole(self, two: Store) -> None:
        two.models.want(NEXT)
        fill(two, collection="lib")
        assert two.models.switch()
        with two.snapshot("lib") as within, two.snapshot() as all_:
            assert (within.model, all_.model) == (NEXT, MODEL)
            assert ids(within.nearest(other("close it"), LIB, 1)) == ["c:1"]
            assert len(all_.nearest(direction("pear"), everything, 9)) == 5
        with two.snapshot("default") as rest:
            assert rest.model == MODEL
        rows = {row.collection: (row.answering, row.building, row.pending) for row in two.models.status().collections}
        assert rows == {"default": (MODEL.label, NEXT.label, 3), "lib": (NEXT.label, None, 0)}
        fill(two)
        assert two.models.switch()
        with two.snapshot() as all_, two.snapshot("lib") as within:
            assert all_.model == within.model == NEXT
        assert two.models.choice().collections == ()
        assert two.check().ok

    def test_a_collection_may_have_a_model_of_its_own(self, two: Store) -> None:
        two.models.want(NEXT, "lib")
        fill(two, collection="lib")
        assert two.models.switch()
        assert two.models.choice().needed("lib") == (MODEL.label, NEXT.label)
        with two.snapshot("lib") as within, two.snapshot() as all_, two.snapshot("default") as rest:
            assert (within.model, all_.model, rest.model) == (NEXT, MODEL, MODEL)
        two.models.want(MODEL, "lib")
        two.models.switch()
        with two.snapshot("lib") as within:
            assert within.model == MODEL
        assert two.check().ok

    def test_what_is_written_meanwhile_waits_or_brings_both_vectors(self, two: Store) -> None:
        two.models.want(NEXT)
        fill(two)
        two.put([entry("late", "late text")])
        assert two.models.waiting(NEXT.label, None, 9) == ["late:0"]
        assert not two.models.switch() or two.models.choice().label() == MODEL.label
        both: dict[str, tuple[Vector | None, ...]] = {MODEL.label: (direction("x"),), NEXT.label: (other("x"),)}
        two.put([replace(entry("late", "x", vectors=()), by_model=both)])
        assert two.models.waiting(NEXT.label, None, 9) == []
        assert two.models.switch()
        with two.snapshot() as snapshot:
            assert ids(snapshot.nearest(other("x"), everything, 1)) == ["late:0"]
        assert two.check().ok

    def test_vectors_of_the_old_model_that_come_late_are_not_taken_for_new_ones(self, two: Store) -> None:
        two.models.want(TWIN)
        fill(two, TWIN)
        two.models.switch()
        late = replace(entry("late", "x", vectors=()), by_model={MODEL.label: (direction("x"),), "gone@1": (b"",)})
        two.put([late])
        with two.snapshot() as snapshot:
            assert snapshot.model == TWIN
            assert "late:0" not in ids(snapshot.nearest(direction("x"), everything, 9))
        assert two.models.waiting(TWIN.label, None, 9) == ["late:0"]
        assert two.models.vectors(MODEL.label, ["hash of x"]) == {"hash of x": direction("x")}

    def test_a_vector_reaches_no_other_text_than_its_own(self, two: Store) -> None:
        two.models.want(NEXT)
        two.put([entry("b", "plum")])  # after a builder has read "pear"
        two.models.fill(NEXT.label, {"hash of pear": other("pear")})
        assert two.models.vectors(NEXT.label, ["hash of pear", "hash of plum"]) == {}
        assert "b:0" in two.models.waiting(NEXT.label, None, 9)

    def test_a_text_with_nothing_to_compare_does_not_hold_up_the_switch(self, two: Store) -> None:
        two.models.want(NEXT)
        two.models.fill(NEXT.label, {f"hash of {text}": b"" for text in texts(two).values()})
        assert two.models.switch()
        with two.snapshot() as snapshot:
            assert snapshot.nearest(other("pear"), everything, 9) == []
        assert two.models.vectors(NEXT.label, ["hash of pear"]) == {"hash of pear": b""}

    def test_back_is_at_once_where_the_former_vectors_are_whole(self, two: Store) -> None:
        two.models.want(NEXT)
        fill(two)
        two.models.switch()
        assert two.models.status().former == MODEL.label
        assert two.models.want(MODEL)
        with two.snapshot() as snapshot:
            assert snapshot.model == MODEL
            assert len(snapshot.nearest(direction("pear"), everything, 9)) == 5
        two.put([entry("late", "late")])
        two.models.want(NEXT)
        with two.snapshot() as snapshot:
            assert snapshot.model == MODEL  # the other does not know what came since
        assert two.models.waiting(NEXT.label, None, 9) == ["late:0"]
        fill(two)
        assert two.models.switch()

    def test_wanting_the_model_that_answers_ends_a_change(self, two: Store) -> None:
        two.models.want(NEXT)
        fill(two, collection="lib")
        two.models.switch()
        two.models.want(MODEL)
        with two.snapshot("lib") as within:
            assert within.model == MODEL
        assert two.models.status().building is None
        two.models.want(NEXT)
        assert sorted(two.models.waiting(NEXT.label, None, 9)) == ["a:0", "a:1", "b:0"]  # what was done stays

    def test_models_out_of_use_make_room_for_a_new_one(self, two: Store) -> None:
        two.models.want(NEXT)
        fill(two)
        two.models.switch()
        two.models.want(TWIN)
        assert set(two.models.held()) == {NEXT.label, TWIN.label}
        assert two.models.status().former is None
        fill(two, TWIN)
        two.models.switch()
        assert two.models.drop() > 0
        assert set(two.models.held()) == {TWIN.label}
        assert two.models.drop() == 0
        assert two.check().ok

    def test_a_model_declared_the_hard_way_is_alone(self, two: Store) -> None:
        two.models.want(NEXT)
        two.set_model(TWIN)
        assert set(two.models.held()) == {TWIN.label}
        assert two.status().pending == 5
        assert two.check().ok

    def test_what_is_removed_has_no_vectors_left(self, two: Store) -> None:
        two.models.want(NEXT)
        fill(two)
        two.remove(["a"])
        for label in two.models.held():
            assert two.models.vectors(label, ["hash of red apple"]) == {}
        assert two.check().ok

    def test_settings_give_way_to_a_choice_by_name_only(self, two: Store) -> None:
        with two.snapshot() as snapshot:
            assert not snapshot.chosen
        two.models.want(NEXT, chosen=False)
        fill(two)
        two.models.switch()
        with two.snapshot() as snapshot:
            assert not snapshot.chosen
        two.models.want(NEXT)
        with two.snapshot() as snapshot:
            assert snapshot.chosen

    def test_calibration_is_measured_once_and_again_after_growth(self, two: Store) -> None:
        with two.snapshot() as snapshot:
            assert snapshot.calibration is None
        before = revision(two)
        two.models.calibrate()
        assert revision(two) == before
        with two.snapshot() as snapshot:
            first = snapshot.calibration
        assert first is not None
        assert -1 <= first.mean <= 1
        assert first.deviation > 0
        two.put([entry("d", "one more")])
        two.models.calibrate()
        with two.snapshot() as snapshot:
            assert snapshot.calibration == first
        two.put([entry("e", "the same", "the same", "the same")])
        two.models.calibrate()
        with two.snapshot() as snapshot:
            assert snapshot.calibration is not None
            assert snapshot.calibration.vectors == 9

    def test_one_process_builds_at_a_time(self, two: Store) -> None:
        assert two.models.status().builder is None
        with two.models.building():
            assert two.models.status().builder is not None
            with pytest.raises(StoreBusy), two.models.building():
                pass
        with two.models.building():
            pass

    def test_a_problem_is_remembered_until_the_next_try(self, two: Store) -> None:
        two.models.want(NEXT)
        two.models.note(NEXT.label, "the server is down")
        problems = {state.info.label: (state.role, state.problem) for state in two.models.status().models}
        assert problems == {MODEL.label: ("answering", None), NEXT.label: ("building", "the server is down")}

    def test_an_entry_with_too_few_vectors_of_a_model_is_refused(self, two: Store) -> None:
        wrong: dict[str, tuple[Vector | None, ...]] = {MODEL.label: (direction("x"),)}
        with pytest.raises(IndexMismatch):
            two.put([Entry(entry("z", "x", "y").document, entry("z", "x", "y").chunks, (), wrong)])
        with two.snapshot() as snapshot:
            assert snapshot.documents(["z"]) == {}
