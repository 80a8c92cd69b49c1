"""``kb eval``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from kb.cli.session import Session
from kb.errors import StoreNotFound


def evaluate(session: Session) -> int:
    from kb import evaluate

    value = session.value
    request = evaluate.Request(
        modes=value("modes") or evaluate.MODES,
        profile=value("profile"),
        limit=value("limit"),
        baseline=_path(value("baseline")),
        save_to=_path(value("save")),
    )
    with ExitStack() as stack:
        try:  # a golden file judges the store; a folder with a corpus of its own needs none
            base = stack.enter_context(session.open(read_only=True))
        except StoreNotFound:
            base = None
        source = Path(session.words[0]).expanduser()
        report = evaluate.run(source, request, base=base, settings=session.settings)
    if session.json:
        session.document(evaluate.to_dict(report))
    else:
        from kb.cli.terminal import clean

        session.out.write(clean(evaluate.as_text(report)))
    return 0 if report.ok else 1


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
