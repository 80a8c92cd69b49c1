"""Every error of SQLite as one of ours. No apsw exception ever leaves the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from kb.errors import KBError, QueryTimeout, StoreBusy, StoreCorrupt, StoreError, StoreFull


@contextmanager
def typed() -> Iterator[None]:
    try:
        yield
    except apsw.Error as cause:
        raise translate(cause) from cause
    except OSError as cause:
        raise _of_the_system(cause) from cause


def translate(cause: apsw.Error) -> KBError:
    text = str(cause)
    match cause:
        case apsw.FullError():
            return StoreFull(
                "the disk is full; nothing of this write was kept", fix="free some space, then run it again"
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorrupt(f"the store is damaged: {text}", fix="kb check, then kb repair")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy("another process holds the store", fix="wait until it is done, then run it again")
        case apsw.InterruptError():
            return QueryTimeout("the search took longer than its deadline", fix="use fewer or rarer words")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreError("the store can be read but not written", fix="check the permissions of its folder")
        case apsw.CantOpenError():
            return StoreError("the store cannot be opened", fix="check the permissions of its folder")
        case apsw.IOError():
            return StoreError(f"the disk failed: {text}; nothing of this write was kept", fix="kb check")
        case apsw.ConstraintError():
            return StoreError(f"the store refused the write: {text}", fix="kb check")
        case apsw.SQLError() if text.startswith("no such"):
            return StoreCorrupt(f"the store is incomplete: {text}", fix="kb check, then kb repair")
    return StoreError(f"SQLite failed: {text}", fix="kb check")


def _of_the_system(cause: OSError) -> KBError:
    import errno

    if cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull("the disk is full", fix="free some space, then run it again")
    return StoreError(f"the store cannot be used: {cause.strerror or cause}", fix="check the permissions of its folder")
