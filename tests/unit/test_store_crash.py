"""What a kill, another writer and a reader see: everything that was acknowledged, and no half of anything."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kb.errors import StoreBusy
from kb.store.sqlite.lease import lease
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry, everything, ids, keyword

ENV = {**os.environ, "PYTHONPATH": "src"}
WRITER = """
import sys
from pathlib import Path
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, entry
store = SQLiteStore(Path(sys.argv[1]))
store.set_model(MODEL)
print("ready", flush=True)
name, start = sys.argv[2], int(sys.argv[3])
for number in range(start, int(sys.argv[4])):
    texts = [f"needle {name}{number} part {part} 한국어 문서" for part in range(5)]
    store.put([entry(f"{name}{number}", *texts), entry(f"{name}same", f"version {number}", *texts[1:])])
    if number % 3 == 2:
        store.remove([f"{name}{number - 1}"])
        print(f"removed {number - 1}", flush=True)
    print(f"put {number}", flush=True)
store.close()
"""


def writer(folder: Path, name: str, start: int, end: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(start), str(end)]
    return subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, text=True)


def whole(folder: Path) -> dict[str, int]:
    """Every document with the number of its chunks, and each of them must be found by both legs."""
    store = SQLiteStore(folder)
    with store.snapshot() as snapshot:
        found = {document.doc_id: len(snapshot.read(document.doc_id)[1]) for document in snapshot.find(everything)}
        total = sum(found.values())
        assert len(snapshot.match(keyword("part", "version"), everything, 100_000)) == total
        assert len(snapshot.nearest(direction(0), everything, 100_000)) == total
    store.close()
    return found


def test_a_kill_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """SIGKILL at 30 random moments of a writing process, over one store."""
    source = random.Random(20)
    acknowledged: set[int] = set()
    removed: set[int] = set()
    uncertain: set[int] = set()
    start = 0
    for _ in range(30):
        process = writer(tmp_path, "d", start, start + 10_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(source.uniform(0.0, 0.08))
        process.send_signal(signal.SIGKILL)
        for line in process.stdout.read().splitlines():
            word, _, number = line.partition(" ")
            {"put": acknowledged, "removed": removed}[word].add(int(number))
        process.wait()
        process.stdout.close()
        began = time.monotonic()
        found = whole(tmp_path)
        assert time.monotonic() - began < 2
        assert set(found.values()) <= {5}
        numbers = {int(name[1:]) for name in found if name != "dsame"}
        uncertain.add(
            max(acknowledged, default=-1)
        )  # the kill may have come between its removal and the line that says so
        assert acknowledged - removed - uncertain <= numbers
        assert not removed & numbers
        start = max(numbers, default=start) + 1
    store = SQLiteStore(tmp_path)
    assert store.check().problems == ()
    store.close()
    assert len(acknowledged) > 5  # the writers did get to write, also on a busy machine


def test_two_processes_write_and_a_third_reads_whole_documents(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    SQLiteStore(folder).set_model(MODEL)
    writers = [writer(folder, name, 0, 40) for name in ("a", "b")]
    reader = SQLiteStore(folder, read_only=True)
    seen = 0
    while any(process.poll() is None for process in writers):
        with reader.snapshot() as snapshot:
            documents = snapshot.find(everything)
            seen = max(seen, len(documents))
            for document in documents[-5:]:
                chunks = snapshot.read(document.doc_id)[1]
                assert len(chunks) == 5
                among = ids(snapshot.match(keyword("part", "version"), everything, 100_000))
                assert {chunk.chunk_id for chunk in chunks} <= set(among)
    for process in writers:
        process.communicate()
    assert [process.returncode for process in writers] == [0, 0]
    assert seen > 0
    assert reader.check().ok
    reader.close()
    assert len(whole(folder)) == 2 * (1 + 40 - 13)
    last = SQLiteStore(folder)  # the reader may have been in the way when the writers closed
    last.remove(["nothing"])
    last.close()
    assert {path.name for path in folder.iterdir()} == {"kb.db", "write.lock"}


def test_a_second_writer_waits_and_then_names_the_first(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path, wait_s=0.05)
    with lease(tmp_path / "write.lock", 1), pytest.raises(StoreBusy, match=f"pid {os.getpid()}"):
        store.put([entry("a", "x", vectors=())])
    assert store.put([entry("a", "x", vectors=())]) == 1
    store.close()


def test_the_lock_of_a_killed_holder_is_free_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from kb.store.sqlite.lease import lease\n"
        "with lease(Path(sys.argv[1]), 1): print('held', flush=True); time.sleep(60)"
    )
    path = tmp_path / "write.lock"
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code, str(path)], env=ENV, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreBusy, match=f"pid {process.pid}"), lease(path, 0.02):
            pass
        process.kill()
        process.wait()
        process.stdout.close()
        with lease(path, 1):
            pass
