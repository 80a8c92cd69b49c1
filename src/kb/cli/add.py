"""``kb add``: files, folders, stdin and records."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kb import render
from kb.cli.progress import Bar
from kb.cli.session import Session
from kb.cli.terminal import clean_line, count, span
from kb.types import AddReport, Issue, Progress


def add(session: Session) -> int:
    bar = Bar(session.err) if session.err.tty and not session.quiet and not session.json else None
    with stop_on_signal(bar) as stop:
        try:
            done = _add(session, _listener(session, bar), stop)
        finally:
            if bar:
                bar.close()
    report(session, done)
    return 0 if done.ok else 1


def _add(session: Session, on_event: Callable[[Progress], None] | None, stop: threading.Event) -> AddReport:
    from kb.cli import records

    value = session.value
    paths = [word for word in session.words if word != "-"]
    bad: list[Issue] = []
    report = AddReport()
    with session.open(create=True) as base:
        if paths:
            report = base.add(
                *paths,
                collection=value("collection"),
                tags=value("tags"),
                type=value("type"),
                repo=value("repo"),
                version=value("version"),
                trust=value("trust"),
                prune=value("prune"),
                verify=value("verify"),
                on_event=on_event,
                stop=stop,
            )
        given = records.given(session, bad)
        if given is not None and not report.interrupted:
            report = merge(report, base.put(_until(given, stop), on_event=on_event))
    return replace(report, failed=(*report.failed, *bad), interrupted=report.interrupted or stop.is_set())


def _until(documents: Iterator[Any], stop: threading.Event) -> Iterator[Any]:
    for document in documents:
        if stop.is_set():
            return
        yield document


def merge(one: AddReport, two: AddReport) -> AddReport:
    return AddReport(
        added=one.added + two.added,
        updated=one.updated + two.updated,
        unchanged=one.unchanged + two.unchanged,
        removed=one.removed + two.removed,
        chunks=one.chunks + two.chunks,
        skipped=one.skipped + two.skipped,
        failed=one.failed + two.failed,
        warnings=one.warnings + two.warnings,
        interrupted=one.interrupted or two.interrupted,
        took_ms=one.took_ms + two.took_ms,
    )


def _listener(session: Session, bar: Bar | None) -> Callable[[Progress], None] | None:
    if session.json and not session.quiet:
        return lambda event: session.event(render.progress(event))
    return bar.show if bar else None


@contextmanager
def stop_on_signal(bar: Bar | None) -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a stop; a second one does not wait for it."""
    stop = threading.Event()

    def ask(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        if bar:
            bar.stopping()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---------------------------------------------------------------- the summary


def report(session: Session, done: AddReport) -> None:
    if session.json:
        session.document(render.add_report(done))
        return
    session.warn(done.warnings)
    for issue in done.failed:
        session.err.line(("failed: ", "red"), clean_line(issue.path), ("  " + clean_line(issue.reason), "dim"))
    session.err.flush()
    if session.quiet:
        return
    out = session.out
    did = ("added", "updated", "removed", "unchanged")
    counts = [f"{getattr(done, name):,} {name}" for name in did if getattr(done, name)]
    counts += [f"{len(done.skipped):,} skipped"] if done.skipped else []
    counts += [f"{len(done.failed):,} failed"] if done.failed else []
    style = "green" if done.ok else "yellow"
    chunks = f" · {count(done.chunks, 'chunk')}" if done.chunks else ""
    out.line((", ".join(counts) or "nothing to do", style), (f"{chunks} · {span(done.took_ms)}", "dim"))
    for reason, names in grouped(done.skipped):
        shown = ", ".join(clean_line(name) for name in names[:3]) + (", …" if len(names) > 3 else "")
        out.line(("  skipped ", "dim"), f"{len(names):,} × {clean_line(reason)}", (f"  {shown}", "dim"))
    if done.interrupted:
        out.line(("Stopped.", "yellow"), "  What was added stays; the same command goes on from here.")


def grouped(issues: tuple[Issue, ...]) -> list[tuple[str, list[str]]]:
    """Reasons with the names they concern, the commonest first; a reason that names its file is grouped by its code."""
    reasons: dict[str, set[str]] = {}
    names: dict[str, list[str]] = {}
    for issue in issues:
        reasons.setdefault(issue.code, set()).add(issue.reason)
        names.setdefault(issue.code, []).append(issue.path)
    groups = []
    for code, found in names.items():
        said = reasons[code]
        groups.append((next(iter(said)) if len(said) == 1 else code.replace("_", " "), sorted(found)))
    return sorted(groups, key=lambda group: (-len(group[1]), group[0]))
