"""Opening the database: what every connection is set to, and how a store is recognised before it is touched."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from kb.errors import StoreCorrupt, StoreError, StoreNotFound
from kb.store.sqlite import schema, where
from kb.store.sqlite.lease import lease

BUSY_MS = 5_000
READ_MMAP = 4 << 30  # bytes of the file that readers see without copying
# Readers go without cell_size_check: with a mapped file SQLite would check a page each time it looks at it, which made
# a keyword search five times slower (200 ms instead of 41 at 52,000 matching chunks). Writers and `check` keep it.
SPARE = 4  # idle read connections that are kept

_COMMON = f"""
PRAGMA busy_timeout = {BUSY_MS}; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
"""
_READING = f"{_COMMON} PRAGMA query_only = ON; PRAGMA mmap_size = {READ_MMAP}; PRAGMA cache_size = -16000;"
# FULL: a commit is on the disk when it returns. With NORMAL 215 of 600 simulated power cuts lost acknowledged writes.
_WRITING = f"""{_COMMON} PRAGMA cell_size_check = ON;
PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA secure_delete = ON;
PRAGMA cache_size = -64000; PRAGMA journal_size_limit = 67108864;
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The files of a store."""

    folder: Path

    @property
    def db(self) -> Path:
        return self.folder / "kb.db"

    @property
    def wal(self) -> Path:
        return self.folder / "kb.db-wal"

    @property
    def lock(self) -> Path:
        return self.folder / "write.lock"

    @property
    def builder(self) -> Path:
        """Held by the process that embeds for a change of the model."""
        return self.folder / "model.lock"

    def identity(self) -> tuple[int, int]:
        """Which file it is, to notice when it has been replaced or deleted underneath."""
        try:
            found = os.stat(self.db)
        except FileNotFoundError:
            raise missing(self.folder) from None
        return found.st_dev, found.st_ino

    def quiet(self) -> bool:
        """Whether all of the store is in the one file: there is no log beside it, or an empty one."""
        try:
            return os.stat(self.wal).st_size == 0
        except FileNotFoundError:
            return True


def missing(folder: Path) -> StoreNotFound:
    return StoreNotFound(f"there is no store at {folder}", fix="kb add PATH", details={"location": str(folder)})


def prepare(place: Place, *, create: bool, wait_s: float) -> None:
    """Make sure that there is a store of ours, of a format we know; create one where allowed."""
    version = 0
    with suppress(OSError):
        version = recognise(place.db)
        tighten(place)
    if 0 < version < schema.SCHEMA_VERSION:
        _bring_up_to_date(place, version, wait_s)
    if place.db.exists() and place.db.stat().st_size:
        return
    if not create:
        raise missing(place.folder)
    place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lease(place.lock, wait_s):
        os.close(os.open(place.db, os.O_RDWR | os.O_CREAT, 0o600))  # the log takes over these permissions
        connection = writer(place)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get  # the header names us from the first moment on
        connection.close()
    tighten(place)


def _bring_up_to_date(place: Place, version: int, wait_s: float) -> None:
    """A store of an older kb, also where it is only to be read: this kb asks for tables that it does not have yet."""
    if not os.access(place.folder, os.W_OK):
        raise StoreError(
            f"the store has the older format {version}, and cannot be brought up to date where it lies",
            fix="open it once where it can be written",
        )
    with lease(place.lock, wait_s):
        connection = writer(place)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
        connection.close()


def recognise(db: Path) -> int:
    """Judge a file by its first 100 bytes, without SQLite, so that a foreign one stays as it is to the byte.

    The version of its tables; 0 where there are none yet.
    """
    with open(db, "rb") as file:
        head = file.read(100)
    if not head:
        return 0
    if len(head) < 100 or not head.startswith(b"SQLite format 3\x00"):
        raise schema.not_ours() if not head.startswith(b"SQLite") else StoreCorrupt("kb.db is cut off", fix="kb repair")
    application_id = int.from_bytes(head[68:72], "big")
    version = int.from_bytes(head[60:64], "big")
    pages = int.from_bytes(head[28:32], "big")
    if application_id or pages > 1:  # else a creation was interrupted, and the rest is in the log
        schema.verify(application_id, version)
        return version
    return 0


def tighten(place: Place) -> None:
    """Nobody else may read: 0700 for the folder (if all in it is ours), 0600 for the files."""
    ours = True
    for entry in os.scandir(place.folder):
        if entry.name.startswith(("kb.db", "write.lock", "model.lock", "backup-", "quarantine-")):
            if entry.stat().st_mode & 0o077:
                os.chmod(entry.path, 0o700 if entry.is_dir() else 0o600)
        else:
            ours = False
    if ours and os.stat(place.folder).st_mode & 0o077:
        os.chmod(place.folder, 0o700)


def writer(place: Place) -> apsw.Connection:
    connection = _open(place.db, apsw.SQLITE_OPEN_READWRITE, _WRITING)
    schema.upgrade(connection)
    return connection


def reader(place: Place) -> apsw.Connection:
    """A connection that cannot write. On a medium that cannot be written, a quiet store is read as a plain file."""
    try:
        connection = _open(place.db, apsw.SQLITE_OPEN_READWRITE, _READING)
        try:
            version = connection.execute("PRAGMA user_version").get  # opens the log, for which SQLite needs its index
        except BaseException:
            connection.close()
            raise
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
        if os.access(place.folder, os.W_OK) or not place.quiet():
            raise
        uri = place.db.absolute().as_uri() + "?immutable=1"
        connection = _open(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, _READING)
        version = connection.execute("PRAGMA user_version").get
    schema.verify(connection.execute("PRAGMA application_id").get, version)
    where.register(connection)
    return connection


def release(connection: apsw.Connection, place: Place) -> None:
    """Close a reader and leave the files as they were found: a log with content in it is not ours to fold in."""
    if not place.quiet():
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


def _open(name: Path | str, flags: int, settings: str) -> apsw.Connection:
    connection = apsw.Connection(str(name), flags=flags)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.execute(settings).fetchall()  # one that is not read to its end stops at its first row
    return connection


class Pool:
    """Read connections: one per open snapshot, a few kept for the next."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()

    def take(self) -> apsw.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return reader(self._place)

    def give(self, connection: apsw.Connection, *, keep: bool) -> None:
        with self._lock:
            if keep and len(self._idle) < SPARE:
                self._idle.append(connection)
                return
        release(connection, self._place)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            release(connection, self._place)
