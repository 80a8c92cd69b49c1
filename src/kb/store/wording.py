"""How terms become words of the index: the same for every store, so that they agree on what a query means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kb.analysis import stems
from kb.errors import QueryError
from kb.text import has_cjk, index_text
from kb.types import StoredChunk, StoredDocument, Term

# Weights of title, headings and body in bm25. Origin: common practice for documentation search (title above heading
# above text); to be replaced by a measured choice when the benchmark of search quality stands.
WEIGHTS = (3.0, 2.0, 1.0)
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
    return index_text("\n".join([*chunk.chunk.heading_path, *([chunk.chunk.symbol] if chunk.chunk.symbol else [])]))


def is_cjk(title: str, heading: str, body: str) -> bool:
    return any(map(has_cjk, (title, heading, body)))


def fts_phrases(terms: Sequence[Term]) -> list[str]:
    """What tier ``fts`` looks for: terms with at least one word in them, each once (by stem)."""
    phrases: dict[tuple[str, ...], str] = {}
    for term in terms:
        key = tuple(stems(term.text))
        if key:
            phrases.setdefault(key, index_text(term.text))
    return list(phrases.values())


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
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(title, heading, body)")
    places = [found.start() for found in re.finditer(re.escape(token), raw)] if token else []
    for place in places[:PLACES]:
        try:
            connection.execute("SELECT 1 FROM t WHERE t MATCH ?", (raw[: place + len(token)],)).fetchall()
        except apsw.SQLError as cause:
            if str(cause) == message:
                return place
    return places[0] if places else -1
