"""The copy of a text that the word index reads, where it is not the text itself.

FTS5's tokenizer knows words by the spaces and signs around them. What it cannot see is written out here: overlapping
pairs of characters for scripts without spaces (bigrams + BM25 find .96 where trigrams find .87 on xquad-zh; Thai is the
other way round, so it becomes trigrams), one spelling for letters that are written in several ways, and the parts of
compound names. A query passes through the same functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from kb.text import CJK_RANGES, nfc

GAP = "\ue000"  # a token that no text holds, between a text and what is appended to it: no phrase reaches across
LONGEST_NAME = 64  # letters: longer ones are no names but data
LONGEST_COMPOUND = 24
LONGEST_PIECE = 200  # between two spaces: what is longer is data too

# What unicode61 takes for signs within these blocks is left out: "ク・ラ" are two runs.
_PAIRED = (
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3021-\u3029\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_TRIPLED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17ff"  # Myanmar, Khmer
)
# One letter for those that are written in several ways, and nothing for marks that may be left out.
_SAME = {
    **dict.fromkeys("أإآٱ", "ا"), "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",  # Arabic, Persian
    **dict(zip("ёЁςάέήίόύώϊϋΐΰΆΈΉΊΌΎΏ", "еЕσαεηιουωιυιυΑΕΗΙΟΥΩ", strict=True)),
}  # fmt: skip
_DROPPED = (
    "\u0300-\u036f"  # marks that NFC left apart
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"  # Arabic vowels, and what draws words long
    "\u093c\u200d\ufe00-\ufe0f"  # the dot below of Devanagari, joiners, variants of signs
)

_HUMP = re.compile(r"[a-z0-9][A-Z][a-z]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_NAME = re.compile(r"[A-Za-z0-9]{2,}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+[0-9]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_COMPOUND = re.compile(
    r"(?<!\w)(?<!\w-)[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z][A-Za-z0-9]*){1,2}(?![\w-])"
    r"|(?<![\w/.:-])[A-Za-z][A-Za-z0-9]*/[A-Za-z][A-Za-z0-9]*(?![\w/:-]|\.\w)"
)


@cache
def _special() -> re.Pattern[str]:
    """Compiled when a text first needs it, as ASCII never does."""
    return re.compile(f"([{_PAIRED}]+)|([{_TRIPLED}]+)|([{''.join(_SAME)}{_DROPPED}])|([{CJK_RANGES}])")


def in_place(text: str) -> str:
    """The text as the word index reads it, without what is appended; the text itself where nothing is to be changed."""
    text = nfc(text)
    return text if text.isascii() else _special().sub(_written, text)


def with_places(text: str) -> tuple[str, Sequence[int]]:
    """What the index reads of an NFC text, all of it, and for each of its characters its place in the text."""
    groups = _groups(text)
    if text.isascii() and not groups:
        return text, range(len(text))
    copy: list[str] = []
    places: list[int] = []
    end = 0
    for match in () if text.isascii() else _special().finditer(text):
        start = match.start()
        written = _written(match)
        copy += text[end:start], written
        places += range(end, start)
        places += [start] * len(written) if match[3] else _run_places(start, match.end() - start, _width(match))
        end = match.end()
    copy.append(text[end:])
    places += range(end, len(text))
    for group in groups:
        copy.append(f" {GAP}")
        places += (0, 0)
        for start, stop, joined in group:
            kept = [at for at in range(start, stop) if not (joined and text[at] in "-/")]
            copy += " ", *(text[at] for at in kept)
            places += start, *kept
    return "".join(copy), places


def _written(match: re.Match[str]) -> str:
    """What is written for a special piece of text."""
    run = match.group()
    if match[3]:
        return _SAME.get(run, "")
    width = _width(match)
    if len(run) <= width:
        return f" {run} "
    return f" {' '.join([run[at : at + width] for at in range(len(run) - width + 1)])} "


def _run_places(start: int, length: int, width: int) -> list[int]:
    """Where the characters of a written run stand: a space before it, and after each of its pieces."""
    width = min(width, length)
    pieces = length - width + 1
    places = [0] * (pieces * (width + 1))
    for offset in range(width):  # by slices: a generator took most of the time that a snippet needs
        places[offset :: width + 1] = range(start + offset, start + offset + pieces)
    places[width :: width + 1] = range(start, start + pieces)
    return [start, *places]


def _width(match: re.Match[str]) -> int:
    return 2 if match[1] else 3 if match[2] else len(match.group())


def parts(text: str) -> str:
    """What is appended to a text: parts of names ("writeBoolean": write Boolean, "v1.2": 1.2) and joined compounds."""
    return " ".join(
        f"{GAP} " + " ".join(_joined(text[start:stop]) if joined else text[start:stop] for start, stop, joined in group)
        for group in _groups(text)
    )


def name_parts(word: str) -> list[str]:
    """The parts of one word and its joined form, for a query."""
    found = [_joined(word[a:b]) if joined else word[a:b] for group in _groups(word) for a, b, joined in group]
    return [part for part in dict.fromkeys(found) if len(part) > 1]


def _joined(compound: str) -> str:
    return compound.replace("-", "").replace("/", "")


def _groups(text: str) -> list[list[tuple[int, int, bool]]]:
    """The distinct names in a text: for each the places of its parts, or of the whole compound, which is to be joined."""
    found: dict[str, list[tuple[int, int, bool]]] = {}
    end = 0
    # Nearly all words of prose are told apart here, at the speed of C.
    for word in [word for word in text.split() if "-" in word or "/" in word or not word[1:].islower()]:
        start = text.find(word, end)
        end = start + len(word)
        if len(word) <= LONGEST_PIECE:
            for name, group in _of_word(word):
                found.setdefault(name, [(start + first, start + last, joined) for first, last, joined in group])
    return list(found.values())


def _of_word(word: str) -> Iterator[tuple[str, list[tuple[int, int, bool]]]]:
    """The names in what stands between two spaces."""
    for match in _NAME.finditer(word):
        name, start = match.group(), match.start()
        if name[0] in "vV" and name[1:].isdigit() and (number := _NUMBER.match(word, start + 1)):
            yield f"v{number.group()}", [(start + 1, number.end(), False)]
        elif len(name) <= LONGEST_NAME and not name[1:].islower() and _HUMP.search(name):
            yield name, [(start + part.start(), start + part.end(), False) for part in _PART.finditer(name)]
    if "-" in word or "/" in word:
        for match in _COMPOUND.finditer(word):
            if len(match.group()) <= LONGEST_COMPOUND:
                yield match.group(), [(match.start(), match.end(), True)]


def index_copy(text: str) -> str:
    """All that the index reads of a short text, such as a title."""
    more = parts(text)
    return f"{in_place(text)} {more}" if more else in_place(text)


def path_words(path: str) -> str:
    """The last two parts of a path, without the extension, as words."""
    shown = path.encode("utf-8", "replace").decode()
    last = shown.split("/")[-2:]
    last[-1] = re.sub(r"(?<=.)\.[A-Za-z0-9]{1,8}$", "", last[-1])
    return index_copy(" ".join(last))


def in_expression(raw: str) -> str:
    """An FTS5 expression with its runs written as phrases of pairs; within quotes they are part of a phrase anyway."""
    raw = nfc(raw)
    if raw.isascii():
        return raw
    pieces = re.split(r'("(?:[^"]|"")*")', raw)
    return "".join(in_place(piece) if at % 2 else _special().sub(_quoted, piece) for at, piece in enumerate(pieces))


def _quoted(match: re.Match[str]) -> str:
    written = _written(match)
    return written if match[3] else f' "{written.strip()}" '


def open_end(text: str) -> bool:
    """Whether a text ends in a run too short to be cut into pieces: its last token may go on."""
    runs = [] if text.isascii() else list(_special().finditer(text))
    last = runs[-1] if runs else None
    return bool(last and last.end() == len(text) and ((last[1] and len(last[1]) < 2) or (last[2] and len(last[2]) < 3)))


def separate(text: str) -> list[str]:
    """The pieces of a word that an "any" query looks for on their own: every pair of a run, and what stands between."""
    if text.isascii():
        return [text]
    text = nfc(text)
    pieces: list[str] = []
    end = 0
    for match in _special().finditer(text):
        if match[3]:
            continue
        pieces.append(text[end : match.start()])
        run, width = match.group(), _width(match)
        pieces += [run[at : at + width] for at in range(max(1, len(run) - width + 1))]
        end = match.end()
    pieces.append(text[end:])
    return [piece for piece in pieces if piece.strip()]
