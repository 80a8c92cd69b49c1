"""``kb mark``: which documents answer a question, and which do not, in the user's own words.

Kept beside the store as a golden file, so that ``kb eval STORE/golden.jsonl`` measures by it and ``kb tune`` listens.
One line per mark; of two marks of the same question and place the later one counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.errors import NotFound, UsageError
from kb.protocols import Store
from kb.types import Value

NAME = "golden.jsonl"
LOCK = "golden.lock"
LOCK_S = 5.0  # marks are written in a few milliseconds


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mark(Value):
    """A place (``notes/git.md``, ``notes/git.md#L3-L9``) that answers a question, or does not."""

    query: str
    place: str
    grade: float  # 0 is "not an answer"


class Marks:
    """``base.mark("notes/git.md", "install git")``; the file is read and written when it is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, path: str, query: str, *, good: bool = True, collection: str | None = None) -> Mark:
        """Remember that this document, or this part of it, answers the question; or with ``good=False`` that it does not."""
        mark = Mark(_question(query), self._place(path, collection), 1.0 if good else 0.0)
        file = self._file()
        with _locked(file):
            _append(file, mark)
        return mark

    def list(self) -> tuple[Mark, ...]:
        """What is marked, in the order of the first mark of each question and place."""
        found: dict[tuple[str, str], Mark] = {}
        for row in _rows(_lines(self._file())):
            for place, grade in _grades(row).items():
                found[str(row["query"]), place] = Mark(str(row["query"]), place, grade)
        return tuple(found.values())

    def remove(self, path: str, query: str) -> int:
        """Forget the marks of this place for this question; how many lines of the file spoke of it."""
        file, query = self._file(), _question(query)
        with _locked(file):
            lines = _lines(file)
            left = [_without(line, path, query) for line in lines]
            changed = sum(before != after for before, after in zip(lines, left, strict=True))
            if not changed:
                raise NotFound(f"'{path}' is not marked for '{query}'", fix="kb mark --list")
            _replace(file, [line for line in left if line is not None])
        return changed

    def _file(self) -> Path:
        place = Path(self._store.status().location)
        if not place.is_dir():
            raise UsageError("marks are kept beside a store that is a folder", fix="--store FOLDER")
        return place / NAME

    def _place(self, path: str, collection: str | None) -> str:
        """As the store names it; NotFound, or UsageError where it names several."""
        from kb import lookup

        with self._store.snapshot() as snapshot:
            try:
                found = lookup.documents(snapshot, path, collection)
            except NotFound:
                found = []
            if len(found) == 1:
                return found[0].path
            return lookup.passages(snapshot, path, collection=collection)[0].citation.uri


def _question(query: str) -> str:
    text = " ".join(query.split())
    if not text:
        raise UsageError("an empty question has no answer", fix='kb mark PATH "install git"')
    return text


# ---------------------------------------------------------------- the file


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    from kb.store.sqlite.lease import lease

    with lease(file.with_name(LOCK), LOCK_S):
        yield


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as cause:
        raise UsageError(f"cannot read {file}: {cause}", fix="correct the file or move it away") from cause


def _rows(lines: list[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        row = _row(line)
        if row is None:
            raise UsageError(f"{NAME}, line {number}: not a question with its answers", fix="correct the line")
        yield row


def _row(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "query" in row else None


def _grades(row: dict[str, Any]) -> dict[str, float]:
    relevant = row.get("relevant") or {}
    if isinstance(relevant, list):
        return dict.fromkeys(map(str, relevant), 1.0)
    if not isinstance(relevant, dict):
        return {}
    return {str(place): float(grade) for place, grade in relevant.items() if isinstance(grade, int | float)}


def _append(file: Path, mark: Mark) -> None:
    """In one write, and on disk when this returns; a line that a crash cut short was never promised, and goes."""
    line = _written({"query": mark.query, "relevant": {mark.place: mark.grade}})
    handle = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        size = os.fstat(handle).st_size
        held = os.read(handle, size) if size else b""
        rest = held[held.rfind(b"\n") + 1 :]
        if rest and _row(rest.decode("utf-8", "replace")) is None:
            size -= len(rest)
            os.ftruncate(handle, size)
        elif rest:
            line = b"\n" + line
        os.lseek(handle, size, os.SEEK_SET)
        os.write(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)
    if not size:
        _sync_folder(file.parent)


def _without(line: str, path: str, query: str) -> str | None:
    """The line as it is, or less this place, or None where nothing is left of it."""
    row = _row(line)
    if row is None or " ".join(str(row["query"]).split()) != query or path not in _grades(row):
        return line
    relevant = row["relevant"]
    if isinstance(relevant, list):
        row["relevant"] = [place for place in relevant if str(place) != path]
    else:
        row["relevant"] = {place: grade for place, grade in relevant.items() if place != path}
    return _written(row).decode("utf-8").rstrip("\n") if row["relevant"] else None


def _replace(file: Path, lines: list[str]) -> None:
    """All of it or nothing."""
    part = file.with_name(f"{NAME}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
            handle.write("".join(f"{line}\n" for line in lines).encode())
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _written(row: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a name of a file that is no text
        return (json.dumps(row) + "\n").encode()
