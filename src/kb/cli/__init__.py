"""The command line: one verb, one function; what a verb does not use is not imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and raises nothing. Ctrl-C is heard from here on."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        from kb.cli.run import run

        return run(argv)
    except KeyboardInterrupt:
        verb = next((word for word in argv if not word.startswith("-")), "")
        return 1 if verb == "add" else 130  # what was added stays: done in part
