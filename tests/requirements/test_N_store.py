"""N01, N02, N03 and L09, where the store keeps them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.errors import StoreError
from kb.store.sqlite import schema
from kb.store.sqlite.store import SQLiteStore
from kb.testing import MODEL, direction, entry, everything, ids, keyword
from kb.types import LexicalQuery, Term

SIGNS = [
    '"',
    "^",
    "*",
    ":",
    "(",
    ")",
    "-",
    "+",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR(a b)",
    "\x00",
    "'",
    ";",
    "{",
    "\\",
    "body:",
]


# ---------------------------------------------------------------- N01

steps = st.lists(
    st.tuples(
        st.sampled_from(
            "insert replace upsert text words copy names path heading move title number delete drop".split()
        ),
        st.integers(1, 6),
        st.text(alphabet="ab 한국어", max_size=8),
    ),
    max_size=25,
)
INSERT = """
INSERT {0} INTO chunks(id, chunk_id, document, ordinal, kind, heading_path, span_kind, span_start, span_end, offset_start,
  offset_end, embed_hash, cjk, crc, heading_index, text)
VALUES (:n, :n, 1 + :n % 2, :n, 'info', '[]', 'line', 1, 1, 0, 1, '', :n % 3 = 0, 0, :t, :t)"""
SQL = {
    "insert": INSERT.format("OR IGNORE"),
    "replace": INSERT.format("OR REPLACE"),
    "upsert": INSERT.format("") + " ON CONFLICT(id) DO UPDATE SET text = :t || 'x', cjk = NOT cjk",
    "text": "UPDATE chunks SET text = :t WHERE id >= :n",
    "words": "UPDATE chunks SET search_text = :t, cjk = 1 WHERE id = :n",
    "copy": "UPDATE chunks SET word_text = :t WHERE id = :n",
    "names": "UPDATE chunks SET parts = nullif(:t, ''), stems = :t, heading_words = :t WHERE id >= :n",
    "path": "UPDATE documents SET path_words = :t, title_words = nullif(:t, '') WHERE id = 1 + :n % 2",
    "heading": "UPDATE chunks SET heading_index = :t WHERE id <= :n",
    "move": "UPDATE OR IGNORE chunks SET document = 3 - document WHERE id = :n",
    "title": "UPDATE documents SET title_index = :t WHERE id = 1 + :n % 2",
    "number": "UPDATE OR IGNORE chunks SET id = :n + 10 WHERE id = :n",
    "delete": "DELETE FROM chunks WHERE id = :n",
    "drop": "DELETE FROM documents WHERE id = 2 AND :n = 3",
}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps)
def test_N01_the_index_agrees_with_the_chunks_after_any_change_in_any_order(done: list[tuple[str, int, str]]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON").fetchall()
    schema.upgrade(connection)
    for number in (1, 2):
        connection.execute(
            "INSERT INTO documents(id, doc_id, path, title, title_index, type, collection, trust, content_hash, signature, "
            "chunker_version, encoding, indexed_at) VALUES (?1, ?1, ?1, '', 'title', 'note', 'c', 2, '', '', '', '', '')",
            (number,),
        )
    for name, number, text in done:
        bindings = {key: value for key, value in (("n", number), ("t", text)) if f":{key}" in SQL[name]}
        try:
            connection.execute(SQL[name], bindings)
        except apsw.ConstraintError:
            continue  # such as a chunk of a document that is gone
        for table, view in (("chunks_fts", "chunks_words"), ("chunks_trigram", "chunks_cjk")):
            rows = connection.execute(f"SELECT id FROM {view} ORDER BY id").fetchall()
            assert connection.execute(f"SELECT id FROM {table}_docsize ORDER BY id").fetchall() == rows
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")


# ---------------------------------------------------------------- N02, N03


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    store = SQLiteStore(tmp_path / "store")
    store.set_model(MODEL)
    store.put(
        [
            entry("a", "Installing things with git", tags=("x",)),
            entry("b", "The installation of AND and NOT, near C++ and foo-bar"),
            entry("c", "Le café d'Étienne", "한국어 문서 백업"),
        ]
    )
    return store


def test_N02_stems_and_accents_fold_and_bm25_ranks(store: SQLiteStore) -> None:
    with store.snapshot() as snapshot:
        assert ids(snapshot.match(keyword("install", "git"), everything, 9)) == ["a:0", "b:0"]
        assert ids(snapshot.match(keyword("cafe", "etienne", every=True), everything, 9)) == ["c:0"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("tier", ["fts", "trigram", "like"])
def test_N03_no_sign_of_fts5_means_anything(store: SQLiteStore, sign: str, tier: str) -> None:
    with store.snapshot() as snapshot:
        for text in (sign, f"git{sign}", f"{sign}git", f"git {sign} install", f'"{sign}"'):
            for phrase in (False, True):
                snapshot.match(LexicalQuery(tier, (Term(text, phrase),)), everything, 9)  # type: ignore[arg-type]
        found = ids(snapshot.match(keyword("git", sign), everything, 9))
        assert "a:0" in found


def test_N03_words_that_are_operators_elsewhere_are_words_here(store: SQLiteStore) -> None:
    with store.snapshot() as snapshot:
        assert ids(snapshot.match(keyword("NOT"), everything, 9)) == ["b:0"]
        assert ids(snapshot.match(keyword("NEAR"), everything, 9)) == ["b:0"]


# ---------------------------------------------------------------- L09


def hashes(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in folder.iterdir()
    }


SEARCH = """
import sys
from pathlib import Path
from kb.store.sqlite.store import SQLiteStore
from kb.testing import direction, everything, keyword
for read_only in (True, False):
    store = SQLiteStore(Path(sys.argv[1]), read_only=read_only)
    with store.snapshot() as snapshot:
        for tier in ("fts", "trigram", "like"):
            snapshot.match(keyword("git", "백업", tier=tier), everything, 9)
        assert snapshot.nearest(direction(1), everything, 9)
        snapshot.find(everything)
    store.status()
    if sys.argv[2:] == ["die"]:
        import os
        os._exit(9)
    store.close()
