"""What works here and what does not, and what to type about it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kb import config
from kb.app import KB
from kb.errors import KBError

SAFE_SQLITE = (3, 51, 3)  # the first without the WAL-reset race, by which two writers could lose committed pages


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True  # without an optional one kb works, only slower or with less


def examine(base: KB | None, problem: KBError | None = None) -> tuple[DoctorCheck, ...]:
    """All checks; ``base`` is the opened store, or None with the ``problem`` that kept it from opening."""
    parts: list[Callable[[], DoctorCheck]] = [_python, _sqlite, _vectors, _pdf, _code, _numpy, _config]
    checks = [part() for part in parts]
    if base is None:
        detail = problem.message if problem else "there is none yet"
        fix = problem.fix if problem else "kb add PATH"
        return (*checks, DoctorCheck("store", problem is None, detail, fix))
    return (*checks, _model(base), _store(base), _place(base))


def _python() -> DoctorCheck:
    return DoctorCheck("python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.system()}")


def _sqlite() -> DoctorCheck:
    try:
        import apsw
    except ImportError as error:
        return DoctorCheck("sqlite", False, f"apsw does not load: {error}", "pip install --force-reinstall apsw")
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < SAFE_SQLITE:
        return DoctorCheck("sqlite", False, f"SQLite {version} can lose data with two writers", "pip install -U apsw")
    try:
        apsw.Connection(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
    except apsw.Error as error:
        return DoctorCheck("sqlite", False, f"SQLite {version} has no FTS5: {error}", "pip install -U apsw")
    return DoctorCheck("sqlite", True, f"SQLite {version} with FTS5")


def _vectors() -> DoctorCheck:
    try:
        import apsw
        import sqlite_vec

        connection = apsw.Connection(":memory:")
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        version = connection.execute("SELECT vec_version()").get
    except Exception as error:  # a wheel for another platform fails in many ways; each is the same news
        return DoctorCheck("sqlite-vec", False, f"does not load: {error}", "pip install --force-reinstall sqlite-vec")
    return DoctorCheck("sqlite-vec", True, f"{version}")


def _pdf() -> DoctorCheck:
    return _package("pypdfium2", "PDF files", required=True)


def _code() -> DoctorCheck:
    return _package("tree_sitter", "code by definitions", required=True, distribution="tree-sitter")


def _numpy() -> DoctorCheck:
    return _package("numpy", "faster indexing and search", required=False)


def _package(module: str, what: str, *, required: bool, distribution: str | None = None) -> DoctorCheck:
    name = distribution or module
    if importlib.util.find_spec(module) is None:
        return DoctorCheck(name, not required, f"not installed: {what}", f"pip install {name}", required)
    return DoctorCheck(name, True, f"{importlib.metadata.version(name)}: {what}", "", required)


def _config() -> DoctorCheck:
    path = config.config_path()
    try:
        config.load()
    except KBError as error:
        return DoctorCheck("config", False, error.message, error.fix)
    return DoctorCheck("config", True, str(path) if path.exists() else f"defaults ({path} does not exist)")


def _model(base: KB) -> DoctorCheck:
    name = base.settings.embed.model
    stored = base.status().model
    try:
        embedder = base.engine.embedder(stored)
    except KBError as error:
        return DoctorCheck("model", False, error.message, error.fix)
    if embedder is None:
        problem = base.engine.embedder_problem(stored)
        if problem is not None:
            return DoctorCheck("model", False, problem.message, problem.fix)
        return DoctorCheck("model", True, f"{name}: keyword search only", required=False)
    try:
        info = embedder.info
    except KBError as error:  # a remote model tells its dimension only when asked
        return DoctorCheck("model", False, error.message, error.fix)
    if stored is not None and stored.label != info.label:
        detail = f"the store's vectors were made by {stored.label}, the model at hand is {info.label}"
        return DoctorCheck("model", False, detail, f"kb model set {name}", required=False)
    return DoctorCheck("model", True, f"{info.label}, {info.dimension} dimensions")


def _store(base: KB) -> DoctorCheck:
    status = base.status()
    detail = f"{status.location}: {status.documents} documents, {status.chunks} chunks, revision {status.revision}"
    if status.pending:
        return DoctorCheck("store", True, f"{detail}; {status.pending} chunks wait for a vector", "kb add PATH", False)
    return DoctorCheck("store", True, detail)


NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "fuse.sshfs", "afs", "ceph"}


def filesystem(place: Path, mounts: str) -> str | None:
    """The type of the filesystem that holds ``place``, from the text of ``/proc/self/mounts``."""
    best, kind = "", None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            at = fields[1].replace("\\040", " ")
            if (str(place) == at or str(place).startswith(at.rstrip("/") + "/")) and len(at) >= len(best):
                best, kind = at, fields[2]
    return kind


def _place(base: KB) -> DoctorCheck:
    """WAL needs shared memory between processes: on a network file system a store can be damaged."""
    table = Path("/proc/self/mounts")
    place = Path(base.status().location)
    kind = filesystem(place.resolve(), table.read_text(errors="replace")) if table.exists() else None
    if kind in NETWORK:
        return DoctorCheck(
            "file system", False, f"the store is on {kind}", "move the store to a local disk: --store PATH"
        )
    return DoctorCheck("file system", True, kind or "local")
