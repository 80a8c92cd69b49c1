"""``kb model``: which model answers, and changing it without a pause."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kb import render
from kb.app import KB
from kb.cli.add import stop_on_signal
from kb.cli.flags import MODEL_ACTIONS
from kb.cli.session import Session
from kb.cli.terminal import clean_line, count, cut, size, span, table
from kb.errors import UsageError
from kb.models import CollectionModel, ModelState, ModelStatus

EVERY_S = 1.0  # how often progress is looked up and shown: it counts the chunks that wait
NICE = 10  # whoever else wants the processor goes first


def model(session: Session) -> int:
    action, *words = session.words or ("status",)
    if action not in MODEL_ACTIONS:
        raise UsageError(f"kb model has no '{action}'", fix=f"kb model {' | '.join(MODEL_ACTIONS)}")
    if len(words) != (action == "set"):
        shape = "set NAME" if action == "set" else action
        raise UsageError(f"kb model {action} needs {'a NAME' if action == 'set' else 'no more words'}",
                         fix=f"kb model {shape}")  # fmt: skip
    return VERBS[action](session, *words)


# ---------------------------------------------------------------- changing


def _set(session: Session, name: str) -> int:
    with session.open(create=True) as base:
        base.model.set(name, collection=session.value("collection"))
        return _go_on(session, base)


def _back(session: Session) -> int:
    with session.open() as base:
        base.model.back(collection=session.value("collection"))
        return _go_on(session, base)


def _run(session: Session) -> int:
    with session.open() as base:
        return _here(session, base)


def _go_on(session: Session, base: KB) -> int:
    """Embed what is missing: here with --wait, else in a process that outlives this one."""
    status = base.model.status()
    if not _building(status):
        return _show(session, status)
    location = Path(base.status().location)
    if session.value("wait") or not location.is_dir():
        return _here(session, base)
    if status.builder is None:
        status = replace(status, builder=_start(session, location))
    return _show(session, status)


def _here(session: Session, base: KB) -> int:
    with stop_on_signal(None) as stop:
        status = base.model.run(on_status=_listener(session), stop=stop)
    if session.err.tty:
        session.err.write("\r\x1b[K")
        session.err.flush()
    shown = _show(session, status)
    return 1 if _building(status) else shown


def _start(session: Session, location: Path) -> int:
    """A process of its own, which goes on when this one and its terminal are gone."""
    command = [sys.executable, "-P", "-m", "kb", "model", "run", "--quiet", "--store", str(location.absolute())]
    if session.value("config"):
        command += ["--config", str(Path(session.value("config")).expanduser().absolute())]
    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    none = subprocess.DEVNULL
    child = subprocess.Popen(  # what goes wrong in it is noted in the store: kb model status
        command, stdin=none, stdout=none, stderr=none, start_new_session=True, creationflags=flags
    )
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, child.pid, NICE)
    number, child.returncode = child.pid, 0  # nobody here waits for it
    return number


def _listener(session: Session) -> Callable[[Callable[[], ModelStatus]], None] | None:
    if not session.err.tty or session.quiet or session.json:
        return None
    last = [0.0]

    def show(status: Callable[[], ModelStatus]) -> None:
        now = time.monotonic()
        if now - last[0] >= EVERY_S:
            last[0] = now
            lines = [_progress(each) for each in status().models if each.role == "building"]
            session.err.write("\r" + session.err.paint(cut("; ".join(lines), (session.err.width or 80) - 1), "dim"))
            session.err.write("\x1b[K")
            session.err.flush()

    return show


def _drop(session: Session) -> int:
    with session.open() as base:
        freed = base.model.drop()
    if session.json:
        session.document(render.model_drop(freed))
    elif not session.quiet:
        session.out.line(f"dropped {size(freed)} of vectors" if freed else "no model was kept: nothing to drop")
    return 0


# ---------------------------------------------------------------- showing


def _status(session: Session) -> int:
    with session.open(read_only=True) as base:
        return _show(session, base.model.status())


def _list(session: Session) -> int:
    from kb.modelset import offers

    found = offers(session.settings.embed)
    if session.json:
        session.document(render.model_list(found))
        return 0
    rows = [(each.name, "yes" if each.ok else "no", clean_line(each.detail), clean_line(each.fix)) for each in found]
    table(session.out, ("model", "here", "what", "try"), rows, flexible=(2, 3))
    return 0


def _show(session: Session, status: ModelStatus) -> int:
    if session.json:
        session.document(render.model_status(status))
        return 0
    if session.quiet:
        return 0
    by_label = {each.info.label: each for each in status.models}
    for row in status.collections:
        session.out.line((clean_line(row.collection), "bold"), "  ", _collection(row, by_label))
    if not status.collections:
        session.out.line("answers: ", clean_line(status.answering or "nothing yet (kb add PATH)"))
    for each in status.models:
        if each.role == "building":
            session.out.line(("building  ", "yellow"), _progress(each))
        elif each.role == "kept":
            left = f", {count(each.pending, 'chunk')} not in it" if each.pending else ""
            session.out.line(("kept  ", "dim"), f"{clean_line(each.info.label)}, {size(each.bytes)}{left}",
                             ("  kb model back, or kb model drop", "dim"))  # fmt: skip
        if each.problem and each.role == "building":
            session.out.line(("stopped: ", "red"), clean_line(each.problem))
    if _building(status):
        who = f"process {status.builder}" if status.builder else "nobody embeds now: kb model run"
        session.out.line((f"  {who}", "dim"))
    return 0


def _collection(row: CollectionModel, models: dict[str, ModelState]) -> str:
    answering = clean_line(row.answering or "nothing")
    if row.building is None:
        return f"answered by {answering}" + (f", {count(row.pending, 'chunk')} wait: kb add" if row.pending else "")
    done = row.chunks - row.pending
    return f"answered by {answering}; {clean_line(row.building)} has {done:,} of {count(row.chunks, 'chunk')}"


def _progress(each: ModelState) -> str:
    parts = [clean_line(each.info.label), f"{each.chunks - each.pending:,} of {count(each.chunks, 'chunk')}"]
    left = render.left_s(each)
    if each.rate and left is not None:
        parts += [f"{each.rate:,.0f}/s", f"{span(1000 * left)} left"]
    return " · ".join(parts)


def _building(status: ModelStatus) -> bool:
    return any(each.role == "building" for each in status.models)


VERBS: dict[str, Callable[..., int]] = {
    "status": _status, "list": _list, "set": _set, "run": _run, "back": _back, "drop": _drop,
}  # fmt: skip
