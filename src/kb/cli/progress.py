"""One line on a terminal that says how far an ``add`` is; redrawn ten times a second at most."""

from __future__ import annotations

import time

from kb.cli.terminal import Screen, clean_line, count, cut, span
from kb.types import Progress

INTERVAL_S = 0.1


class Bar:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._started = time.monotonic()
        self._first: tuple[float, int] | None = None  # when documents began, and how many were done then
        self._drawn = 0.0
        self._visible = False
        self._stopping = False
        self._last: Progress | None = None
        self._chunks = 0

    def show(self, event: Progress) -> None:
        self._last = event
        if event.event == "document":
            self._chunks += event.chunks
        now = time.monotonic()
        if self._first is None and event.event == "document":
            self._first = (now, event.done)
        if now - self._drawn >= INTERVAL_S or self._drawn == 0.0:
            self._draw(now)

    def stopping(self) -> None:
        """Say at once that the signal was heard."""
        self._stopping = True
        self._draw(time.monotonic())

    def close(self) -> None:
        """Wipe the line: the summary takes its place."""
        if self._visible:
            self._screen.write("\r\x1b[K")
            self._screen.flush()
            self._visible = False

    def _draw(self, now: float) -> None:
        self._drawn = now
        self._visible = True
        width = (self._screen.width or 80) - 1
        self._screen.write("\r" + self._screen.paint(cut(self._text(now), width), "dim") + "\x1b[K")
        self._screen.flush()

    def _text(self, now: float) -> str:
        if self._stopping:
            return "stopping… what is done stays (Ctrl-C again: stop now)"
        event = self._last
        if event is None or self._first is None:
            found = event.total if event else 0
            return f"looking through files… {found:,}" if found else "looking through files…"
        parts = [f"{event.done:,}/{event.total:,} files" if event.total else count(event.done, "file")]
        parts.append(count(self._chunks, "chunk"))
        began, before = self._first
        elapsed, done = now - began, event.done - before
        if elapsed > 0.5 and done > 0:
            rate = done / elapsed
            parts.append(f"{rate:,.0f} files/s" if rate >= 10 else f"{rate:.1f} files/s")
            if event.total > event.done:
                parts.append(f"{span(1000 * (event.total - event.done) / rate)} left")
        if event.path:
            parts.append(clean_line(event.path))
        return " · ".join(parts)
