"""``kb check``, ``repair`` and ``doctor``."""

from __future__ import annotations

from kb import render
from kb.cli.session import Session
from kb.cli.terminal import cells, clean_line, count, pad
from kb.errors import KBError, StoreNotFound
from kb.types import CheckReport

UNHEALTHY = 3


def check(session: Session) -> int:
    with session.open() as base:
        report = base.check()
    if session.json:
        session.document(render.check_report(report))
    else:
        _problems(session, report)
        if report.ok and not session.quiet:
            session.out.line(("healthy", "green"), (_checked(report), "dim"))
        elif not report.ok:
            fix = "kb repair" + ("" if any(each.repairable for each in report.problems) else ", which sets it aside")
            session.out.line((count(len(report.problems), "problem"), "red"), f"  try: {fix}")
    return 0 if report.ok else UNHEALTHY


def repair(session: Session) -> int:
    with session.open() as base:
        report = base.repair()
    if session.json:
        session.document(render.check_report(report))
    else:
        for done in report.repaired:
            session.out.line(("repaired ", "green"), clean_line(done))
        _problems(session, report)
        if report.ok and not session.quiet:
            state = "healthy again" if report.repaired else "healthy: nothing to repair"
            session.out.line((state, "green"), (_checked(report), "dim"))
    return 0 if report.ok else UNHEALTHY


def _problems(session: Session, report: CheckReport) -> None:
    for problem in report.problems:
        kind = "" if problem.repairable else "  (not derived: repair sets it aside)"
        session.out.line((f"{problem.code}  ", "red"), clean_line(problem.detail), (kind, "dim"))


def _checked(report: CheckReport) -> str:
    return "".join(f" · {number:,} {clean_line(name)}" for name, number in sorted(report.checked.items()))


def doctor(session: Session) -> int:
    from kb.doctor import examine

    try:
        with session.open(read_only=True) as base:
            checks = examine(base)
    except StoreNotFound:
        checks = examine(None)
    except KBError as problem:
        checks = examine(None, problem)
    broken = any(not each.ok and each.required for each in checks)
    if session.json:
        session.document(render.doctor(checks))
        return UNHEALTHY if broken else 0
    width = max(cells(each.name) for each in checks)
    for each in checks:
        sign, style = ("ok", "green") if each.ok else ("broken", "red") if each.required else ("missing", "yellow")
        session.out.line((f"{sign:<8}", style), pad(clean_line(each.name), width), "  ", clean_line(each.detail))
        if each.fix:
            session.out.line(" " * (10 + width), ("try: ", "dim"), clean_line(each.fix))
    return UNHEALTHY if broken else 0
