"""One command from its words to its exit code; what goes wrong becomes one message."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from kb.cli.parse import Invocation, parse, wants_json
from kb.cli.session import Session
from kb.errors import KBError


class Internal(KBError):
    """A defect of kb."""

    code = "internal"


class SystemRefused(KBError):
    """The operating system said no: rights, a full disk, a path that is gone."""

    code = "io"


REPORT = "run it again with KB_DEBUG=1 and report what it prints"


def run(argv: Sequence[str]) -> int:
    """Run one command; returns its exit code and raises nothing but KeyboardInterrupt."""
    session = Session(json=wants_json(argv))
    try:
        command = parse(argv)
        session = Session(command)
        code = _run(command, session)
        session.flush()
        return code
    except BrokenPipeError:
        return _closed()
    except Exception as failure:  # the last door: no traceback reaches a user
        return _failed(session, failure)


def _run(command: Invocation, session: Session) -> int:
    if command.help:
        from kb.cli.help import help_text

        session.out.write(help_text(command.verb, session.out.width))
        return 0
    if command.version is True:
        from kb.cli.help import version

        session.out.write(f"kb {version()}\n")
        return 0
    if command.verb is None:
        from kb.cli.help import start

        return start(session)
    return _function(command.verb.run)(session)


def _function(name: str) -> Callable[[Session], int]:
    import importlib

    module, _, function = name.partition(":")
    run: Callable[[Session], int] = getattr(importlib.import_module(f"kb.cli.{module}"), function)
    return run


def _failed(session: Session, failure: Exception) -> int:
    if not isinstance(failure, KBError):
        if os.environ.get("KB_DEBUG"):
            import traceback

            traceback.print_exception(failure, file=sys.stderr)
        failure = _as_error(failure)
    try:
        session.out.flush()
        session.error(failure)
    except (BrokenPipeError, ValueError):
        return _closed() or failure.exit_code
    return failure.exit_code


def _as_error(failure: Exception) -> KBError:
    """What no one foresaw, as one line; files that the system refuses are no defect of kb."""
    if isinstance(failure, OSError) and failure.strerror:
        named = f"{failure.strerror}: {failure.filename}" if failure.filename else failure.strerror
        return SystemRefused(named, fix="check the path and your rights to it")
    text = " ".join(str(failure).split())[:200]
    return Internal(f"{type(failure).__name__}: {text}".rstrip(": "), fix=REPORT)


def _closed() -> int:
    """Who read our output has gone (kb search | head): end quietly, and keep the interpreter from trying again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
