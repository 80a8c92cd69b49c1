"""The words of a text as the full-text index sees them, with their places in the original.

This is FTS5's own tokenizer, so that snippets, highlights and the in-memory store agree with the index to the letter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Set
from typing import TYPE_CHECKING

from kb.text import nfc
from kb.wordtext import GAP, in_place, with_places

if TYPE_CHECKING:
    from apsw import FTS5Tokenizer

# As in the schema of every store. Without the marks (Mn, Mc) every vowel sign would cut a Hindi or Thai word in two.
TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
Token = tuple[int, int, str]  # start, end (character offsets into the original), stem

_PIECE = re.compile(r"\S+")
_local = threading.local()  # an apsw connection belongs to one thread at a time


def tokens(text: str, wanted: Set[str] | None = None) -> list[Token]:
    """Every word of a text: where it starts and ends in ``text``, and the stem under which the index holds it.

    Only those with a wanted stem, where some are told: a text has many words, of which a snippet marks a few.
    """
    normal = nfc(text)
    if len(normal) != len(text):  # offsets differ: go piece by piece, and give a changed piece its whole span
        found = [token for piece in _PIECE.finditer(text) for token in _piece(piece.group(), piece.start())]
        return [token for token in found if wanted is None or token[2] in wanted]
    copy, places = with_places(normal)
    if copy is normal and copy.isascii():
        every = _tokenizer()(copy.encode(), _DOCUMENT, None)
        return [(start, end, stem) for start, end, stem in every if wanted is None or stem in wanted]
    return [(places[start], places[end - 1] + 1, stem) for start, end, stem in _characters(copy, wanted)]


def stems(text: str) -> list[str]:
    """The stems of a text in order, as the index holds them; those of its names' parts come last."""
    return [stem for _, _, stem in tokens(text)]


def phrase_stems(text: str) -> list[str]:
    """The stems of a text that is looked for as a phrase: nothing is appended to it."""
    return read(in_place(text))


def read(copy: str) -> list[str]:
    """The stems that FTS5 takes from a copy made for the index."""
    return [stem for _, _, stem in _tokenizer()(copy.encode(), _DOCUMENT, None)]


def _piece(piece: str, offset: int) -> list[Token]:
    if len(nfc(piece)) == len(piece):
        return [(start + offset, end + offset, stem) for start, end, stem in tokens(piece)]
    copy, _ = with_places(nfc(piece))
    return [(offset, offset + len(piece), stem) for _, _, stem in _characters(copy)]


def _characters(text: str, wanted: Set[str] | None = None) -> list[Token]:
    """The tokens of a copy, without its gaps, with character offsets where FTS5 counts bytes."""
    data = text.encode()
    found: list[Token] = []
    seen = position = 0
    for start, end, stem in _tokenizer()(data, _DOCUMENT, None):
        if stem == GAP or (wanted is not None and stem not in wanted):
            continue
        first = position + len(data[seen:start].decode())
        position = first + len(data[start:end].decode())
        seen = end
        found.append((first, position, stem))
    return found


_DOCUMENT = 4  # apsw.FTS5_TOKENIZE_DOCUMENT; a number so that importing this module does not import apsw


def _tokenizer() -> FTS5Tokenizer:
    found: FTS5Tokenizer | None = getattr(_local, "tokenizer", None)
    if found is None:
        import apsw

        _local.connection = apsw.Connection(":memory:")
        found = _local.connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))
        _local.tokenizer = found
    return found
