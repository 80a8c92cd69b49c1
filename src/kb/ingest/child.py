"""What runs inside a worker process: it reads jobs from its standard input and answers on its standard output.

Started as ``python -c`` with the parent's ``sys.path``, never by multiprocessing, whose spawned children import the
user's own main module again. Frames are a length and JSON: no answer of a hijacked PDF reader can run code in the parent.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
from typing import IO, Any, BinaryIO

_LENGTH = struct.Struct(">Q")
PIECE = 1 << 20


def write_frame(stream: IO[bytes], payload: bytes | memoryview) -> None:
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)


def read_frame(stream: IO[bytes], limit: int = 1 << 31) -> bytes | None:
    """One frame, or None where the other side is gone or talks nonsense."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size: int = _LENGTH.unpack(head)[0]
    if size > limit:
        return None
    payload = stream.read(size)
    return payload if len(payload) == size else None


def pack(value: Any) -> bytes:
    """JSON; names of files may hold lone surrogates."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def unpack(payload: bytes) -> Any:
    return json.loads(payload.decode("utf-8", "surrogatepass"))


def main() -> None:
    """``argv[1]`` is ``pdf MEMORY_MB TIMEOUT_S`` or ``text``."""
    words = sys.argv[1].split()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get into the answers
    if words[0] == "pdf":
        _pdf_loop(sys.stdin.buffer, answers, int(words[1]), float(words[2]))
    else:
        _text_loop(sys.stdin.buffer, answers)


def _text_loop(jobs: BinaryIO, answers: BinaryIO) -> None:
    from kb.ingest.wire import read_job, wire_outcome
    from kb.ingest.work import work

    while (payload := read_frame(jobs)) is not None:
        write_frame(answers, pack(wire_outcome(work(read_job(unpack(payload))))))
        answers.flush()


def _pdf_loop(jobs: BinaryIO, answers: BinaryIO, memory_mb: int, timeout_s: float) -> None:
    from kb.ingest.extract.pdf import PdfError, read_pages

    _confine(memory_mb)
    while (raw := _read_pieces(jobs)) is not None:
        _limit_cpu(timeout_s)
        answer: dict[str, Any]
        try:
            pages = read_pages(raw)
            answer = {"texts": pages.texts, "title": pages.title}
        except PdfError as cause:
            answer = {"error": cause.reason_code}
        except MemoryError:
            answer = {"error": "pdf_crash"}
        del raw
        write_frame(answers, pack(answer))
        answers.flush()


def _read_pieces(jobs: BinaryIO) -> bytes | None:
    """A file in frames; an empty one ends it."""
    pieces: list[bytes] = []
    while True:
        piece = read_frame(jobs)
        if piece is None:
            return None
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _confine(memory_mb: int) -> None:
    """Memory is capped, and no file, socket or process can be opened any more: the file comes over the pipe."""
    from kb.ingest.extract.pdf import warm_up

    warm_up()  # everything is loaded before the door closes
    try:
        import resource
    except ImportError:  # Windows: the time limit of the parent remains
        return
    highest = max((int(name) for name in os.listdir("/dev/fd")), default=2) if os.path.isdir("/dev/fd") else 64
    limits = ((resource.RLIMIT_AS, memory_mb << 20), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0))
    for what, value in (*limits, (resource.RLIMIT_NOFILE, min(highest, 64))):
        try:
            resource.setrlimit(what, (value, value))
        except (ValueError, OSError):
            pass  # a platform without this limit


def _limit_cpu(timeout_s: float) -> None:
    """For this file alone; it ends a runaway whose parent was killed and can't do so."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + timeout_s) + 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ValueError, OSError):
        pass
