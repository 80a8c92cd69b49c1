"""The words of the index: in how many chunks each stands, and which of them a misspelt word may have meant."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from kb.store import spelling
from kb.store.sqlite.faults import typed
from kb.store.sqlite.like import quoted
from kb.store.wording import AS_WRITTEN, FIELDS, fts_phrases
from kb.types import LexicalQuery, Term

# One step per language along the index of languages, and none where there is no other than English.
LANGUAGES = """
WITH RECURSIVE held(lang) AS (
  SELECT min(stem_lang) FROM chunks WHERE stem_lang IS NOT NULL
  UNION ALL SELECT (SELECT min(stem_lang) FROM chunks WHERE stem_lang > held.lang) FROM held WHERE held.lang IS NOT NULL)
SELECT lang FROM held WHERE lang IS NOT NULL"""


class SQLiteVocabulary:
    """The words of one committed state."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.languages: tuple[str, ...] = tuple(row[0] for row in connection.execute(LANGUAGES))

    def terms(self, words: Sequence[str]) -> dict[str, int]:
        with typed():
            found = {"": int(self._connection.execute("SELECT count(*) FROM chunks_fts_docsize").get or 0)}
            for word in words:
                found[word] = _count(self._connection, word) if word else found[""]
            return found

    def spellings(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        with typed():
            for word in words:
                stem = spelling.stem_of(word)
                if stem is not None and not _matching(self._connection, word, "1", " LIMIT 1"):
                    near = (_near(self._connection, word, begin) for begin in spelling.beginnings(stem))
                    found[word] = next(filter(None, near), ())
        return found


def _count(connection: apsw.Connection, word: str) -> int:
    phrases = fts_phrases(LexicalQuery("fts", (Term(word),), "all"))
    if phrases and len(phrases[0].stems) == 1 and not phrases[0].open:
        return int(connection.execute("SELECT doc FROM chunks_terms WHERE term = ?", phrases[0].stems).get or 0)
    return _matching(connection, word, "count(*)", "") if phrases else 0


def _matching(connection: apsw.Connection, word: str, what: str, limit: str) -> int:
    (phrase,) = fts_phrases(LexicalQuery("fts", (Term(word),), "all"))
    expression = quoted(phrase.text) + (" *" if phrase.open else "")
    statement = f"SELECT {what} FROM chunks_fts WHERE chunks_fts MATCH ?{limit}"
    return int(connection.execute(statement, (expression,)).get or 0)


def _near(connection: apsw.Connection, word: str, beginnings: Sequence[str]) -> tuple[str, ...]:
    statement = "SELECT term, doc FROM chunks_terms WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
    vocabulary = [
        row
        for begin in beginnings
        for row in connection.execute(statement, (begin, _next(begin), *spelling.lengths(word)))
    ]
    terms = spelling.candidates(word, vocabulary)
    return spelling.nearest(word, [text for term in terms for text in _texts(connection, term)])


def _next(prefix: str) -> str:
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _texts(connection: apsw.Connection, term: str) -> list[str]:
    """What the index reads of the first chunks that hold a stem."""
    fields = ", ".join(FIELDS[:AS_WRITTEN])
    statement = f"""SELECT {fields} FROM chunks_words WHERE id IN (SELECT DISTINCT doc FROM
      (SELECT doc FROM chunks_places WHERE term = ? LIMIT {spelling.PLACES})) ORDER BY id LIMIT {spelling.TEXTS}"""
    return [field for row in connection.execute(statement, (term,)) for field in row]
