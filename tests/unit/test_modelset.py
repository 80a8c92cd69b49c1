"""Changing the model of a knowledge base: who answers, who embeds what, and what the settings have to say."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

import kb
from kb.config import EmbedSettings, Settings
from kb.embed.hashing import HashingEmbedder
from kb.errors import MissingExtra, NotFound, UsageError
from kb.ingest import pipeline
from kb.models import ModelStatus
from kb.store.sqlite import schema
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry, everything, ids
from kb.types import ModelInfo, Vector
from tests.conftest import MakeBase

A, B = HashingEmbedder(64).info.label, HashingEmbedder(32).info.label


def configured(model: str) -> Settings:
    return Settings(embed=EmbedSettings(model=model))


@pytest.fixture
def base(make_base: MakeBase, fruit: dict[str, str]) -> kb.KB:
    """With vectors of hashing:64, by the settings."""
    return make_base(fruit, embedder=None, settings=configured("hashing:64"))


def answered_by(base: kb.KB, collection: str | None = None) -> str | None:
    result = base.search("git history", collection=collection)
    assert result.vector.ran, result.vector
    return result.hits[0].embedding_model


def test_another_model_answers_when_all_is_embedded_and_not_before(base: kb.KB) -> None:
    status = base.model.set("hashing:32")
    assert (status.answering, status.building) == (A, B)
    assert answered_by(base) == A
    assert base.search("git").warnings == ()
    seen = []
    looks: list[ModelStatus] = []

    def look(status: object) -> None:
        seen.append(answered_by(base))
        looks.append(base.model.status())

    assert base.model.run(on_status=look).answering == B
    assert seen[:-1] == [A] * (len(seen) - 1)
    assert looks[0].builder is not None
    assert answered_by(base) == B
    assert base.search("git", mode="vector").hits[0].embedding_model == B
    assert base.check().ok


def test_back_takes_no_time_and_embeds_nothing(base: kb.KB) -> None:
    base.model.set("hashing:32", wait=True)
    assert base.model.back().answering == A
    assert answered_by(base) == A
    assert base.model.back().answering == B
    assert base.model.drop() > 0
    with pytest.raises(NotFound, match="no former model") as error:
        base.model.back()
    assert "kb model set" in error.value.fix


def test_back_while_a_model_is_built_ends_that(base: kb.KB) -> None:
    base.model.set("hashing:32")
    status = base.model.back()
    assert (status.answering, status.building) == (A, None)
    assert base.model.run().answering == A


def test_after_a_choice_the_settings_are_silent(base: kb.KB, make_base: MakeBase) -> None:
    base.model.set("hashing:32", wait=True)
    again = make_base(embedder=None, settings=configured("hashing:64"))
    assert again.search("git").warnings == ()
    assert answered_by(again) == B
    again.put([kb.Document("new.md", "Something new about git and its history")])
    assert again.model.status().answering == B
    assert again.model.status().building is None
    assert again.status().pending == 0


def test_a_store_answers_with_its_own_model_and_says_so(base: kb.KB, make_base: MakeBase) -> None:
    again = make_base(embedder=None, settings=configured("hashing:32"))
    result = again.search("git history")
    assert result.vector.ran
    assert result.hits[0].embedding_model == A
    (warning,) = result.warnings
    assert "hashing:64" in warning
    assert "kb model set hashing:32" in warning
    assert again.search("git", mode="lexical").warnings == ()


def test_a_remote_model_in_the_settings_is_not_asked_by_a_search(base: kb.KB, make_base: MakeBase) -> None:
    settings = Settings(embed=EmbedSettings(model="openai:some", base_url="http://127.0.0.1:9/v1"))
    result = make_base(embedder=None, settings=settings).search("git history")
    assert result.vector.ran
    assert "kb model set openai:some" in result.warnings[0]


@pytest.mark.parametrize("name", ["openai:some", "onnx-dir:/nowhere/theirs"])
def test_no_store_makes_kb_reach_beyond_itself(base: kb.KB, name: str) -> None:
    """A store, or a pack in it, may come from somebody else: the settings must name such a model, too."""
    base.store.set_model(ModelInfo(name, "0123456789ab", 8, remote=True))
    result = base.search("git history")
    assert not result.vector.ran
    assert f"kb config set embed.model {name}" in result.warnings[0]
    with pytest.raises(UsageError) as error:
        base.model.set(name)
    assert name in error.value.fix


def test_no_model_in_the_settings_means_keywords_only(base: kb.KB, make_base: MakeBase) -> None:
    result = make_base(embedder=None, settings=configured("none")).search("git history")
    assert not result.vector.ran
    assert result.returned > 0


def test_adding_with_another_configured_model_changes_over_when_it_is_whole(base: kb.KB, make_base: MakeBase) -> None:
    again = make_base(embedder=None, settings=configured("hashing:32"))
    assert again.put([kb.Document("new.md", "Something new")]).ok
    status = again.model.status()
    assert (status.answering, status.building, status.former, status.chosen) == (B, None, A, False)
    assert again.status().pending == 0
    assert again.search("git").warnings == ()
    with again.store.snapshot() as snapshot:
        assert snapshot.calibration is not None


def test_an_interrupted_change_leaves_the_old_model_whole(base: kb.KB, make_base: MakeBase) -> None:
    base.put([kb.Document(f"{number}.md", f"Text number {number} of many") for number in range(100)])
    stop = threading.Event()

    class Slow(HashingEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
            stop.set()
            return super().embed_passages(texts)

    report = pipeline.put([], store=base.store, embedder=Slow(32), settings=base.settings.ingest, stop=stop)
    assert report.interrupted
    status = base.model.status()
    assert (status.answering, status.building) == (A, B)
    assert answered_by(base) == A
    assert make_base(embedder=None, settings=configured("hashing:32")).put([kb.Document("x.md", "x")]).ok
    assert base.model.status().answering == B


def test_what_is_added_meanwhile_has_vectors_of_both(base: kb.KB) -> None:
    base.model.set("hashing:32")
    base.put([kb.Document("new.md", "Something new about penguins")])
    with base.store.snapshot() as snapshot:
        (stored,) = snapshot.read(snapshot.find(kb.Filters(path="new.md"))[0].doc_id)[1]
    for label in (A, B):
        assert base.store.models.vectors(label, [stored.embed_hash])[stored.embed_hash]
    building = next(state for state in base.model.status().models if state.role == "building")
    assert building.pending == base.status().chunks - 1  # all the rest is for the process in the background
    assert base.search("penguins", mode="vector").hits[0].doc_path == "new.md"


def test_a_kept_model_stays_whole_where_texts_are_known(base: kb.KB, fruit: dict[str, str]) -> None:
    base.model.set("hashing:32", wait=True)
    base.put([kb.Document("d.md", fruit["d.md"], tags=["touched"]), kb.Document("e2.md", fruit["e.md"])])
    kept = next(state for state in base.model.status().models if state.role == "kept")
    assert kept.pending == 0
    assert base.model.back().answering == A


def test_a_collection_can_have_a_model_of_its_own(base: kb.KB) -> None:
    base.put([kb.Document("m.md", "The history of git in memory", collection="memory")])
    base.model.set("hashing:32", collection="memory", wait=True)
    assert answered_by(base, "memory") == B
    assert answered_by(base) == A
    assert answered_by(base, "default") == A
    base.put([kb.Document("n.md", "More history of git", collection="memory"), kb.Document("o.md", "The rest")])
    assert all(row.pending == 0 for row in base.model.status().collections)
    base.model.back(collection="memory")
    assert answered_by(base, "memory") == A


def test_a_model_that_cannot_be_loaded_any_more_is_a_warning(base: kb.KB) -> None:
    gone = ModelInfo("onnx-dir:gone", "0123456789ab", 8, spec="onnx-dir:/nowhere/gone")
    base.store.set_model(gone)
    result = base.search("git history")
    assert not result.vector.ran
    assert result.returned > 0
    assert "/nowhere/gone" in result.warnings[0]


def test_a_builder_that_fails_says_why_and_the_old_model_goes_on(base: kb.KB) -> None:
    base.store.models.want(ModelInfo("openai:some", "0123456789ab", 8, remote=True))
    with pytest.raises(kb.KBError):
        base.model.run()
    building = next(state for state in base.model.status().models if state.role == "building")
    assert building.problem
    assert answered_by(base) == A


@pytest.mark.parametrize("chosen", [False, True])
def test_a_model_that_another_version_of_kb_renews_is_built_by_the_next_add(base: kb.KB, chosen: bool) -> None:
    old = ModelInfo("hashing:64", "0123456789ab", 64)
    base.store.set_model(old)
    base.store.models.want(old, chosen=chosen)
    result = base.search("git history")
    assert not result.vector.ran
    assert "kb model set" in result.warnings[0]
    base.put([kb.Document("new.md", "Something new")])
    status = base.model.status()
    assert (status.answering, status.building, status.chosen) == (A, None, chosen)
    assert base.status().pending == 0


def test_models_that_do_not_exist_are_refused_and_change_nothing(base: kb.KB) -> None:
    for name in ("hashing:x", "unknown", "none", "openai"):
        with pytest.raises((UsageError, MissingExtra)):
            base.model.set(name)
    assert base.model.status().building is None
    assert "static" in [offer.name for offer in base.model.list() if offer.ok]


def test_a_store_of_an_older_format_keeps_its_vectors(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    store.set_model(MODEL)
    store.put([entry("a", "one", "two"), entry("b", "nothing", vectors=(b"",))])
    store.close()
    connection = apsw.Connection(str(tmp_path / "kb.db"))
    connection.execute(
        "INSERT INTO meta SELECT 'model', info FROM models; INSERT INTO meta VALUES ('vectors', 'ready');"
        "DELETE FROM meta WHERE key = 'choice';"
        "CREATE TABLE old(chunk INTEGER PRIMARY KEY REFERENCES chunks(id) ON DELETE CASCADE);"
        "INSERT INTO old SELECT chunk FROM blanks; DROP TABLE blanks; ALTER TABLE old RENAME TO blanks;"
        f"DROP TABLE models; PRAGMA user_version = {schema.SCHEMA_VERSION - 1}"
    ).fetchall()
    connection.close()
    store = SQLiteStore(tmp_path, read_only=True)
    with store.snapshot() as snapshot:
        assert snapshot.model == MODEL
        assert ids(snapshot.nearest(direction("two"), everything, 1)) == ["a:1"]
    assert store.status().pending == 0
    assert store.check().problems == ()
    store.close()
