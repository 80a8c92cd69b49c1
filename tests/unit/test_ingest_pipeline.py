"""The whole of ``add`` and ``put`` against a real store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kb.config import IngestSettings
from kb.embed.hashing import HashingEmbedder
from kb.errors import EmbedderFailed, RootVanished, UsageError
from kb.ingest.discover import Scan
from kb.ingest.pipeline import AddOptions, add, put
from kb.ingest.plan import plan, racy
from kb.ingest.roots import Target
from kb.store.memory import MemoryStore
from kb.types import (
    AddReport,
    Document,
    FileStamp,
    Filters,
    ModelInfo,
    Progress,
    StoredChunk,
    StoredDocument,
    Vector,
)

SETTINGS = IngestSettings(workers=1)
LATER = datetime.now(UTC) + timedelta(hours=1)


class Counting:
    """The hashing embedder, which counts what it is asked and fails when told to."""

    def __init__(self, dimension: int = 32) -> None:
        self.inner = HashingEmbedder(dimension)
        self.texts: list[str] = []
        self.broken = False

    @property
    def info(self) -> ModelInfo:
        return self.inner.info

    def embed_query(self, text: str) -> Vector:
        return self.inner.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        if self.broken:
            raise EmbedderFailed("it is broken")
        self.texts.extend(texts)
        return self.inner.embed_passages(texts)


class Base:
    def __init__(self, embedder: Counting | None = None) -> None:
        self.store = MemoryStore()
        self.embedder = embedder
        self.events: list[Progress] = []

    def add(self, *paths: Path | str, options: AddOptions | None = None, now: datetime = LATER,
            stop: threading.Event | None = None, settings: IngestSettings = SETTINGS) -> AddReport:  # fmt: skip
        self.events = []
        return add(paths, store=self.store, embedder=self.embedder, settings=settings, options=options, now=now,
                   on_event=self.events.append, stop=stop)  # fmt: skip

    def documents(self) -> dict[str, StoredDocument]:
        with self.store.snapshot() as snapshot:
            return {document.path: document for document in snapshot.find(Filters())}

    def content(self) -> dict[str, tuple[StoredDocument, tuple[StoredChunk, ...]]]:
        """All that must not depend on the way here."""
        with self.store.snapshot() as snapshot:
            rows = [snapshot.read(document.doc_id) for document in snapshot.find(Filters())]
        return {document.path: (replace(document, indexed_at=""), chunks) for document, chunks in rows}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


NOTES = {
    "a.md": "# A\n\nalpha\n",
    "b.md": "# B\n\nbeta\n",
    "sub/c.md": "# C\n\ngamma\n",
    "d.py": "def f():\n    return 1\n",
}


def test_unchanged_files_cost_a_stat(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base(Counting())
    first = base.add(root)
    assert (first.added, first.chunks) == (4, 4)
    revision = base.store.status().revision
    opened = []
    sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
    again = base.add(root)
    assert (again.unchanged, again.added, again.updated, again.removed) == (4, 0, 0, 0)
    assert [path for path in opened if path.startswith(str(root)) and not path.endswith(("ignore", "exclude"))] == []
    assert base.store.status().revision == revision


def test_the_same_size_and_time_is_not_believed_when_it_is_fresh(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root, now=datetime.now(UTC))
    status = (root / "a.md").stat()
    (root / "a.md").write_text("# A\n\nalphX\n")
    os.utime(root / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    report = base.add(root, now=datetime.now(UTC))
    assert (report.updated, report.unchanged) == (1, 3)
    with base.store.snapshot() as snapshot:
        assert "alphX" in snapshot.read(base.documents()["a.md"].doc_id)[1][0].chunk.text


@pytest.mark.parametrize("shift", [0, -10 * 365 * 86400, 10 * 365 * 86400, -1, 1])
def test_rewrites_are_seen_whatever_the_clock_says(tmp_path: Path, shift: int) -> None:
    root, base = write(tmp_path / "r", {"a.md": "text 0000"}), Base()
    for number in range(1, 40):
        base.add(root, now=datetime.now(UTC))
        status = (root / "a.md").stat()
        (root / "a.md").write_text(f"text {number:04d}")
        os.utime(root / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns + shift * 10**9))
        report = base.add(root, now=datetime.now(UTC) + timedelta(seconds=shift))
        assert report.updated == 1, number


def test_racy_stamps() -> None:
    stamp = FileStamp(1, 1_700_000_000_000_000_000, 1_700_000_000_000_000_000, 1)
    assert racy(stamp, "2023-11-14T22:13:21Z")
    assert not racy(stamp, "2023-11-14T22:13:25Z")
    assert racy(replace(stamp, ctime_ns=1_900_000_000_000_000_000), "2023-11-14T22:13:25Z")
    assert racy(stamp, "nonsense")


def test_a_touched_file_gets_a_new_stamp_and_is_not_embedded_again(tmp_path: Path) -> None:
    embedder = Counting()
    root, base = write(tmp_path / "r", NOTES), Base(embedder)
    base.add(root)
    count = len(embedder.texts)
    os.utime(root / "a.md", ns=(1_600_000_000_000_000_000, 1_600_000_000_000_000_000))
    report = base.add(root)
    assert (report.unchanged, report.updated) == (4, 0)
    document = base.documents()["a.md"]
    assert document.stamp is not None
    assert document.stamp.mtime_ns == 1_600_000_000_000_000_000
    assert document.date == "2020-09-13"
    assert len(embedder.texts) == count


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    embedder = Counting()
    root, base = write(tmp_path / "r", NOTES | {"twin/a.md": NOTES["a.md"]}), Base(embedder)
    base.add(root)
    assert len(embedder.texts) == len(set(embedder.texts)) == 4
    (root / "a.md").rename(root / "moved.md")
    report = base.add(root)
    assert (report.added, report.removed) == (1, 1)
    assert len(embedder.texts) == 4
    assert base.store.status().pending == 0


def test_a_failing_embedder_leaves_chunks_pending_and_the_next_run_fills_them(tmp_path: Path) -> None:
    embedder = Counting()
    embedder.broken = True
    root, base = write(tmp_path / "r", NOTES), Base(embedder)
    report = base.add(root)
    assert report.added == 4
    assert any("embedding failed" in warning for warning in report.warnings)
    assert base.store.status().pending == 4
    embedder.broken = False
    again = base.add(root)
    assert again.unchanged == 4
    assert base.store.status().pending == 0


def test_an_embedder_that_cannot_even_name_itself_keeps_no_document_out(tmp_path: Path) -> None:
    class Dead(Counting):
        @property
        def info(self) -> ModelInfo:
            raise EmbedderFailed("nobody answers")

    root, base = write(tmp_path / "r", NOTES), Base(Dead())
    report = base.add(root)
    assert (report.added, report.ok) == (4, True)
    assert "nobody answers" in report.warnings[0]
    record = put([Document("x.md", "x")], store=base.store, embedder=Dead(), settings=SETTINGS)
    assert (record.added, len(record.warnings)) == (1, 1)
    base.embedder = Counting()
    base.add(root)
    assert base.store.status().pending == 0


def test_another_model_gets_vectors_for_everything(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base(Counting(32))
    base.add(root)
    base.embedder = Counting(64)
    base.add(root)
    assert base.store.status().pending == 0
    with base.store.snapshot() as snapshot:
        assert snapshot.model == base.embedder.info


def test_options_redo_what_they_change_and_are_kept(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root, options=AddOptions(tags=("x",)))
    assert base.add(root).unchanged == 4
    write(root, {"a.md": "changed", "new.md": "new"})
    base.add(root)
    assert {document.tags for document in base.documents().values()} == {("x",)}
    assert base.add(root, options=AddOptions(tags=("y",), repo="r")).updated == 5
    assert {(document.tags, document.repo) for document in base.documents().values()} == {(("y",), "r")}
    assert base.add(root, settings=replace(SETTINGS, chunk_tokens=100)).updated == 5


def test_a_vanished_or_empty_root_loses_nothing(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root)
    away = tmp_path / "away"
    root.rename(away)
    with pytest.raises(RootVanished) as gone:
        base.add(root)
    assert gone.value.exit_code == 1
    assert "--prune" in gone.value.fix
    root.mkdir()
    with pytest.raises(RootVanished):
        base.add(root)
    assert len(base.documents()) == 4
    other = write(tmp_path / "other", {"o.md": "other"})
    report = base.add(root, other)  # the rest goes on
    assert (report.added, [issue.code for issue in report.failed]) == (1, ["root_vanished"])
    assert base.add(root, options=AddOptions(prune=True)).removed == 4
    assert list(base.documents()) == ["o.md"]


def test_a_path_that_never_was_is_a_failure_and_the_rest_goes_on(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    nowhere = tmp_path / "nowhere"
    report = base.add(nowhere, root)
    assert (report.added, report.ok) == (4, False)
    assert [(issue.path, issue.code) for issue in report.failed] == [(str(nowhere), "no_such_path")]
    with pytest.raises(UsageError) as none_there:
        base.add(nowhere, tmp_path / "nor")
    assert none_there.value.exit_code == 2
    shutil.rmtree(root)
    report = base.add(nowhere, root)  # a missing one does not hide a vanished one
    assert sorted(issue.code for issue in report.failed) == ["no_such_path", "root_vanished"]
    assert len(base.documents()) == 4


def test_a_folder_that_is_suddenly_empty_keeps_many_documents(tmp_path: Path) -> None:
    root = write(tmp_path / "r", {"keep.md": "x"} | {f"disk/{n}.md": f"text {n}" for n in range(30)})
    base = Base()
    base.add(root)
    for path in (root / "disk").iterdir():
        path.unlink()
    report = base.add(root)
    assert report.removed == 0
    assert [issue.code for issue in report.failed] == ["root_vanished"]
    (root / "disk").rmdir()  # now it is a deletion
    assert base.add(root).removed == 30


def test_an_unreadable_folder_is_an_error_and_no_deletion(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root)
    documents = list(base.documents().values())
    real = os.path.realpath(root)
    seen = Scan(real, real, empty=False, unreadable=[os.path.join(real, "sub")])
    made = plan(Target(real, real), seen, documents, AddOptions(), SETTINGS, "2030-01-01T00:00:00Z")
    assert sorted(document.path for document in made.remove) == ["a.md", "b.md", "d.py"]
    seen.unreadable.append(real)
    made = plan(Target(real, real), seen, documents, AddOptions(), SETTINGS, "2030-01-01T00:00:00Z")
    assert made.refused is not None
    assert made.remove == []


def test_a_deleted_file_or_folder_that_is_named_is_removed(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root)
    (root / "a.md").unlink()
    assert base.add(root / "a.md").removed == 1
    shutil.rmtree(root / "sub")
    assert base.add(root / "sub").removed == 1
    with pytest.raises(UsageError, match="never-was"):
        base.add(root / "never-was")


def test_a_file_that_may_no_longer_be_indexed_is_removed(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root)
    (root / "a.md").write_bytes(b"\x00\x01")
    (root / "b.md").write_text("-----BEGIN PRIVATE KEY-----\nx\n")
    (root / ".gitignore").write_text("sub/\n")
    report = base.add(root)
    assert report.removed == 3
    assert list(base.documents()) == ["d.py"]


def test_roots_within_roots(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root / "sub")
    assert list(base.documents()) == ["c.md"]
    report = base.add(root)  # the parent takes its documents over
    assert (report.added, report.removed) == (4, 1)
    assert sorted(base.documents()) == ["a.md", "b.md", "d.py", "sub/c.md"]
    write(root, {"sub/e.md": "new", "a.md": "changed"})
    report = base.add(root / "sub")  # only this folder is looked at
    assert (report.added, report.updated) == (1, 0)
    assert "sub/e.md" in base.documents()
    assert {document.root for document in base.documents().values()} == {os.path.realpath(root)}


def test_the_same_path_in_two_roots(tmp_path: Path) -> None:
    base = Base()
    for name in ("x", "y", "deep/y"):
        base.add(write(tmp_path / name, {"README.md": f"# {name}"}))
    assert sorted(base.documents()) == ["README.md", "y-2/README.md", "y/README.md"]
    before = base.content()
    for name in ("x", "y", "deep/y"):
        assert base.add(tmp_path / name).unchanged == 1
    assert base.content() == before
    base.add(tmp_path / "x", options=AddOptions(collection="other"))
    assert len(base.store.status().by_collection) == 2


def test_a_single_file_uses_its_folder_as_root(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    base.add(root / "sub" / "c.md")
    assert list(base.documents()) == ["c.md"]
    base.add(root / "a.md", root / "b.md")
    assert sorted(base.documents()) == ["a.md", "b.md", "sub/c.md"] or sorted(base.documents()) == [
        "a.md",
        "b.md",
        "c.md",
    ]
    assert base.add(root / "a.md").unchanged == 1


def test_events_come_after_the_commit(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES | {".env": "x"}), Base()
    seen: list[int] = []

    def on_event(event: Progress) -> None:
        if event.event == "document":
            seen.append(base.store.status().documents - event.done)

    add([root], store=base.store, embedder=None, settings=SETTINGS, on_event=on_event)
    assert len(seen) == 4
    assert min(seen) >= 0
    base.add(root)
    assert [event.event for event in base.events] == ["skipped", "scan", "done"]


@pytest.mark.parametrize("workers", [1, 2])
def test_stopping_keeps_what_was_acknowledged_and_the_next_run_goes_on(tmp_path: Path, workers: int) -> None:
    root = write(tmp_path / "r", {f"{n}.md": f"# {n}\n\n" + f"words number {n} " * 200 for n in range(400)})
    base, stop = Base(Counting()), threading.Event()
    acknowledged: list[str] = []
    asked = 0.0

    def on_event(event: Progress) -> None:
        nonlocal asked
        if event.event == "document" and event.path:
            acknowledged.append(event.path)
            if len(acknowledged) == 20:
                asked = time.monotonic()
                stop.set()

    settings = replace(SETTINGS, workers=workers)
    report = add([root], store=base.store, embedder=base.embedder, settings=settings, on_event=on_event, stop=stop)
    assert time.monotonic() - asked < 2
    assert report.interrupted
    assert not report.ok
    assert 20 <= report.added < 400
    assert set(acknowledged) == set(base.documents())
    rest = base.add(root)
    assert rest.added + report.added == 400
    assert base.store.status().pending == 0


def test_ctrl_c_is_an_interrupted_report(tmp_path: Path) -> None:
    root = write(tmp_path / "r", {f"{n}.md": f"text {n}" for n in range(50)})
    base = Base()

    def on_event(event: Progress) -> None:
        if event.event == "document":
            raise KeyboardInterrupt

    report = add([root], store=base.store, embedder=None, settings=SETTINGS, on_event=on_event)
    assert report.interrupted
    assert base.add(root).ok
    assert len(base.documents()) == 50


def test_many_files_give_the_same_with_and_without_workers(tmp_path: Path) -> None:
    root = write(
        tmp_path / "r", {f"{n % 7}/{n}.{('md', 'py', 'txt')[n % 3]}": f"# {n}\n\ntext {n}\n" for n in range(300)}
    )
    one, two = Base(), Base()
    one.add(root, settings=replace(SETTINGS, workers=1))
    two.add(root, settings=replace(SETTINGS, workers=2))
    assert one.content() == two.content()
    assert len(one.content()) == 300


def test_workers_need_no_main_guard(tmp_path: Path) -> None:
    root = write(tmp_path / "r", {f"{n}.md": f"text {n}" for n in range(200)})
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from kb.ingest.pipeline import add\nfrom kb.config import IngestSettings\nfrom kb.store.memory import MemoryStore\n"
        "print(add([sys.argv[1]], store=MemoryStore(), embedder=None, settings=IngestSettings(workers=2)).added)\n"
    )
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, script, root], env=environ, capture_output=True, text=True, timeout=60)
    assert done.stdout == "200\n", done.stderr


def test_a_file_that_vanishes_or_breaks_is_a_row_and_the_rest_goes_on(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", NOTES), Base()
    (root / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
    report = base.add(root)
    assert report.added == 4
    assert [(issue.path, issue.code) for issue in report.failed] == [("bad.pdf", "pdf_damaged")]


def test_a_disk_that_goes_away_during_a_run_loses_nothing(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", {f"{n}.md": f"text {n}" for n in range(30)}), Base()
    base.add(root)
    for path in root.iterdir():
        path.write_text("changed " + path.name)

    def on_event(event: Progress) -> None:
        if event.event == "scan":
            root.rename(tmp_path / "away")

    report = add([root], store=base.store, embedder=None, settings=SETTINGS, on_event=on_event)
    assert report.removed == 0
    assert {issue.code for issue in report.skipped} == {"vanished"}
    assert len(base.documents()) == 30


def test_empty_files_are_documents_without_chunks(tmp_path: Path) -> None:
    root, base = write(tmp_path / "r", {"empty.md": "", "blank.txt": " \n\n"}), Base(Counting())
    report = base.add(root)
    assert (report.added, report.chunks) == (2, 0)
    assert {document.title for document in base.documents().values()} == {"empty.md", "blank.txt"}


def test_records(tmp_path: Path) -> None:
    base = Base(Counting())

    def write_records(*records: Document) -> AddReport:
        return put(records, store=base.store, embedder=base.embedder, settings=SETTINGS, now=LATER)

    note = Document(
        "2024-05-06.md", "# Day\n\nI learned \x00 something \ud800.", tags=["x"], title="My day", trust="secondary"
    )
    assert write_records(note, Document("b", "text")).added == 2
    stored = base.documents()["2024-05-06.md"]
    assert (stored.title, stored.tags, stored.date, stored.trust, stored.type) == (
        "My day", ("x",), "2024-05-06", "secondary", "markdown",
    )  # fmt: skip
    assert base.documents()["b"].type == "note"
    assert write_records(note).unchanged == 1
    assert write_records(replace(note, tags=["y"])).updated == 1
    assert write_records(Document("b", "one"), Document("b", "two")).updated == 2
    bad = write_records(Document("", "x"), Document("c", None), Document("d", "d", type="word"), Document("e", "e"))  # type: ignore[arg-type]
    assert (bad.added, [issue.code for issue in bad.failed]) == (1, ["bad_record"] * 3)


def test_ids_are_unique_in_one_giant_line(tmp_path: Path) -> None:
    base = Base()
    put([Document("a.txt", "same words again and again " * 2000)], store=base.store, embedder=None, settings=SETTINGS)
    with base.store.snapshot() as snapshot:
        chunks = snapshot.read(base.documents()["a.txt"].doc_id)[1]
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks) > 20
