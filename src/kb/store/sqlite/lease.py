"""One writer at a time, across processes: a lock of the operating system, which a killed holder gives back.

It stands before SQLite's own lock because that one starves: of 8 writers some waited 6 s, with this at most 0.2 s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kb.errors import StoreBusy

POLL_S = 0.002
_FAR = 1 << 30  # the byte that is locked on Windows: beyond the number in the file, so that others can read it


@contextmanager
def lease(path: Path, wait_s: float) -> Iterator[None]:
    """Hold the right to write, or StoreBusy with the number of the process that holds it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _acquire(handle, wait_s)
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0) if hasattr(os, "pwrite") else None
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(handle, 0)
            _unlock(handle)
    finally:
        os.close(handle)


def holder(path: Path) -> int | None:
    """The process that holds a lease now, 0 where it does not say."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        if _try(handle):
            _unlock(handle)
            return None
        text = os.read(handle, 32).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(handle)


def _acquire(handle: int, wait_s: float) -> None:
    end = time.monotonic() + wait_s
    while not _try(handle):
        if time.monotonic() >= end:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            raise StoreBusy(
                f"another process (pid {holder}) has been writing for {wait_s:g} s",
                fix="wait until it is done, then run it again",
                details={"pid": int(holder) if holder.isdigit() else None},
            )
        time.sleep(POLL_S)


if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _try(handle: int) -> bool:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            os.lseek(handle, 0, os.SEEK_SET)
            return False
        os.lseek(handle, 0, os.SEEK_SET)
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _try(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
