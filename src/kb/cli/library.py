"""``kb list``, ``status``, ``remove``, ``export`` and ``import``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from kb import render
from kb.cli.session import Session
from kb.cli.terminal import clean_line, count, flow, size, table
from kb.errors import NotFound, UsageError
from kb.types import Status


def list_documents(session: Session) -> int:
    limit, after = session.value("limit"), session.value("after")
    with session.open(read_only=True) as base:
        found = base.list(session.filters(), limit=None if limit is None else limit + 1, after=after)
    more = limit is not None and len(found) > limit
    found = found[:limit]
    following = found[-1].doc_id if more else None
    if session.json:
        session.document(render.documents(found, following=following))
        return 0
    several = not session.out.tty or len({document.collection for document in found}) > 1
    rows = []
    for each in found:
        collection = [clean_line(each.collection)] if several else []
        row = [clean_line(each.path), flow(each.title), each.type, each.date or "", clean_line(",".join(each.tags))]
        rows.append([*row, *collection, *([] if session.out.tty else [each.doc_id])])
    head = ["path", "title", "type", "date", "tags", *(["collection"] if several else []), "id"]
    if rows:
        table(session.out, head[: len(rows[0])], rows, flexible=(1, 4))
    session.note((f"{count(len(found), 'document')}", "dim"))
    if following:
        session.note((f"more: kb list … --after {following}", "dim"))
    if not found:
        session.note(("try: ", "dim"), "kb add PATH" if session.filters().empty else "fewer filters")
    return 0


def status(session: Session) -> int:
    with session.open(read_only=True) as base:
        found = base.status()
    if session.json:
        session.document(render.status(found))
        return 0
    for name, text in _facts(found):
        session.out.line((f"{name:<12}", "dim"), text)
    return 0


def _facts(found: Status) -> list[tuple[str, str]]:
    model = f"{found.model.label}, {found.model.dimension} dimensions" if found.model else "none"
    waiting = f", {count(found.pending, 'chunk')} without one: kb add PATH" if found.pending else ""
    facts = [
        ("store", f"{clean_line(found.location)}  ({found.engine}, {size(found.bytes)})"),
        ("documents", f"{found.documents:,}" + _split(found.by_type)),
        ("chunks", f"{found.chunks:,}"),
        ("vectors", f"{found.vectors:,}{waiting}"),
        ("model", clean_line(model)),
    ]
    if found.embedder and not (found.model and found.embedder == found.model.id):
        facts.append(("embedder", clean_line(found.embedder)))
    if len(found.by_collection) > 1:
        facts.append(("collections", _counts(found.by_collection)))
    if found.tags:
        facts.append(("tags", _counts(found.tags, most=12)))
    facts += [("from", clean_line(root)) for root in found.roots]
    facts.append(("revision", f"{found.revision}  ({clean_line(found.index_version)})"))
    return [*facts, ("last added", found.last_indexed_at or "never")]


def _split(by_type: Mapping[str, int]) -> str:
    return f"  ({_counts(by_type)})" if by_type else ""


def _counts(numbers: Mapping[str, int], most: int = 20) -> str:
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{clean_line(name)} {number:,}" for name, number in ordered[:most])
    return shown + (f", and {len(ordered) - most:,} more" if len(ordered) > most else "")


def remove(session: Session) -> int:
    with session.open() as base:
        removed = base.remove(*session.words, collection=session.value("collection"))
    if session.json:
        session.document(render.remove_report(removed))
    elif not session.quiet:
        session.out.line((f"removed {count(removed, 'document')}", "green"), "  The files themselves are untouched.")
    return 0


def export(session: Session) -> int:
    name = session.words[0]
    with session.open(read_only=True) as base:
        if name == "-":
            if session.json:
                raise UsageError("stdout can hold the pack or JSON, not both", fix="kb export FILE --json")
            base.export(sys.stdout.buffer)
            return 0
        documents = _write_whole(Path(name), base.export)
    if session.json:
        session.document(render.export_report(name, documents))
    elif not session.quiet:
        session.out.line((f"exported {count(documents, 'document')}", "green"), f"  to {clean_line(name)}")
    return 0


def _write_whole(path: Path, write: Callable[[BinaryIO], int]) -> int:
    """All of it or nothing: an export that fails leaves an older pack as it was."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with _create(part) as file:
            documents = write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        return documents
    finally:
        part.unlink(missing_ok=True)


def _create(path: Path) -> BinaryIO:
    """Readable by its owner alone, as the store is."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def import_pack(session: Session) -> int:
    from kb.cli.add import report

    name = session.words[0]
    try:
        file: BinaryIO = sys.stdin.buffer if name == "-" else Path(name).expanduser().open("rb")
    except OSError as cause:
        raise NotFound(f"cannot read {name}: {cause.strerror}", fix="kb import FILE") from cause
    with file, session.open(create=True) as base:
        done = base.import_(file)
    report(session, done)
    return 0 if done.ok else 1