"""


def search(folder: Path, *more: str) -> None:
    done = subprocess.run([sys.executable, "-c", SEARCH, str(folder), *more], env={**os.environ, "PYTHONPATH": "src"})
    assert done.returncode == (9 if more else 0)


def test_L09_searches_change_no_byte_of_the_store(store: SQLiteStore, tmp_path: Path) -> None:
    store.close()
    folder = tmp_path / "store"
    before = hashes(folder)
    assert set(before) == {"kb.db", "write.lock"}
    for _ in range(2):
        search(folder)
    ours = SQLiteStore(folder)
    for number in range(5):
        with ours.snapshot() as snapshot:
            snapshot.match(keyword("git"), everything, 9)
            snapshot.nearest(direction(number), everything, 9)
    ours.close()
    assert hashes(folder) == before
    search(folder, "die")
    assert {name: found for name, found in hashes(folder).items() if name in before} == before
    search(folder)
    assert hashes(folder) == before


def test_L09_a_log_that_a_killed_writer_left_stays_as_it_is(store: SQLiteStore, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    code = (
        "import os, sys; from pathlib import Path; from kb.store.sqlite.store import SQLiteStore; from kb.testing import entry\n"
        "store = SQLiteStore(Path(sys.argv[1])); store.put([entry('late', 'written before the kill')]); os._exit(9)"
    )
    store.close()
    subprocess.run([sys.executable, "-c", code, str(folder)], env={**os.environ, "PYTHONPATH": "src"})
    kept = {name: found for name, found in hashes(folder).items() if not name.endswith("-shm")}
    assert kept["kb.db-wal"]
    search(folder)
    with SQLiteStore(folder, read_only=True).snapshot() as snapshot:
        assert ids(snapshot.match(keyword("kill"), everything, 9)) == ["late:0"]
    assert {name: found for name, found in hashes(folder).items() if not name.endswith("-shm")} == kept


def test_L09_a_reader_cannot_write(store: SQLiteStore, tmp_path: Path) -> None:
    reader = SQLiteStore(tmp_path / "store", read_only=True)
    for write in (
        lambda: reader.put([entry("z", "z")]),
        lambda: reader.remove(["a"]),
        lambda: reader.check(repair=True),
    ):
        with pytest.raises(StoreError):
            write()
    with reader.snapshot() as snapshot, pytest.raises(apsw.ReadOnlyError):
        snapshot.connection.execute("DELETE FROM documents")
