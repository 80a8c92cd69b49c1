"""Documents that are not files: text from stdin, and JSON lines."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import IO, Any

from kb.cli.session import Session, read_stdin
from kb.errors import UsageError
from kb.types import DOC_TYPES, TRUST_LEVELS, Document, Issue

_KNOWN = {field.name for field in fields(Document)}
_TEXTS = ("path", "text", "title", "type", "collection", "lang", "repo", "version", "trust", "date")


def given(session: Session, bad: list[Issue]) -> Iterator[Document] | None:
    """The records of this command, or None; what cannot be read is appended to ``bad`` and the rest goes on."""
    title, jsonl = session.value("title"), session.value("jsonl")
    if "-" in session.words and jsonl == "-":
        raise UsageError("stdin can be text or JSON lines, not both", fix="kb add --jsonl -")
    if title is not None and "-" not in session.words:
        raise UsageError("--title is for text from stdin", fix="kb add - --title TEXT")
    if jsonl is not None:
        return _with_defaults(session, _lines(jsonl, bad))
    if "-" in session.words:
        return _with_defaults(session, iter([from_text(read_stdin(), title)]))
    return None


def from_text(text: str, title: str | None) -> Document:
    """Text without a file: its path is made of its title, so that the same title replaces it."""
    if not text.strip():
        raise UsageError("stdin is empty: there is nothing to add", fix="echo TEXT | kb add - --title TITLE")
    name = re.sub(r"[^\w.-]+", "-", title or "").strip("-.")[:80]
    name = name or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    return Document(path=f"stdin/{name}.md", text=text, title=title)


def _with_defaults(session: Session, documents: Iterator[Document]) -> Iterator[Document]:
    """Flags fill in what a record does not say itself; tags add up."""
    names = ("type", "collection", "repo", "version", "trust")
    flags = {name: session.value(name) for name in names if session.value(name) is not None}
    tags = session.value("tags")
    for document in documents:
        missing = {name: value for name, value in flags.items() if getattr(document, name) is None}
        yield replace(document, tags=tuple(dict.fromkeys((*document.tags, *tags))), **missing)


def _lines(file: str, bad: list[Issue]) -> Iterator[Document]:
    if file == "-":
        yield from _documents(sys.stdin.buffer, file, bad)
        return
    try:
        stream = Path(file).expanduser().open("rb")
    except OSError as cause:
        raise UsageError(f"cannot read {file}: {cause.strerror}", fix="kb add --jsonl FILE") from cause
    with stream:
        yield from _documents(stream, file, bad)


def _documents(lines: IO[bytes], file: str, bad: list[Issue]) -> Iterator[Document]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield record(json.loads(line.decode("utf-8-sig")))
        except (ValueError, RecursionError) as cause:
            name = "stdin" if file == "-" else file
            bad.append(Issue(f"{name}:{number}", "invalid_record", " ".join(str(cause).split())))


def record(value: Any) -> Document:
    """One parsed line; ValueError says what is wrong with it."""
    if not isinstance(value, dict):
        raise ValueError("a record is an object with path and text")
    unknown = sorted(set(value) - _KNOWN)
    if unknown:
        raise ValueError(f"unknown field '{unknown[0]}'; known: {', '.join(sorted(_KNOWN))}")
    for name in ("path", "text"):
        if not value.get(name):
            raise ValueError(f"'{name}' is missing")
    for name in _TEXTS:
        if not isinstance(value.get(name), (str, type(None))):
            raise ValueError(f"'{name}' must be text")
    for name, allowed in (("type", DOC_TYPES), ("trust", TRUST_LEVELS)):
        if value.get(name) is not None and value[name] not in allowed:
            raise ValueError(f"'{name}' must be one of {', '.join(allowed)}")
    tags = value.get("tags") or ()
    if not isinstance(tags, (list, tuple)) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError("'tags' must be a list of texts")
    day = value.get("date")
    return Document(**{**value, "tags": tuple(tags), "date": date.fromisoformat(day) if day else None})
