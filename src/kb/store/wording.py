"""How terms become words of the index: the same for every store, so that they agree on what a query means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from kb.analysis import phrase_stems
from kb.errors import QueryError
from kb.languages import language, marked
from kb.text import has_cjk, index_text
from kb.types import LexicalQuery, StoredChunk, StoredDocument, Term
from kb.wordtext import in_place, open_end, parts, path_words, separate

# Weights of the fields of the word index in bm25. Origin of the first three: common practice for documentation search
# (title above heading above text), measured. Parts of names .2: 1 costs .006 nDCG@10 on k8s-anchors-en, .05 and 1 cost
# .002 on cosqa. See docs/decisions/006-words.md.
FIELDS = ("title", "heading", "path", "body", "parts", "stems")
WEIGHTS = (4.0, 3.0, 2.0, 1.0, 0.2, 1.0)
PLAIN_WEIGHTS = (3.0, 2.0, 1.0)  # of title, headings and body among trigrams and substrings
AS_WRITTEN = 4  # fields that hold words as somebody wrote them
SHORT = 3  # a trigram index cannot see words of fewer characters
PARTIAL_SCALE = 0.9  # a chunk that holds only parts of a run ranks below any that holds the whole of it
PARTIAL_LEAST = 0.5  # share of the distinct character pairs of a run that a partial match must hold
PLACES = 100  # at most so many places of a token are tried, to see which one spoils an expression
PARTIAL_POOL = 500  # chunks looked at for partial matches: the best by bm25 over the trigrams of the run
_CLOSED = re.compile(r'(?:[^"]|"(?:[^"]|"")*+")*+')  # all before a string that is not closed; "" stands for a quote


def title_index(document: StoredDocument) -> str:
    return index_text(document.title)


def heading_index(chunk: StoredChunk) -> str:
    """Headings and symbol as one field of the index, one per line."""
    return index_text(heading_text(chunk))


def heading_text(chunk: StoredChunk) -> str:
    return "\n".join([*chunk.chunk.heading_path, *([chunk.chunk.symbol] if chunk.chunk.symbol else [])])


class ChunkWords(NamedTuple):
    """What the word index reads of a chunk beyond its plain copies: None where there is nothing else to read."""

    heading: str | None
    body: str | None
    parts: str | None
    stems: str | None
    lang: str | None  # of the stems


def chunk_words(stored: StoredChunk, lang: str | None) -> ChunkWords:
    """``lang`` is that of the document, where it was told."""
    chunk = stored.chunk
    plain, heading = heading_index(stored), in_place(heading_text(stored))
    body = None if chunk.text.isascii() else in_place(chunk.text)
    said = "\n".join([*chunk.heading_path, chunk.text])
    tongue = None if chunk.kind == "code" else language(said, lang or chunk.lang)
    stemmed = " ".join(marked(said, tongue)) if tongue else None
    return ChunkWords(
        None if heading == plain else heading,
        None if body is None or body == index_text(chunk.text) else body,
        parts(f"{heading_text(stored)}\n{chunk.text}") or None,
        stemmed or None,
        tongue if stemmed else None,
    )


def title_words(document: StoredDocument) -> str | None:
    """The copy of a title for the word index, where that is not its plain copy."""
    words = in_place(document.title)
    return None if words == title_index(document) else words


def word_fields(document: StoredDocument, stored: StoredChunk) -> tuple[str, ...]:
    """What the word index reads of a chunk, field by field."""
    words = chunk_words(stored, document.lang)
    return (
        ""
        if _is_first_line(title_index(document), stored.chunk.text)
        else title_words(document) or title_index(document),
        words.heading or heading_index(stored),
        path_words(document.path),
        index_text(stored.chunk.text) if words.body is None else words.body,
        words.parts or "",
        words.stems or "",
    )


def _is_first_line(title: str, text: str) -> bool:
    """A title that is only the first line of a text counts once, not twice: code, and notes without a heading."""
    return text.startswith(title) and text[len(title) : len(title) + 1] in ("", "\n", "\r")


def is_cjk(title: str, heading: str, body: str) -> bool:
    return any(map(has_cjk, (title, heading, body)))


class Phrase(NamedTuple):
    """Words in a row that the word index looks for; ``open``: the last one may go on ("字" also finds "字典")."""

    text: str
    stems: tuple[str, ...]
    open: bool = False


def fts_phrases(query: LexicalQuery) -> list[Phrase]:
    """What tier ``fts`` looks for: terms with at least one word in them, each once (by stem) unless repeats count.

    In an "any" query the pieces of a run without spaces are terms of their own: half of a question's run may match.
    """
    found: list[Phrase] = []
    for term in query.terms:
        for text in [term.text] if term.phrase or query.join == "all" else separate(term.text):
            if key := tuple(phrase_stems(text)):
                found.append(Phrase(in_place(text).strip(), key, open_end(text)))
    if query.repeats and query.join == "any":
        return found
    return list({phrase[1:]: phrase for phrase in reversed(found)}.values())[::-1]


def words(terms: Sequence[Term]) -> list[str]:
    """What tiers ``trigram`` and ``like`` look for: runs without spaces, and phrases as they are, each once.

    Signs alone are nothing to look for.
    """
    found: dict[str, str] = {}
    for term in terms:
        text = index_text(term.text)
        for word in [text.strip()] if term.phrase else text.split():
            if any(map(str.isalnum, word)) or has_cjk(word):
                found.setdefault(word.lower(), word)
    return list(found.values())


def fold(text: str) -> str:
    return text.lower()


def count(word: str, text: str) -> int:
    return fold(text).count(fold(word))


def substring_score(hits: Sequence[float], length: int) -> float:
    """Tier ``trigram`` with nothing but short words: how often each is found, weighted, against the length."""
    return sum(found / (found + 1.0 + length / 1000.0) for found in hits)


def share(word: str, text: str) -> float:
    """The share of a run's distinct character pairs that a text holds."""
    wanted, folded = pairs(word), fold(text)
    return sum(pair in folded for pair in wanted) / len(wanted)


