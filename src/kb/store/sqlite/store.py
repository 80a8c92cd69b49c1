"""A store in a folder: SQLite in WAL mode, one writer at a time, any number of readers that never write."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from kb.errors import StoreError
from kb.store.entries import batches, no_model
from kb.store.sqlite import generations, write
from kb.store.sqlite import vectors as legs
from kb.store.sqlite.connect import BUSY_MS, Place, Pool, prepare, writer
from kb.store.sqlite.faults import typed
from kb.store.sqlite.lease import lease
from kb.store.sqlite.scrub import scrub
from kb.store.sqlite.snapshot import KEPT, SQLiteSnapshot
from kb.store.sqlite.status import status
from kb.store.sqlite.write import next_revision
from kb.types import CheckReport, Entry, ModelInfo, Status, Vector

if TYPE_CHECKING:
    from kb.store.sqlite.models import SQLiteModels

WAIT_S = 30.0  # for another writer
FOLD_MS = (
    100  # a reader that holds an old state keeps the log from being emptied: a removal waits this long, closing longer
)


class SQLiteStore:
    """Acknowledged means committed and synced. Reads may run in any number of threads at the same time."""

    def __init__(
        self,
        folder: str | Path,
        *,
        read_only: bool = False,
        create: bool = True,
        vector_engine: str | None = None,
        wait_s: float = WAIT_S,
    ) -> None:
        self._place = Place(Path(folder))
        self._read_only = read_only
        self._wait_s = wait_s
        self._leg = legs.Vectors(vector_engine)
        self._writing = threading.RLock()
        self._writer: apsw.Connection | None = None
        self._models: SQLiteModels | None = None
        self._dropped = False  # whether something of a removed text may be left in the file
        with typed():
            prepare(self._place, create=create and not read_only, wait_s=wait_s)
            self._identity = self._place.identity()
        self._pool: Pool | None = Pool(self._place)

    # ------------------------------------------------------------ reading

    @contextmanager
    def snapshot(self, collection: str | None = None) -> Iterator[SQLiteSnapshot]:
        with typed():
            pool = self._current()
            connection = pool.take()
            sound = False
            try:
                connection.execute("BEGIN")
                yield SQLiteSnapshot(connection, self._leg, collection)
                sound = True
            except apsw.Error:
                raise
            except BaseException:
                sound = True  # the caller's own trouble
                raise
            finally:
                with suppress(apsw.Error):
                    connection.execute("ROLLBACK")
                pool.give(connection, keep=sound and pool is self._pool)

    def vectors(self, embed_hashes: Sequence[str]) -> dict[str, Vector]:
        """``b""`` where it is known that there is nothing to compare."""
        with self._reading() as connection:
            generation = generations.answering(connection)
            return generations.known(connection, generation, embed_hashes) if generation else {}

    def status(self) -> Status:
        with self._reading() as connection:
            return status(connection, self._place)

    @property
    def models(self) -> SQLiteModels:
        """Changing the model without a pause."""
        if self._models is None:
            from kb.store.sqlite.models import SQLiteModels  # not part of a search

            self._models = SQLiteModels(self._reading, self._write, self._place)
        return self._models

    # ------------------------------------------------------------ writing

    def put(self, entries: Iterable[Entry]) -> int:
        revision = None
        for batch in batches(entries, chunks=write.BATCH_CHUNKS):  # collected before the lock is taken
            with self._write() as connection:
                write.put(connection, batch)
                revision = next_revision(connection, len(batch))
        if revision is not None:
            return revision
        with self.snapshot() as snapshot:
            return snapshot.revision

    def remove(self, doc_ids: Iterable[str]) -> int:
        wanted = list(doc_ids)
        with self._write() as connection:
            count = write.remove(connection, wanted)
            if count:
                next_revision(connection, count)
        if count:
            self._dropped = True
            self._fold()  # so that nothing of the text stays in the log either
        return count

    def set_model(self, model: ModelInfo) -> None:
        with self._write() as connection:
            present = generations.answering(connection)
            if present is None or present.info != model:
                write.set_model(connection, model)
                next_revision(connection)

    def fill(self, vectors: Mapping[str, Vector]) -> int:
        with self._write() as connection:
            generation = generations.answering(connection)
            if generation is None:
                if vectors:
                    raise no_model()
                return int(connection.execute("SELECT count(*) FROM chunks").get)
            before = connection.total_changes()
            write.fill(connection, generation, vectors, "chunk_id")
            if connection.total_changes() != before:
                next_revision(connection)
            return generations.pending(connection, generation)

    def keep(self, name: str, text: str) -> None:
        with self._write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", (KEPT + name, text))

    def check(self, *, repair: bool = False) -> CheckReport:
        from kb.store.sqlite import check as checks  # neither is part of a search
        from kb.store.sqlite import repair as repairs

        if repair:
            self._refuse_read_only()
            with typed(), self._writing:
                self._disconnect()
                try:
                    return repairs.repair(self._place, self._wait_s)
                finally:
                    self._leg.forget()
                    self._identity = self._place.identity()
        with typed():
            return checks.check(self._place, self._wait_s)

    def close(self) -> None:
        """Fold the log into the database, so that a store at rest is one file. Whatever was promised is on disk."""
        with self._writing, typed():
            if self._writer is not None:
                self._fold(wait_ms=BUSY_MS)
            self._disconnect()
            self._pool = None

    # ------------------------------------------------------------ inside

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self.snapshot() as snapshot:
            yield snapshot.connection

    @contextmanager
    def _write(self) -> Iterator[apsw.Connection]:
        self._refuse_read_only()
        with typed(), self._writing:
            self._current()
            with lease(self._place.lock, self._wait_s):
                if self._writer is None:
                    self._writer = writer(self._place)
                connection = self._writer
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def _fold(self, wait_ms: int = FOLD_MS) -> None:
        """Move the log into the database, empty it, and wipe what was dropped; a reader in the way may put that off."""
        with self._writing, suppress(apsw.BusyError, apsw.LockedError):
            if self._writer is not None:
                with lease(self._place.lock, self._wait_s):
                    self._writer.set_busy_timeout(wait_ms)
                    try:
                        self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
                    finally:
                        self._writer.set_busy_timeout(BUSY_MS)
                    if self._dropped and scrub(self._writer, self._place):
                        self._dropped = False

    def _current(self) -> Pool:
        """The pool, renewed when the file has been replaced underneath: old connections would read and write a ghost."""
        if self._pool is None:
            raise StoreError("the store is closed", fix="open it again")
        if self._place.identity() != self._identity:
            with self._writing:
                self._disconnect()
                self._leg.forget()
                prepare(self._place, create=False, wait_s=self._wait_s)
                self._identity = self._place.identity()
        return self._pool

    def _disconnect(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = Pool(self._place)
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _refuse_read_only(self) -> None:
        if self._read_only:
            raise StoreError("the store was opened for reading only", fix="open it without read_only")
