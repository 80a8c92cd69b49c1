"""One file to one outcome. Runs in this process or in a worker process; touches nothing but that file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import BinaryIO

from kb.errors import ExtractError
from kb.ingest.build import Given, Origin, build, content_hash
from kb.ingest.chunk import Limits
from kb.ingest.discover import MEGABYTE
from kb.ingest.extract import Extracted, extract
from kb.ingest.extract.decode import is_binary
from kb.ingest.names import PRIVATE_KEY
from kb.types import Entry, Issue

SECRET_BYTES = 16_384  # where a private key is looked for


@dataclass(frozen=True, slots=True)
class Job:
    """A file to read, and what to make of it."""

    origin: Origin
    given: Given
    indexed_at: str
    chunk_tokens: int = 250
    max_mb: float = 20.0
    known_hash: str | None = None  # with this content it need not be extracted again


@dataclass(frozen=True, slots=True)
class Outcome:
    """Exactly one of: an entry, the same content as before, a reason to skip, a failure."""

    entry: Entry | None = None
    same: bool = False
    skipped: Issue | None = None
    failed: Issue | None = None


class Refused(Exception):
    """A file that is left out, with the reason."""

    def __init__(self, code: str, reason: str, *, failed: bool = False) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.failed = failed


def work(job: Job) -> Outcome:
    """Read, decode, extract, chunk and build; every failure is an outcome, so that the rest goes on."""
    origin = job.origin
    try:
        raw = _read(job)
        digest = content_hash(raw)
        if digest == job.known_hash:
            return Outcome(same=True)
        extracted = extract(raw, origin.path, Limits.of(job.chunk_tokens), force=job.given.type)
        return Outcome(finish(job, extracted, digest))
    except Exception as cause:
        return failure(origin.path, cause)


def finish(job: Job, extracted: Extracted, digest: str) -> Entry:
    return build(
        job.origin, extracted, job.given, digest=digest, chunk_tokens=job.chunk_tokens, indexed_at=job.indexed_at
    )


def failure(path: str, cause: Exception) -> Outcome:
    """An exception as the row of a report."""
    if isinstance(cause, Refused):
        issue = Issue(path, cause.code, cause.reason)
        return Outcome(failed=issue) if cause.failed else Outcome(skipped=issue)
    if isinstance(cause, FileNotFoundError):
        return Outcome(skipped=Issue(path, "vanished", "it was gone when it was to be read"))
    if isinstance(cause, OSError):
        return Outcome(failed=Issue(path, "unreadable", f"cannot be read: {cause.strerror or cause}"))
    if isinstance(cause, ExtractError):
        code = getattr(cause, "reason_code", None) or "undecodable"
        issue = Issue(path, code, f"{cause.message} ({cause.fix})" if cause.fix else cause.message)
        return Outcome(failed=issue) if code.startswith("pdf") else Outcome(skipped=issue)
    if isinstance(cause, MemoryError | RecursionError):
        return Outcome(failed=Issue(path, "too_complex", "needs more memory than there is"))
    return Outcome(failed=Issue(path, "extract_failed", f"{type(cause).__name__}: {cause}"))


@contextmanager
def opened(job: Job) -> Iterator[tuple[BinaryIO, int]]:
    """The file, open for reading, and its size; refused when it is not the plain file in its root that was found."""
    source, root = job.origin.source, job.origin.root
    assert source is not None and root is not None
    # NOFOLLOW and NONBLOCK: what was a file when it was found may be a link or a pipe by now
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(source, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("special", "not a regular file (a pipe, socket or device)")
        if not _inside(descriptor, source, root):
            raise Refused("outside", "a link now leads out of the folder")
        if status.st_size > job.max_mb * MEGABYTE:
            raise Refused("too_large", f"{status.st_size / MEGABYTE:.1f} MB, more than the {job.max_mb:g} MB allowed")
        yield file, status.st_size


def hash_file(job: Job) -> str:
    """The content hash alone, without holding the file in memory."""
    digest = blake2b(digest_size=16)
    with opened(job) as (file, _):
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _inside(descriptor: int, source: str, root: str) -> bool:
    """Whether the open file truly lies under its root: folders above it may have been swapped for links."""
    try:
        actual = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        actual = os.path.realpath(source)
    return actual.startswith(root.rstrip(os.sep) + os.sep)


def _read(job: Job) -> bytes:
    with opened(job) as (file, _):
        head = file.read(SECRET_BYTES)
        if is_binary(head):
            raise Refused("binary", "binary content")
        if PRIVATE_KEY.search(head):
            raise Refused("secret", "it holds a private key")
        most = int(job.max_mb * MEGABYTE)
        raw = head + file.read(most + 1 - len(head)) if len(head) == SECRET_BYTES else head
        if len(raw) > most:  # it grew since it was opened
            raise Refused("too_large", f"more than the {job.max_mb:g} MB allowed")
        return raw
