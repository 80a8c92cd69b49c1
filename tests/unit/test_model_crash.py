"""kill -9 while a model is built and while it takes over: one whole model answers, and what was done stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from kb.store.sqlite.store import SQLiteStore
from kb.testing import DIMENSION, MODEL, direction, entry, everything
from kb.types import Filters, ModelInfo

NEXT = ModelInfo("next", "000000000002", 4)
TWIN = ModelInfo("twin", "000000000003", DIMENSION)
ENV = {**os.environ, "PYTHONPATH": "src"}
BUILDER = """
import sys
from dataclasses import replace
from pathlib import Path
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry
from tests.unit.test_model_crash import NEXT, TWIN
store = SQLiteStore(Path(sys.argv[1]))
number = int(sys.argv[2])
print("ready", flush=True)
while True:
    for model in (NEXT, TWIN, MODEL):
        store.models.want(model)
        while names := store.models.waiting(model.label, None, 9):
            with store.snapshot() as snapshot:
                texts = {chunk.embed_hash: chunk.chunk.text for chunk in snapshot.chunks(names).values()}
            made = {name: direction((model.id, text), model.dimension) for name, text in texts.items()}
            store.models.fill(model.label, made)
            store.models.switch()
        store.models.switch()
        print(f"switched {model.label}", flush=True)
        made = entry(f"d{number}", f"text {number}", "more of it", vectors=(), collection=("default", "lib")[number % 2])
        vectors = {
            label: tuple(direction((info.id, c.chunk.text), info.dimension) for c in made.chunks)
            for label, info in store.models.held().items()
        }
        store.put([replace(made, by_model=vectors)])
        print(f"put {number}", flush=True)
        number += 1
"""


def whole(folder: Path) -> tuple[set[str], str]:
    """The documents, and the model that answers; in each collection it has a vector of every chunk."""
    store = SQLiteStore(folder)
    assert store.check().problems == ()
    for collection in (None, "default", "lib"):
        where = Filters(collection=collection)
        with store.snapshot(collection) as snapshot:
            documents = snapshot.find(where)
            chunks = sum(len(snapshot.read(document.doc_id)[1]) for document in documents)
            model = snapshot.model
            assert model is not None
            query = direction((model.id, "more of it"), model.dimension)
            found = snapshot.nearest(query, where, 10_000)
            assert len(found) == chunks
            assert found[0].score > 0.999  # by the model of its own vectors, not by another of the same dimension
    with store.snapshot() as snapshot:
        assert snapshot.model is not None
        told = {document.doc_id for document in snapshot.find(everything)}, snapshot.model.label
    store.close()
    return told


def test_a_kill_at_any_moment_of_a_change_leaves_one_whole_model(tmp_path: Path) -> None:
    """SIGKILL at 25 random moments of a process that changes the model again and again, and writes."""
    store = SQLiteStore(tmp_path)
    store.set_model(MODEL)
    for number in range(40):
        texts = (f"text {number}", "more of it")
        vectors = tuple(direction((MODEL.id, text)) for text in texts)
        store.put([entry(f"s{number}", *texts, vectors=vectors, collection=("default", "lib")[number % 2])])
    store.close()
    source, acknowledged, switched, seen = random.Random(8), set(), 0, set()
    for _ in range(25):
        command = [sys.executable, "-c", BUILDER, str(tmp_path), str(len(acknowledged))]
        with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(source.uniform(0.0, 0.25))
            process.send_signal(signal.SIGKILL)
            for line in process.stdout.read().splitlines():
                word, _, rest = line.partition(" ")
                switched += word == "switched"
                if word == "put":
                    acknowledged.add(f"d{rest}")
        documents, label = whole(tmp_path)
        seen.add(label)
        assert acknowledged <= documents
    assert switched > 5
    assert len(seen) > 1


def test_what_was_embedded_before_a_kill_is_not_embedded_again(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    store.set_model(MODEL)
    store.put(entry(f"s{number}", f"text {number}") for number in range(300))
    store.models.want(NEXT)
    store.close()
    command = [sys.executable, "-c", BUILDER.replace("store.models.switch()", "print('some', flush=True)"),
               str(tmp_path), "1000"]  # fmt: skip
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(6):
            process.stdout.readline()
        process.kill()
    store = SQLiteStore(tmp_path)
    (building,) = (state for state in store.models.status().models if state.role == "building")
    assert building.info == NEXT
    assert 0 < building.pending <= 300 - 4 * 9
    assert store.status().model == MODEL
    assert store.check().ok
    store.close()
