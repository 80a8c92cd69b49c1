"""Running the command line: in this process, in one of its own, and on a terminal."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kb.cli import main
from tests.cli.wire import validate

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")

    @property
    def errors(self) -> str:
        return self.err.decode("utf-8")

    @property
    def document(self) -> Any:
        """The one JSON document of stdout, checked against its schema."""
        assert self.out.endswith(b"\n")
        assert self.out.count(b"\n") == 1, self.out
        found = json.loads(self.out)
        validate(found)
        return found

    @property
    def error(self) -> Any:
        """The error, the last JSON line of stderr, checked against its schema."""
        found = json.loads(self.err.splitlines()[-1])
        validate(found)
        assert found["schema_version"] == "error.v1"
        return found


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("search", "git")`` in this process, with a real stdin, stdout and stderr that are no terminals."""

    def run(*argv: object, stdin: bytes = b"") -> Ran:
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
            code = main([os.fspath(word) if isinstance(word, Path) else str(word) for word in argv])
            sys.stdout.flush()
            sys.stderr.flush()
            return Ran(code, out.getvalue(), err.getvalue())

    return run


def environment(**changes: str) -> dict[str, str]:
    names = ("PATH", "HOME", "KB_STORE", "KB_EMBED_MODEL", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return kept | {"PYTHONPATH": str(ROOT / "src")} | changes


@pytest.fixture
def process() -> Run:
    """The same in a process of its own."""

    def process(*argv: object, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        command = [sys.executable, "-m", "kb", *(os.fspath(w) if isinstance(w, Path) else str(w) for w in argv)]
        done = subprocess.run(command, input=stdin, capture_output=True, env=environment(**(env or {})), check=False)
        return Ran(done.returncode, done.stdout, done.stderr)

    return process


@pytest.fixture
def terminal() -> Run:
    """The same on a terminal of so many columns; all that it shows is in ``out``."""
    pty = pytest.importorskip("pty")

    def terminal(*argv: object, columns: int = 80, env: dict[str, str] | None = None) -> Ran:
        import fcntl
        import struct
        import termios

        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        attributes = termios.tcgetattr(follower)
        attributes[1] &= ~termios.OPOST  # \n stays \n
        termios.tcsetattr(follower, termios.TCSANOW, attributes)
        command = [sys.executable, "-m", "kb", *(os.fspath(w) if isinstance(w, Path) else str(w) for w in argv)]
        changed = environment(**({"TERM": "xterm-256color"} | (env or {})))
        child = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=changed)
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not part:
                break
            shown += part
        os.close(leader)
        return Ran(child.wait(), shown, b"")

    return terminal


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for a store, which every command of the test uses."""
    place = tmp_path / "store"
    monkeypatch.setenv("KB_STORE", str(place))
    return place


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The sample folder, its files all of one day."""
    folder = tmp_path / "sample"
    shutil.copytree(ROOT / "sample", folder)
    noon = 1_769_860_800  # 2026-01-31T12:00:00Z
    for path in folder.rglob("*"):
        os.utime(path, (noon, noon))
    return folder


@pytest.fixture
def filled(run: Run, store: Path, sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that holds the sample, its vectors made by the hashing embedder."""
    monkeypatch.setenv("KB_EMBED_MODEL", "hashing:64")
    done = run("add", sample, "--json")
    assert done.code == 0, done.errors
    return store
