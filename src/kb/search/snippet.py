"""Snippets: the piece of a chunk's original text that shows the match, and where to mark it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kb.analysis import tokens
from kb.search.query import ParsedQuery
from kb.search.stopwords import STOPWORDS
from kb.search.widen import stemmed
from kb.text import cjk_run, has_cjk
from kb.types import Value

LEAD = 40  # characters of context before the first match
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?s:.*?)\n---[ \t]*(?:\r?\n\s*|$)")
Mark = tuple[int, int, str]  # start, end, what matched


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Snippet(Value):
    text: str
    highlights: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Marker(Value):
    """What to mark for one query, prepared once for all its hits."""

    stems: frozenset[str]
    substrings: tuple[str, ...]
    languages: tuple[str, ...] = ()  # other than English, of which the store holds stems

    @classmethod
    def of(
        cls, query: ParsedQuery, *, substrings: bool, also: Sequence[str] = (), languages: tuple[str, ...] = ()
    ) -> Marker:
        """``substrings`` marks words inside words too, as the last tier finds them; ``also`` was looked for besides."""
        words = [*(term.text for term in query.terms), *also]
        told = [word for word in words if word.lower() not in STOPWORDS] or words
        stems = frozenset(stem for word in told for _, _, stem in tokens(word))
        runs = [run for word in words if has_cjk(word) for run in cjk_run().findall(word)]
        plain = [word for word in told if len(word) >= 3 and not has_cjk(word)] if substrings else []
        foreign = frozenset(term.text for term in stemmed(query.terms, languages))
        return cls(stems | foreign, tuple(dict.fromkeys(runs + plain)), languages)

    def marks(self, text: str) -> list[Mark]:
        found = tokens(text, self.stems)
        if self.languages:
            from kb.languages import language, placed

            tongue = language(text)
            found += [mark for mark in (placed(text, tongue) if tongue else ()) if mark[2] in self.stems]
        for piece in self.substrings:
            places = _places(piece, text)
            if not places and len(piece) > 2 and has_cjk(piece):  # the run is not here as a whole: mark its pairs
                pairs = dict.fromkeys(piece[i : i + 2] for i in range(len(piece) - 1))
                found += [mark for pair in pairs for mark in _places(pair, text)]
            found += places
        return sorted(found)


def snippet(text: str, marker: Marker, *, chars: int) -> Snippet:
    """At most ``chars`` characters of ``text``, around the window that holds the most different matches.

    Front matter says little to a reader: it is shown only where nothing else matches.
    """
    marks = marker.marks(text)
    body = _body(text)
    shown = [mark for mark in marks if mark[0] >= body]
    if not shown and marks:
        body, shown = 0, marks
    start, end = _window(text, shown, chars, body)
    inside = [(max(a, start) - start, min(b, end) - start) for a, b, _ in marks if a < end and b > start]
    return Snippet(text[start:end], tuple(_merge(inside)))


def _body(text: str) -> int:
    """Where the text begins after its front matter."""
    found = _FRONT_MATTER.match(text)
    return found.end() if found and found.end() < len(text) else 0


def _window(text: str, marks: Sequence[Mark], chars: int, first: int) -> tuple[int, int]:
    start = first
    if len(text) - first > chars and marks:
        best = max(range(len(marks)), key=lambda index: (_different(marks, index, chars - LEAD), -index))
        start = max(first, min(marks[best][0] - LEAD, len(text) - chars))
        if start > first:
            start = _word_start(text, start, marks[best][0])
    end = min(len(text), start + chars)
    if end < len(text):
        end = _word_end(text, start, end)
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _different(marks: Sequence[Mark], first: int, width: int) -> int:
    limit = marks[first][0] + width
    seen = set()
    for start, end, what in marks[first:]:
        if start >= limit:
            break
        if end <= limit:
            seen.add(what)
    return len(seen)


def _word_start(text: str, start: int, match: int) -> int:
    """The first beginning of a word at or after ``start``, never past the match."""
    if text[start - 1].isspace():
        return start
    space = re.compile(r"\s").search(text, start, match)
    return space.end() if space else start


def _word_end(text: str, start: int, end: int) -> int:
    """Back to the last end of a word, unless that would cost half of the snippet, as in text without spaces."""
    if text[end].isspace():
        return end
    space = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
    return space if space > start + (end - start) // 2 else end


def _places(piece: str, text: str) -> list[Mark]:
    return [(found.start(), found.end(), piece) for found in re.finditer(re.escape(piece), text, re.IGNORECASE)]


def _merge(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
