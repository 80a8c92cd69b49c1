"""A decoded text with its lines and the way back to the bytes of its file."""

from __future__ import annotations

import re
from itertools import accumulate

from kb.text import cjk_char

_LINE_BREAK = re.compile("\r\n|\n|\r")  # as editors count; form feeds and U+2028 do not end a line
_BLANKS = b" \t\r\n\f\v"
_MARKS = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Source:
    """``starts`` holds where each line begins, and the end; ``mass`` the quarter tokens before each line."""

    __slots__ = ("bom", "encoding", "errors", "mass", "starts", "text", "_ascii", "_cjk")

    def __init__(self, text: str, encoding: str = "utf-8", bom: int = 0, errors: str = "strict") -> None:
        self.text = text
        self.encoding = encoding
        self.bom = bom
        self.errors = errors
        self._ascii = text.isascii()
        self._cjk = not self._ascii and cjk_char().search(text) is not None
        breaks = _LINE_BREAK if "\r" in text else re.compile("\n")
        self.starts = [0, *(found.end() for found in breaks.finditer(text))]
        if self.starts[-1] != len(text):
            self.starts.append(len(text))
        weights = (self.weigh(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False))
        self.mass = list(accumulate(weights, initial=0))

    @property
    def lines(self) -> int:
        return len(self.starts) - 1

    def line(self, number: int) -> str:
        return self.text[self.starts[number] : self.starts[number + 1]]

    def line_end(self, number: int) -> int:
        """Where the line ends, without its line break."""
        end = self.starts[number + 1]
        start = self.starts[number]
        if end > start and self.text[end - 1] == "\n":
            end -= 1
            return end - 1 if end > start and self.text[end - 1] == "\r" else end
        return end - 1 if end > start and self.text[end - 1] == "\r" else end

    def blank(self, number: int) -> bool:
        line = self.text[self.starts[number] : self.starts[number + 1]]
        return not line or line.isspace()

    def indent(self, number: int) -> int:
        start, end = self.starts[number], self.starts[number + 1]
        at = start
        while at < end and self.text[at] in " \t":
            at += 1
        return at - start

    def weigh(self, start: int, end: int) -> int:
        """In quarter tokens: a CJK or punctuation character is 4, a blank 0, any other 1."""
        text = self.text[start:end]
        if text.isascii():
            dense = text.encode("ascii").translate(None, _BLANKS)
            return 4 * len(dense) - 3 * len(dense.translate(None, _MARKS))
        dense = text.encode("ascii", "ignore").translate(None, _BLANKS)
        mass = 4 * len(dense) - 3 * len(dense.translate(None, _MARKS)) + len(text) - len(text.encode("ascii", "ignore"))
        return mass + 3 * len(cjk_char().findall(text)) if self._cjk else mass

    def clean(self, text: str) -> str:
        """Undecodable bytes as U+FFFD: the one change ever made to the text, and only where it was no text."""
        return _SURROGATE.sub("\ufffd", text) if self.errors != "strict" else text


class Offsets:
    """Character to byte offsets, asked for in ascending order so that every character is encoded once."""

    __slots__ = ("_at", "_byte", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0
        self._byte = source.bom

    def at(self, char: int) -> int:
        source = self._source
        if source._ascii and source.encoding[:6] not in ("utf-16", "utf-32"):
            return source.bom + char
        self._byte += len(source.text[self._at : char].encode(source.encoding, source.errors))
        self._at = char
        return self._byte