def pairs(word: str) -> set[str]:
    """The distinct character pairs of a run."""
    folded = fold(word)
    return {folded[at : at + 2] for at in range(len(folded) - 1)}


def trigrams(word: str) -> list[str]:
    folded = fold(word)
    return list(dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2)))


def bad_expression(raw: str, message: str) -> QueryError:
    near = re.search(r'(?:near|got) "(.*)"|no such column: (.*)', message, re.DOTALL)
    position = _first_wrong(raw, near[1] or near[2] or "", message) if near else -1
    if near and near[1] == "":  # FTS5's way of saying that the expression ended too early
        position, message = len(raw), "it ends too early"
    elif message == "unterminated string":
        position = len(raw) - len(_CLOSED.sub("", raw, count=1))
    details: dict[str, Any] = {"message": message}
    if position >= 0:
        details["position"] = position
    where = f" at character {position + 1}" if position >= 0 else ""
    return QueryError(
        f"not an FTS5 expression{where}: {message}", fix="search without the single quotes", details=details
    )


def _first_wrong(raw: str, token: str, message: str) -> int:
    """Where the token stands that FTS5 stumbled over: it names it only, and it may stand elsewhere by right."""
    import apsw

    connection = apsw.Connection(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE t USING fts5({', '.join(FIELDS)})")
    places = [found.start() for found in re.finditer(re.escape(token), raw)] if token else []
    for place in places[:PLACES]:
        try:
            connection.execute("SELECT 1 FROM t WHERE t MATCH ?", (raw[: place + len(token)],)).fetchall()
        except apsw.SQLError as cause:
            if str(cause) == message:
                return place
    return places[0] if places else -1
