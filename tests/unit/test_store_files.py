"""The files of a store: who may read them, what is refused untouched, and media that are read-only or full."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from kb.errors import KBError, StoreCorrupt, StoreError, StoreFull, StoreNotFound, StoreTooNew, UsageError
from kb.store import open_store
from kb.store.sqlite import schema
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry, everything, ids, keyword


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_may_read(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = SQLiteStore(tmp_path / "new" / "store")
        store.put([entry("a", "x", vectors=())])
        with store.snapshot():
            assert {"kb.db", "kb.db-wal", "kb.db-shm", "write.lock"} == {
                p.name for p in (tmp_path / "new/store").iterdir()
            }
            assert modes(tmp_path / "new/store") == {0o600}
    finally:
        os.umask(before)
    store.close()
    os.chmod(tmp_path / "new/store", 0o755)
    os.chmod(tmp_path / "new/store/kb.db", 0o644)
    SQLiteStore(tmp_path / "new/store").close()
    assert modes(tmp_path / "new/store") == {0o600}
    assert (tmp_path / "new/store").stat().st_mode & 0o777 == 0o700


def test_a_folder_with_other_files_in_it_keeps_its_permissions(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    (tmp_path / "other.txt").write_text("mine")
    os.chmod(tmp_path / "other.txt", 0o644)
    SQLiteStore(tmp_path).close()
    SQLiteStore(tmp_path).close()
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "other.txt").stat().st_mode & 0o777 == 0o644


def foreign(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(
        "PRAGMA user_version = 5; CREATE TABLE bookmarks(url); INSERT INTO bookmarks VALUES ('x')"
    ).fetchall()
    connection.close()


def newer(path: Path) -> None:
    SQLiteStore(path.parent).close()
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    connection.close()


REFUSED = {
    "text": (StoreCorrupt, lambda path: path.write_bytes(b"this is no database" * 99)),
    "header only": (StoreCorrupt, lambda path: path.write_bytes(b"SQLite format 3\x00")),
    "zeros": (StoreCorrupt, lambda path: path.write_bytes(bytes(8192))),
    "foreign": (StoreCorrupt, foreign),
    "newer": (StoreTooNew, newer),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_ours_is_refused_and_not_touched(tmp_path: Path, name: str) -> None:
    error, make = REFUSED[name]
    make(tmp_path / "kb.db")
    before = hashlib.sha256((tmp_path / "kb.db").read_bytes()).hexdigest()
    for read_only in (False, True):
        with pytest.raises(error) as caught:
            SQLiteStore(tmp_path, read_only=read_only)
        assert caught.value.fix
    assert hashlib.sha256((tmp_path / "kb.db").read_bytes()).hexdigest() == before


def test_a_missing_store_is_not_made_by_reading(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(StoreNotFound) as caught:
            open_store(tmp_path / "none", **options)
        assert caught.value.fix == "kb add PATH"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("location", ["postgresql://host/db", "opensearch://x", "mysql:x"])
def test_an_engine_that_is_not_there_is_named(location: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_store(location)
    assert "memory, sqlite" in caught.value.fix


def test_locations_are_folders_or_engines(tmp_path: Path) -> None:
    for location in (tmp_path / "a:b", str(tmp_path / "c")):
        store = open_store(location)
        assert store.status().engine == "sqlite"
        store.close()
    assert open_store("memory:").status().engine == "memory"


def test_a_store_that_is_replaced_or_deleted_underneath_is_noticed(tmp_path: Path) -> None:
    ours, other = SQLiteStore(tmp_path / "a"), SQLiteStore(tmp_path / "b")
    ours.put([entry("old", "x", vectors=())])
    other.put([entry("new", "y", vectors=())])
    other.close()
    for path in (tmp_path / "a").glob("kb.db*"):
        path.unlink()
    with pytest.raises(StoreNotFound), ours.snapshot():
        pass
    with pytest.raises(StoreNotFound):
        ours.put([entry("lost", "z", vectors=())])
    os.rename(tmp_path / "b" / "kb.db", tmp_path / "a" / "kb.db")
    with ours.snapshot() as snapshot:
        assert [document.doc_id for document in snapshot.find(everything)] == ["new"]
    ours.put([entry("more", "z", vectors=())])
    assert ours.status().documents == 2
    ours.close()


# ---------------------------------------------------------------- media


def mount(folder: Path, options: str) -> None:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "kbtest", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("mounting is not allowed here")


@pytest.fixture
def medium(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "medium"
    mount(folder, "size=1500k")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_read_only_medium_can_be_searched(medium: Path) -> None:
    store = SQLiteStore(medium / "store")
    store.set_model(MODEL)
    store.put([entry("a", "git on a disc")])
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(medium)], check=True)
    for read_only in (True, False):
        reader = SQLiteStore(medium / "store", read_only=read_only, create=False)
        with reader.snapshot() as snapshot:
            assert ids(snapshot.match(keyword("git"), everything, 9)) == ["a:0"]
            assert ids(snapshot.nearest(direction(1), everything, 9)) == ["a:0"]
        assert reader.status().documents == 1
        assert reader.check().ok
        with pytest.raises(StoreError):
            reader.put([entry("b", "x")])
        reader.close()
    subprocess.run(["mount", "-o", "remount,rw", str(medium)], check=True)


def test_a_full_disk_is_said_and_loses_nothing(medium: Path) -> None:
    store = SQLiteStore(medium / "store")
    store.set_model(MODEL)
    kept = 0
    full = None
    while full is None and kept < 1000:
        try:
            store.put([entry(f"d{kept}", *(f"word{part} number{kept} " * 30 for part in range(5)))])
            kept += 1
        except KBError as error:
            full = error
    assert isinstance(full, StoreFull)
    with store.snapshot() as snapshot:
        assert len(snapshot.find(everything)) == kept
        assert snapshot.match(keyword("word1"), everything, 9)
    subprocess.run(["mount", "-o", "remount,size=6m", str(medium)], check=True)
    store.put([entry("after", "there is room again")])
    assert store.check().problems == ()
    store.close()


def test_no_word_of_a_removed_text_stays_in_any_file(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = SQLiteStore(folder)
    store.set_model(MODEL)
    store.put([entry(f"d{n}", f"filler {n} text") for n in range(50)])
    store.put(
        [
            entry(
                "secret", "xyzzycanary and 비밀카나리아", title="titlecanary", tags=("tagcanary",), path="pathcanary.md"
            )
        ]
    )
    store.put([entry("changed", "beforecanary")])
    store.put([entry("changed", "after")])
    assert store.remove(["secret"]) == 1
    data = b"".join(path.read_bytes() for path in folder.iterdir())
    assert direction("xyzzycanary and 비밀카나리아") not in data
    for canary in ("canary", "xyzzy", "비밀카"):
        assert canary.encode() not in data.lower()
    store.close()


def test_no_word_stays_in_the_unused_part_of_a_page(tmp_path: Path) -> None:
    """SQLite leaves copies of cells behind when it rearranges pages, which many changes of other documents bring out."""
    folder = tmp_path / "store"
    dice = random.Random(0)
    store = SQLiteStore(folder)
    store.set_model(MODEL)
    for turn in range(15):
        store.put(
            entry(f"k{n}", *[f"plain words {turn} {n} " * dice.randrange(1, 60)] * dice.randrange(1, 4))
            for n in range(20)
        )
        canary = f"zqxv{turn:03}jw"
        texts = [f"{canary} 한국어{turn} word{n} " * dice.choice([1, 30, 90]) for n in range(dice.choice([1, 8, 30]))]
        store.put([entry("gone", *texts, title=canary)])
        store.remove(["gone"])
        assert canary.encode() not in b"".join(path.read_bytes() for path in folder.iterdir())
    assert store.check().problems == ()
    store.close()


def test_no_error_of_sqlite_escapes(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    store.put([entry(f"d{n}", "words " * 50, vectors=()) for n in range(200)])
    store.close()
    data = bytearray((tmp_path / "kb.db").read_bytes())
    for page in range(2, len(data) // 8192):
        data[page * 8192 : page * 8192 + 64] = b"\xff" * 64
    (tmp_path / "kb.db").write_bytes(data)
    broken = SQLiteStore(tmp_path)
    for call in (broken.status, lambda: broken.put([entry("x", "y", vectors=())]), lambda: broken.remove(["d1"])):
        with pytest.raises(KBError):
            call()
    with pytest.raises(KBError), broken.snapshot() as snapshot:
        snapshot.match(keyword("words"), everything, 9)
    broken.close()
