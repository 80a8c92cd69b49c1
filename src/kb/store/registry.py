"""Which engines exist and how a location names one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from kb.errors import UsageError
from kb.protocols import Store

STORES = {"sqlite": "kb.store.sqlite.store:SQLiteStore", "memory": "kb.store.memory:MemoryStore"}


def open_store(location: str | Path, *, read_only: bool = False, create: bool = True) -> Store:
    """The store at a location: a path is a folder with SQLite in it, ``memory:`` lives as long as the object."""
    text = str(location)
    engine, found, rest = text.partition(":")
    if isinstance(location, Path) or not found or len(engine) < 2 or "/" in engine or "\\" in engine:
        return _open("sqlite", Path(location), read_only, create)  # one letter before the colon is a Windows drive
    if engine not in STORES:
        engines = ", ".join(sorted(STORES))
        raise UsageError(f"there is no store engine '{engine}'", fix=f"use a folder path; engines here: {engines}")
    return _open(engine, Path(rest), read_only, create)


def _open(engine: str, path: Path, read_only: bool, create: bool) -> Store:
    module, _, name = STORES[engine].partition(":")
    kind = getattr(import_module(module), name)
    return cast(Store, kind(path, read_only=read_only, create=create))
