"""What every verb is given: its values, the screens, the settings, and how to open the store."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kb.cli.parse import Invocation
from kb.cli.terminal import Screen, clean, clean_line
from kb.errors import KBError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kb.app import KB
    from kb.config import Settings
    from kb.types import Filters


class Session:
    def __init__(self, command: Invocation | None = None, *, json: bool = False) -> None:
        self.command = command or Invocation(None)
        values = self.command.values
        self.json = bool(values.get("json", json))
        self.quiet = bool(values.get("quiet"))
        self.out = Screen(sys.stdout or _nowhere(), values.get("color"))
        self.err = Screen(sys.stderr or _nowhere(), values.get("color"))
        self._settings: Settings | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return self.command.words

    def value(self, name: str) -> Any:
        return self.command.values[name]

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            from kb import config

            file = self.value("config")
            self._settings = config.load(Path(file).expanduser() if file else None)
        return self._settings

    def open(self, *, create: bool = False, read_only: bool = False) -> KB:
        from kb import app

        return app.open(self.value("store"), settings=self.settings, create=create, read_only=read_only)

    def filters(self) -> Filters:
        from kb.types import Filters

        value = self.value
        return Filters(
            tags=value("tags"),
            tags_any=value("tags_any"),
            types=value("type"),
            kind=value("kind"),
            lang=value("lang"),
            path=value("path"),
            collection=value("collection"),
            repo=value("repo"),
            version=value("version"),
            since=value("since"),
            before=value("before"),
            trust_min=value("trust_min"),
        )

    # ---------------------------------------------------------------- output

    def document(self, document: Mapping[str, Any]) -> None:
        """The one JSON document of this command."""
        from kb.render import to_json

        self.out.raw(to_json(document))

    def event(self, document: Mapping[str, Any]) -> None:
        """One JSON line on stderr."""
        from kb.render import to_json

        self.err.raw(to_json(document))
        self.err.flush()

    def warn(self, warnings: Iterable[str]) -> None:
        """On stderr; with --json they are in the document."""
        if self.json:
            return
        self.out.flush()
        for warning in warnings:
            self.err.line(("warning: ", "yellow"), clean_line(warning))
        self.err.flush()

    def note(self, *pieces: tuple[str, str] | str) -> None:
        """Something that is no result: after the results on a terminal, else on stderr; --quiet and --json drop it."""
        if self.quiet or self.json:
            return
        if self.out.tty:
            self.out.line(*pieces)
            return
        self.out.flush()
        self.err.line(*pieces)
        self.err.flush()

    def error(self, failure: KBError) -> None:
        if self.json:
            from kb import render

            self.event(render.error(failure))
            return
        self.err.line(("kb: ", "red"), clean(str(failure)))
        if failure.fix:
            self.err.line(("  try: ", "dim"), clean(failure.fix))
        self.err.flush()

    def flush(self) -> None:
        self.out.flush()
        self.err.flush()


def _nowhere() -> IO[str]:
    """For a stream that was closed before the start (kb list >&-)."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def read_stdin() -> str:
    """All of stdin as text; bytes that are no UTF-8 are replaced."""
    buffer = getattr(sys.stdin, "buffer", None)
    return buffer.read().decode("utf-8-sig", "replace") if buffer else sys.stdin.read()
