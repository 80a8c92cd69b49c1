"""``kb mark`` and ``kb tune``."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb import render
from kb.cli import settings
from kb.cli.session import Session
from kb.cli.terminal import clean, clean_line, count, cut, table
from kb.config import Profile
from kb.errors import UsageError

if TYPE_CHECKING:
    from kb.tune import TuneReport

EVERY_S = 0.2  # how often progress is drawn
USAGE = 'kb mark PATH "install git"'


# ---------------------------------------------------------------- kb mark


def mark(session: Session) -> int:
    value, words = session.value, session.words
    if sum((value("not"), value("list"), value("remove"))) > 1:
        raise UsageError("--not, --list and --remove are three different things", fix=USAGE)
    if value("list"):
        if words:
            raise UsageError("--list needs no words", fix="kb mark --list")
        return _marks(session)
    if len(words) < 2:
        raise UsageError("kb mark needs a PATH and a QUERY", fix=USAGE)
    path, query = words[0], " ".join(words[1:])
    with session.open() as base:
        if value("remove"):
            base.mark.remove(path, query)
            done = f"forgotten: {path} for {query}"
        else:
            made = base.mark(path, query, good=not value("not"), collection=value("collection"))
            done = f"marked: {made.place} {'answers' if made.grade else 'does not answer'} {made.query}"
        if session.json:
            session.document(render.marks(base.mark.list()))
    session.note((clean_line(done), "green"))
    return 0


def _marks(session: Session) -> int:
    with session.open(read_only=True) as base:
        found = base.mark.list()
    if session.json:
        session.document(render.marks(found))
        return 0
    rows = [(clean_line(each.query), f"{each.grade:g}", clean_line(each.place)) for each in found]
    if rows:
        table(session.out, ("question", "grade", "answer"), rows, flexible=(0, 2))
    session.note((count(len(rows), "mark"), "dim"))
    return 0


# ---------------------------------------------------------------- kb tune


def tune(session: Session) -> int:
    from kb import tune as tuning

    value = session.value
    golden = value("golden")
    request = tuning.Request(
        collection=value("collection"),
        limit=value("limit") or tuning.Request().limit,
        golden=Path(golden).expanduser() if golden else None,
        allow_slow=value("allow_slow"),
    )
    line = _Line(session)
    try:
        with session.open(read_only=True) as base:
            report = tuning.run(base, request, on_progress=line.show)
    finally:  # after Ctrl-C as well: nothing is written before the end, so there is nothing to take back
        line.close()
    applied = _apply(session, report) if value("apply") and report.proposal else None
    if session.json:
        session.document(tuning.to_dict(report, applied))
        return 0
    session.out.write(clean(tuning.as_text(report)))
    if applied:
        session.out.line(
            ("written to ", "green"), clean_line(applied["file"]), "; to undo it: ", clean_line(applied["undo"])
        )
    elif report.proposal:
        session.note(("to use it: ", "dim"), clean_line(_command(report)))
    session.warn((*report.warnings, *_overruled(report)))
    return 0


def _apply(session: Session, report: TuneReport) -> dict[str, Any]:
    """The proposed profile, and its collection or all searches pointed to it, in one step."""
    proposal = report.proposal
    assert proposal is not None
    file, key = settings.file_of(session), _key(report)
    before = settings.held(file, key)
    wanted: list[tuple[str, str | None]] = []
    if proposal.settings is not None:
        for each in fields(Profile):
            if each.name != "name":  # what an earlier proposal by this name said must not stay
                told = proposal.settings.get(each.name)
                text = str(told).lower() if isinstance(told, bool) else None if told is None else str(told)
                wanted.append((f"profiles.{proposal.profile}.{each.name}", text))
    settings.change(file, [*wanted, (key, proposal.profile)])
    undo = f"kb config unset {shlex.quote(key)}"
    if before is not None:
        undo = f"kb config set {shlex.quote(key)} {shlex.quote(str(before))}"
    return {"file": str(file), "key": key, "profile": proposal.profile, "undo": undo}


def _key(report: TuneReport) -> str:
    return f"collections.{report.collection}.profile" if report.collection else "search.profile"


def _command(report: TuneReport) -> str:
    where = f" --collection {shlex.quote(report.collection)}" if report.collection else ""
    return f"kb tune{where} --apply"


def _overruled(report: TuneReport) -> list[str]:
    named = report.proposal is not None and report.collection is None and os.environ.get("KB_SEARCH_PROFILE")
    return ["KB_SEARCH_PROFILE is set and overrules the settings file"] if named else []


class _Line:
    """How far it is, on a terminal."""

    def __init__(self, session: Session) -> None:
        self._screen = session.err
        self._shown = session.err.tty and not session.quiet and not session.json
        self._last = 0.0

    def show(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= EVERY_S:
            self._last = now
            text = cut(f"{clean_line(label)}: {done:,} of {count(total, 'question')}", (self._screen.width or 80) - 1)
            self._screen.write("\r" + self._screen.paint(text, "dim") + "\x1b[K")
            self._screen.flush()

    def close(self) -> None:
        if self._shown and self._last:
            self._screen.write("\r\x1b[K")
            self._screen.flush()
