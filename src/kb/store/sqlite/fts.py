"""The keyword leg: FTS5 for words, its trigrams for scripts without spaces, and expressions as written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from kb.store.sqlite.like import best, contains, holding, match_like, quoted
from kb.store.sqlite.where import restriction
from kb.store.wording import (
    PLAIN_WEIGHTS,
    SHORT,
    WEIGHTS,
    bad_expression,
    count,
    fts_phrases,
    substring_score,
    words,
)
from kb.types import Candidate, Filters, LexicalQuery
from kb.wordtext import in_expression

CHECK_EVERY = 2_000  # SQLite instructions between two looks at the clock: well below a millisecond
SLACK = 16  # rows fetched beyond the limit, to see whether the last ones tie
DIGITS = 12  # bm25 in a tiny corpus is about 1e-6: twelve decimals still tell such scores apart


def match(connection: apsw.Connection, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
    if limit < 1:
        return []
    with deadline(connection, query.deadline):
        return _TIERS[query.tier](connection, query, where, limit)


def _fts(connection: apsw.Connection, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
    phrases = [quoted(phrase.text) + (" *" if phrase.open else "") for phrase in fts_phrases(query)]
    expression = (" AND " if query.join == "all" else " OR ").join(phrases)
    return ranked(connection, "chunks_fts", expression, where, limit)


def _raw(connection: apsw.Connection, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
    raw = query.raw or ""
    if not raw.strip():
        return []
    try:
        return ranked(connection, "chunks_fts", in_expression(raw), where, limit)
    except apsw.SQLError as cause:
        raise bad_expression(raw, str(cause)) from cause


def _trigram(connection: apsw.Connection, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
    found = words(query.terms)
    long = [word for word in found if len(word) >= SHORT]
    short = [word for word in found if len(word) < SHORT]
    if not long:
        return _substrings(connection, short, where, limit) if short else []
    holds = "".join(
        f" AND EXISTS (SELECT 1 FROM chunks_indexed x WHERE x.id = chunks_trigram.rowid AND {contains(word, place)})"
        for place, word in enumerate(short)
    )
    bindings = {f"w{place}": word.lower() for place, word in enumerate(short)}
    expression = " AND ".join(quoted(word) for word in long)
    return ranked(connection, "chunks_trigram", expression, where, limit, holds, bindings)


_TIERS: Mapping[str, Callable[[apsw.Connection, LexicalQuery, Filters, int], list[Candidate]]] = {
    "fts": _fts,
    "trigram": _trigram,
    "like": match_like,
    "raw": _raw,
}


def ranked(
    connection: apsw.Connection,
    table: str,
    expression: str,
    where: Filters,
    limit: int,
    holds: str = "",
    bindings: Mapping[str, Any] | None = None,
) -> list[Candidate]:
    """The best rows of a full-text table by bm25, ties by chunk id also where the limit cuts through them."""
    if not expression:
        return []
    allowed, more = restriction(where, "rowid")
    weights = ", ".join(map(str, WEIGHTS if table == "chunks_fts" else PLAIN_WEIGHTS))
    statement = (
        f"SELECT rowid, -bm25({table}, {weights}) AS score FROM {table} WHERE {table} MATCH :expression{allowed}{holds} "
        "ORDER BY score DESC LIMIT :rows"
    )
    values = {**more, **(bindings or {}), "expression": expression}
    rows = limit + SLACK
    while True:
        found = connection.execute(statement, {**values, "rows": rows}).fetchall()
        if len(found) < rows or found[limit - 1][1] - found[-1][1] > 2 * 10**-DIGITS:
            return best(connection, {number: round(score, DIGITS) for number, score in found}, limit)
        rows *= 8


def _substrings(connection: apsw.Connection, short: list[str], where: Filters, limit: int) -> list[Candidate]:
    """Nothing but words that trigrams cannot see: look at every chunk in such a script."""
    scores: dict[int, float] = {}
    for number, *fields in holding(connection, short, where):
        hits = [sum(w * count(word, field) for w, field in zip(PLAIN_WEIGHTS, fields, strict=True)) for word in short]
        scores[number] = round(substring_score(hits, sum(map(len, fields))), DIGITS)
    return best(connection, scores, limit)


@contextmanager
def deadline(connection: apsw.Connection, until: float | None) -> Iterator[None]:
    """Interrupt whatever runs on the connection once ``time.monotonic()`` has passed ``until``."""
    if until is None:
        yield
        return
    connection.set_progress_handler(lambda: time.monotonic() >= until, CHECK_EVERY)
    try:
        if time.monotonic() >= until:
            raise apsw.InterruptError("interrupted")
        yield
    finally:
        connection.set_progress_handler(None)
