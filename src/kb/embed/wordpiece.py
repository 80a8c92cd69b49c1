"""Text to vocabulary rows, after BERT's uncased WordPiece.

Different from BERT where that helps a bag of words: punctuation is no token, and `writeBoolean` falls into its parts
before it falls into pieces. Work per word is done once: callers cache what `pieces` returns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

MAX_TOKENS = 512  # a text's first so many; also what keeps 32-bit sums exact, see static.py
LONGEST_WORD = 100  # BERT's own limit: beyond it are hashes and base64

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")


def words(text: str) -> list[str]:
    """The words of a text, in order, case kept."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _WORD.findall(unicodedata.normalize("NFC", text))


def pieces(word: str, find: Callable[[str], int]) -> tuple[int, ...]:
    """Rows of the pieces of one word; empty where the vocabulary has nothing for it.

    `find` gives a token's row, or -1.
    """
    if len(word) > LONGEST_WORD:
        return ()
    plain = _without_accents(word)
    lower = plain.lower()
    row = find(lower)
    if row >= 0:
        return (row,)
    if lower == plain or plain.isupper():
        return _longest_first(lower, find)
    rows: list[int] = []
    for part in _CAMEL.findall(plain):
        rows.extend(_longest_first(part.lower(), find))
    return tuple(rows)


def _longest_first(word: str, find: Callable[[str], int]) -> tuple[int, ...]:
    """Greedy WordPiece: the longest known piece first; nothing at all if a rest is left over."""
    rows: list[int] = []
    start, mark = 0, ""
    while start < len(word):
        for stop in range(len(word), start, -1):
            row = find(mark + word[start:stop])
            if row >= 0:
                break
        else:
            return ()
        rows.append(row)
        start, mark = stop, "##"
    return tuple(rows)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
