"""What may reach a screen: stored text made harmless, widths of real characters, colours and links where wanted."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

# Controls that could move the cursor or write the clipboard, and bidi overrides that could make text read as another.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
_SPACE = re.compile("[\t\n\x0b\x0c\r\x1c-\x1f\x85\u2028\u2029 ]+")

_BREAKS = {0x0A: "␊", 0x09: "␉", 0x2028: " ", 0x2029: " "}

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "match": "1;33"}
Piece = tuple[str, str]  # text, style name ("" is none)
Glyph = tuple[str, int, bool]  # text, cells, marked


def clean(text: str) -> str:
    """Several lines of stored text: newlines and tabs stay, every other control becomes visible."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def clean_line(text: str) -> str:
    """A name on one line: newlines and tabs become visible too."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_visible, text).translate(_BREAKS)


def flow(text: str) -> str:
    """Running text on one line: any run of white space is one space."""
    return clean_line(_SPACE.sub(" ", text)).strip()


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


# ---------------------------------------------------------------- widths


def cells(text: str) -> int:
    """How many columns a text takes: wide characters two, marks none."""
    return len(text) if text.isascii() else sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int | None) -> str:
    """``text`` in at most ``width`` columns, with … where something is missing."""
    if width is None or cells(text) <= width:
        return text
    used, kept = 1, ""
    for char in text:
        used += _cells(char)
        if used > width:
            break
        kept += char
    return kept.rstrip() + "…" if width > 0 else ""


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - cells(text))


def glyphs(text: str, marks: Iterable[tuple[int, int]]) -> list[Glyph]:
    """A snippet, harmless and on one line, with the marked characters known; ``marks`` are offsets into ``text``."""
    marked = bytearray(len(text))
    for start, end in marks:
        for at in range(max(0, start), min(end, len(text))):
            marked[at] = 1
    out: list[Glyph] = []
    for char, mark in zip(text, marked, strict=True):
        if _SPACE.match(char):
            if out and out[-1][0] != " ":
                out.append((" ", 1, bool(mark)))
            continue
        out += [(each, _cells(each), bool(mark)) for each in clean_line(char)]
    while out and out[-1][0] == " ":
        out.pop()
    return out


def wrap(items: Sequence[Glyph], width: int | None) -> list[list[Glyph]]:
    """Lines of at most ``width`` columns, broken after spaces and beside wide characters, else anywhere."""
    if width is None:
        return [list(items)] if items else []
    lines: list[list[Glyph]] = []
    line: list[Glyph] = []
    used = breakable = 0
    for item in items:
        if line and (line[-1][0] == " " or line[-1][1] == 2 or item[1] == 2):
            breakable = len(line)
        line.append(item)
        used += item[1]
        if used > width and item[0] != " " and len(line) > 1:
            at = breakable or len(line) - 1
            lines.append(line[:at])
            line, breakable = line[at:], 0
            used = sum(each[1] for each in line)
    return [*lines, line] if line else lines


# ---------------------------------------------------------------- a screen


class Screen:
    """One stream of output. Text given to it must be clean; ``paint`` and ``link`` add escapes where wanted."""

    def __init__(self, stream: IO[str], color: str | None = None, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self.tty = _isatty(stream)
        dumb = environ.get("TERM") == "dumb"
        plain = bool(environ.get("NO_COLOR")) or dumb
        self.color = color == "always" or (color != "never" and self.tty and not plain)
        self.links = self.tty and color != "never" and not plain
        self.width = _width(stream, environ) if self.tty else None

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.color and style and text else text

    def link(self, text: str, target: str | None) -> str:
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and target else text

    def paint_glyphs(self, line: Sequence[Glyph]) -> str:
        out, at = "", 0
        while at < len(line):
            end = at
            while end < len(line) and line[end][2] == line[at][2]:
                end += 1
            run = "".join(each[0] for each in line[at:end])
            out += self.paint(run, "match") if line[at][2] else run
            at = end
        return out.rstrip(" ")

    def line(self, *pieces: Piece | str) -> None:
        """One line of pieces, each with its style."""
        self.write("".join(self.paint(*piece) if isinstance(piece, tuple) else piece for piece in pieces) + "\n")

    def write(self, text: str) -> None:
        buffer = getattr(self._stream, "buffer", None)
        if buffer is None:
            self._stream.write(text)
            return
        buffer.write(text.encode(getattr(self._stream, "encoding", None) or "utf-8", "replace"))

    def raw(self, data: bytes) -> None:
        """Bytes as they are: JSON, which is always UTF-8, and the exact text of a passage."""
        buffer = getattr(self._stream, "buffer", None)
        if buffer is None:
            self._stream.write(data.decode("utf-8", "replace"))
            return
        buffer.write(data)

    def flush(self) -> None:
        self._stream.flush()


def _isatty(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _width(stream: IO[str], environ: Mapping[str, str]) -> int:
    if environ.get("COLUMNS", "").isdigit() and int(environ["COLUMNS"]) > 0:
        return max(20, int(environ["COLUMNS"]))
    try:
        return max(20, os.get_terminal_size(stream.fileno()).columns or 80)
    except (OSError, ValueError):
        return 80


def table(screen: Screen, head: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: Sequence[int] = ()) -> None:
    """Columns as wide as they need to be; where the screen is too narrow, the ``flexible`` ones are cut, in this order.

    Without a screen to fit, fields are parted by tabs and the head is left out: for cut, awk and sort.
    """
    if screen.width is None:
        for row in rows:
            screen.write("\t".join(row) + "\n")
        return
    widths = [max(cells(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for at in flexible:
        spare = screen.width - sum(widths) - 2 * (len(widths) - 1)
        widths[at] = max(min(10, widths[at]), widths[at] + min(0, spare))
    for number, row in enumerate((head, *rows)):
        fields = [pad(cut(text, width), width) for text, width in zip(row, widths, strict=True)]
        screen.line(("  ".join(fields).rstrip(), "dim" if number == 0 else ""))


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return ""


def span(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
