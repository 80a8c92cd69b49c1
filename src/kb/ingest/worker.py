"""A worker process as its parent sees it: one question at a time, with a time limit, started anew after a crash."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable

from kb.ingest.child import read_frame, write_frame

_PROGRAM = "import sys; sys.path[:0] = {path!r}; from kb.ingest.child import main; main()"


class WorkerDied(Exception):
    """The process ended before it answered; ``timed_out`` when it was ended because of its time limit."""

    def __init__(self, timed_out: bool) -> None:
        super().__init__("timed out" if timed_out else "died")
        self.timed_out = timed_out


class Worker:
    """Not thread-safe: each thread has its own."""

    def __init__(self, role: str) -> None:
        self.role = role
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, frames: Iterable[bytes], timeout_s: float) -> bytes:
        """The answer to a question of several frames; raises WorkerDied, after which the next call starts a new one."""
        if self._closed:
            raise WorkerDied(False)
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(timeout_s, end)
        timer.daemon = True
        timer.start()
        answer: bytes | None = None
        try:
            for frame in frames:
                write_frame(process.stdin, frame)
            process.stdin.flush()
            answer = read_frame(process.stdout)
        except (BrokenPipeError, OSError, ValueError):
            pass
        finally:
            timer.cancel()
            if answer is None:
                self._end()
        if answer is None:
            raise WorkerDied(late.is_set())
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        program = _PROGRAM.format(path=sys.path)
        # A session of its own: Ctrl-C is the parent's business, and the end of its pipe tells the child to go.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", program, self.role],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        return self._process

    def close(self) -> None:
        """End the process for good, whatever it is doing. Safe from any thread."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
