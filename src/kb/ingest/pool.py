"""Runs jobs, in this process when they are few, else in workers, and yields the outcomes in the order of the jobs."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from hashlib import blake2b

from kb.config import IngestSettings
from kb.ingest.child import PIECE, pack, unpack
from kb.ingest.chunk import Limits
from kb.ingest.extract import Extracted
from kb.ingest.extract.languages import file_type
from kb.ingest.extract.pdf import Pages, PdfError, chunk_pages
from kb.ingest.extract.script import script_language
from kb.ingest.wire import read_outcome, wire_job
from kb.ingest.work import Job, Outcome, failure, finish, hash_file, opened, work
from kb.ingest.worker import Worker, WorkerDied
from kb.types import Issue

FEW = 150  # files: below, starting a process (0.2 s) takes longer than it saves
AHEAD = 24  # jobs per worker that are under way or wait to be written
AHEAD_BYTES = 48_000_000
TEXT_TIMEOUT_S = 60.0


def outcomes(
    jobs: Sequence[Job], settings: IngestSettings, stop: threading.Event
) -> Generator[tuple[Job, Outcome], None, None]:
    """Text first, then PDFs, which may take seconds each. Ends early when ``stop`` is set."""
    pdfs = [job for job in jobs if file_type(job.origin.source or "").type == "pdf"]
    texts = [job for job in jobs if file_type(job.origin.source or "").type != "pdf"]
    cores = settings.workers or min(4, os.cpu_count() or 1)
    if len(texts) < FEW or cores < 2:
        for job in texts:
            if stop.is_set():
                return
            yield job, work(job)
    else:
        yield from _parallel(texts, "text", _ask_text, min(cores, 2 + len(texts) // 2000), stop)
    if pdfs and not stop.is_set():
        role = f"pdf {settings.pdf_memory_mb} {settings.pdf_timeout_s}"

        def ask(worker: Worker, job: Job) -> Outcome:
            return _ask_pdf(worker, job, settings.pdf_timeout_s)

        yield from _parallel(pdfs, role, ask, min(cores, 2, len(pdfs)), stop)


def _parallel(jobs: Sequence[Job], role: str, ask: Callable[[Worker, Job], Outcome], count: int,
              stop: threading.Event) -> Generator[tuple[Job, Outcome], None, None]:  # fmt: skip
    """A thread per worker; a bounded number of jobs and bytes under way, so that memory does not grow with the folder."""
    workers = [Worker(role) for _ in range(count)]
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def one(job: Job) -> Outcome:
        worker = idle.get()
        try:
            return ask(worker, job)
        except Exception as cause:
            return failure(job.origin.path, cause)
        finally:
            idle.put(worker)

    executor = ThreadPoolExecutor(count, "kb-ingest")
    waiting: deque[tuple[Job, Future[Outcome]]] = deque()
    try:
        size = 0
        for job in jobs:
            while waiting and (len(waiting) >= AHEAD * count or size > AHEAD_BYTES):
                done = _next(waiting, stop)
                if done is None:
                    return
                size -= _size(done[0])
                yield done
            waiting.append((job, executor.submit(one, job)))
            size += _size(job)
        while waiting:
            done = _next(waiting, stop)
            if done is None:
                return
            yield done
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()


def _next(waiting: deque[tuple[Job, Future[Outcome]]], stop: threading.Event) -> tuple[Job, Outcome] | None:
    job, future = waiting.popleft()
    while not stop.is_set():
        try:
            return job, future.result(timeout=0.2)
        except NotYet:
            continue
    return None


def _size(job: Job) -> int:
    return job.origin.stamp.size if job.origin.stamp else 0


def _ask_text(worker: Worker, job: Job) -> Outcome:
    try:
        answer = worker.ask([pack(wire_job(job))], TEXT_TIMEOUT_S)
    except WorkerDied as cause:
        reason = "took too long to read" if cause.timed_out else "made the reader crash"
        return Outcome(failed=Issue(job.origin.path, "timeout" if cause.timed_out else "crash", reason))
    return read_outcome(unpack(answer))


def _ask_pdf(worker: Worker, job: Job, timeout_s: float) -> Outcome:
    if job.known_hash is not None and hash_file(job) == job.known_hash:
        return Outcome(same=True)
    digest = blake2b(digest_size=16)

    def frames() -> Iterator[bytes]:
        with opened(job) as (file, _):
            while piece := file.read(PIECE):
                digest.update(piece)
                yield piece
        yield b""

    try:
        answer = unpack(worker.ask(frames(), timeout_s))
    except WorkerDied as cause:
        raise PdfError("pdf_timeout" if cause.timed_out else "pdf_crash") from cause
    if "error" in answer:
        raise PdfError(answer["error"])
    pages = Pages(tuple(answer["texts"]), answer["title"])
    found, title = chunk_pages(pages, Limits.of(job.chunk_tokens))
    extracted = Extracted("pdf", found, title, lang=script_language("\n".join(pages.texts[:20])), encoding="binary")
    return Outcome(finish(job, extracted, digest.hexdigest()))
