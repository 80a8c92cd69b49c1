"""Substrings: what is left where words and trigrams find nothing, and short words in scripts without spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apsw

from kb.store.sqlite.where import chunk_numbers, restriction
from kb.store.wording import (
    PARTIAL_LEAST,
    PARTIAL_POOL,
    PARTIAL_SCALE,
    PLAIN_WEIGHTS,
    SHORT,
    fold,
    share,
    trigrams,
    words,
)
from kb.text import has_cjk
from kb.types import Candidate, Filters, LexicalQuery

FIELDS = ("title", "heading", "body")
DIGITS = 12


def match_like(connection: apsw.Connection, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
    """One point for each distinct word found anywhere in the chunk, less than one for parts of a long run."""
    found = words(query.terms)
    scores: dict[int, float] = {}
    plain = [fold(word) for word in found if not has_cjk(word)]
    if plain:
        for number, title, heading, body in _all(connection, where):
            text = fold(f"{title}\n{heading}\n{body}")
            points = sum(1.0 for word in plain if word in text)
            if points:
                scores[number] = points
    phrases = {term.text for term in query.terms if term.phrase}
    for word in filter(has_cjk, found):
        numbers = _whole(connection, word, where)
        partial = {} if numbers or word in phrases or len(word) < SHORT else _parts(connection, word, where)
        for number, points in (partial or dict.fromkeys(numbers, 1.0)).items():
            scores[number] = scores.get(number, 0.0) + points
    return best(connection, {number: round(score, DIGITS) for number, score in scores.items()}, limit)


def _whole(connection: apsw.Connection, word: str, where: Filters) -> list[int]:
    if len(word) < SHORT:
        return [row[0] for row in holding(connection, [word], where)]
    allowed, bindings = restriction(where, "rowid")
    statement = f"SELECT rowid FROM chunks_trigram WHERE chunks_trigram MATCH :expression{allowed}"
    return [row[0] for row in connection.execute(statement, {**bindings, "expression": quoted(word)})]


def _parts(connection: apsw.Connection, word: str, where: Filters) -> dict[int, float]:
    """Chunks that hold at least half of the character pairs of a run that is nowhere as a whole."""
    allowed, bindings = restriction(where, "rowid")
    weights = ", ".join(map(str, PLAIN_WEIGHTS))
    statement = f"""
      WITH pool AS MATERIALIZED (
        SELECT rowid AS number, round(-bm25(chunks_trigram, {weights}), {DIGITS}) AS score FROM chunks_trigram
        WHERE chunks_trigram MATCH :expression{allowed}),
      cut AS (SELECT min(score) AS score FROM (SELECT score FROM pool ORDER BY score DESC LIMIT {PARTIAL_POOL}))
      SELECT x.id, x.title, x.heading, x.body FROM pool JOIN chunks_indexed x ON x.id = pool.number
      WHERE pool.score >= (SELECT score FROM cut)"""
    expression = " OR ".join(map(quoted, trigrams(word)))
    rows = connection.execute(statement, {**bindings, "expression": expression})
    shares = ((number, share(word, "\n".join(fields))) for number, *fields in rows)
    return {number: PARTIAL_SCALE * found for number, found in shares if found >= PARTIAL_LEAST}


def holding(connection: apsw.Connection, found: list[str], where: Filters) -> Iterator[tuple[Any, ...]]:
    """Number, title, headings and body of the chunks, in scripts without spaces, that hold all of these words."""
    tests = " AND ".join(contains(word, place) for place, word in enumerate(found))
    bindings = {f"w{place}": word.lower() for place, word in enumerate(found)}
    if not where.empty:
        numbers, more = chunk_numbers(where, cjk=True)
        tests, bindings = f"x.id IN ({numbers}) AND {tests}", {**bindings, **more}
    return connection.execute(f"SELECT x.id, x.title, x.heading, x.body FROM chunks_cjk x WHERE {tests}", bindings)


def _all(connection: apsw.Connection, where: Filters) -> Iterable[tuple[Any, ...]]:
    statement = "SELECT x.id, x.title, x.heading, x.body FROM chunks_indexed x"
    if where.empty:
        return connection.execute(statement)
    numbers, bindings = chunk_numbers(where)
    return connection.execute(f"{statement} WHERE x.id IN ({numbers})", bindings)


def contains(word: str, place: int) -> str:
    """Whether any field of ``x`` holds the word bound as ``w<place>``.

    ``instr`` and not LIKE: on a trigram table LIKE misses short words (measured). SQLite's own ``lower`` knows ASCII only.
    """
    cased = word.lower() != word.upper()
    lower = ("lower" if word.isascii() else "kb_lower") if cased else ""
    return f"({' OR '.join(f'instr({lower}(x.{field}), :w{place})' for field in FIELDS)})"


def quoted(text: str) -> str:
    """An FTS5 string: nothing in it has a meaning of its own."""
    return '"' + text.replace('"', '""') + '"'


def best(connection: apsw.Connection, scores: Mapping[int, float], limit: int) -> list[Candidate]:
    """Row numbers as candidates: score descending, then chunk id."""
    names = connection.execute(
        "SELECT id, chunk_id FROM chunks WHERE id IN (SELECT value FROM json_each(?))", (str(list(scores)),)
    )
    found = [Candidate(name, scores[number]) for number, name in names]
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.chunk_id))[:limit]
