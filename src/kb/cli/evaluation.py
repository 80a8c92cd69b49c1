"""``kb eval``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kb.cli.session import Session
from kb.errors import StoreNotFound, UsageError

if TYPE_CHECKING:
    from kb.evaluate import EvalReport, Request


def evaluate(session: Session) -> int:
    from kb import evaluate

    request = _request(session)
    with ExitStack() as stack:
        try:  # a golden file judges the store; a folder with a corpus of its own needs none
            base = stack.enter_context(session.open(read_only=True))
        except StoreNotFound:
            base = None
        source = Path(session.words[0]).expanduser()
        report = evaluate.run(source, request, base=base, settings=session.settings)
    picture = _path(session.value("plot"))
    if picture is not None:
        from kb.evaluate import plot

        plot.write(report, picture)
    _show(session, report)
    return 0 if report.ok else 1


def _request(session: Session) -> Request:
    from kb import evaluate

    value = session.value
    return evaluate.Request(
        modes=value("modes") or evaluate.MODES,
        profile=value("profile"),
        profiles=value("profiles") or (),
        budgets=_budgets(value("budgets")),
        limit=value("limit"),
        foreign=_path(value("foreign")),
        fail_under=evaluate.parse_gates(value("fail_under") or ()),
        baseline=_path(value("baseline")),
        save_to=_path(value("save")),
    )


def _budgets(texts: tuple[str, ...]) -> tuple[int, ...]:
    from kb import evaluate

    if texts in ((), ("none",)):
        return () if texts else evaluate.BUDGETS
    try:
        budgets = tuple(dict.fromkeys(int(text) for text in texts))
    except ValueError:
        budgets = (0,)
    if not all(0 < tokens <= 10_000_000 for tokens in budgets):
        raise UsageError(f"budgets are numbers of tokens, not {','.join(texts)}", fix="--budgets 500,2000, or none")
    return budgets


def _show(session: Session, report: EvalReport) -> None:
    from kb import evaluate

    if session.json:
        session.document(evaluate.to_dict(report))
    else:
        from kb.cli.terminal import clean

        session.out.write(clean(evaluate.as_text(report)))


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
