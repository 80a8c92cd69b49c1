"""From what a user typed to what the legs look for. Any text is a query; nothing in it is syntax but quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kb.config import SearchSettings
from kb.errors import QueryError
from kb.search.stopwords import PARTICLES, STOPWORDS
from kb.text import cjk_run, has_cjk, nfc, pieces
from kb.types import LexicalQuery, Term, Value
from kb.wordtext import name_parts

PAIRS_LEAST = 0.25  # share of a query's character pairs that a chunk must hold: one of the three of "회의에서"
MOST_PAIRS = 12  # each costs a look at every chunk in such a script: 62 ms for 20,000 (docs/decisions/002-store.md)
_PHRASE = re.compile(r'"([^"]*)"')
_PART = re.compile(r"[^\W_]+")  # what unicode61 keeps together: letters and digits, without the underscore
_POSSESSIVE = re.compile(r"['\u2019](?:s|t|d|m|ll|re|ve)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ParsedQuery(Value):
    """What was asked: ``text`` for the vector leg, ``terms`` or ``raw`` for the lexical one."""

    text: str
    terms: tuple[Term, ...] = ()
    raw: str | None = None
    cjk: bool = False

    @property
    def empty(self) -> bool:
        return not self.terms and self.raw is None

    @property
    def exact(self) -> str | None:
        """Why nothing but words can answer, if so."""
        if self.raw is not None:
            return "an FTS5 expression is about words: a NOT means nothing to a vector"
        if self.terms and all(term.phrase for term in self.terms):
            return "an exact phrase is about words"
        return None

    @property
    def content(self) -> tuple[Term, ...]:
        """The terms without function words, unless there are no others."""
        return _without_stopwords(self.terms)

    def first(self, join: Literal["any", "all"], deadline: float | None) -> LexicalQuery:
        """The tier that a query starts with."""
        if self.raw is not None:
            return LexicalQuery(tier="raw", raw=self.raw, deadline=deadline)
        if self.cjk:
            return LexicalQuery(tier="trigram", terms=_runs(self.terms), join="all", deadline=deadline)
        return self.words(join, deadline)

    def words(self, join: Literal["any", "all"], deadline: float | None, *, repeats: bool = False) -> LexicalQuery:
        """The word index, for any script: of runs without spaces it knows the pairs of characters."""
        terms = self.terms
        if join == "any":
            terms = _with_parts(
                _without_particles(_runs(_without_stopwords(terms))) if self.cjk else _without_stopwords(terms)
            )
        return LexicalQuery(tier="fts", terms=terms, join=join, deadline=deadline, repeats=repeats)

    def last(self, join: Literal["any", "all"], deadline: float | None) -> LexicalQuery | None:
        """Words as substrings. Words joined by "all" stay so, but CJK does not: a question in a script without spaces
        never matches as a whole."""
        if self.raw is not None:
            return None
        words = [t for t in _runs(_without_stopwords(self.terms)) if has_cjk(t.text) or len(t.text) >= 3]
        if not words or (join == "all" and not self.cjk and len(words) < len(set(self.terms))):
            return None
        terms = tuple(dict.fromkeys(words))
        return LexicalQuery(tier="like", terms=terms, join="any" if self.cjk else join, deadline=deadline)

    def pairs(self, deadline: float | None) -> LexicalQuery | None:
        """For when no run is found either, as its particle hides it ("회의는", "회의를"): the character pairs of runs."""
        terms = _pairs(self.terms) if self.cjk and self.raw is None else ()
        return LexicalQuery(tier="like", terms=terms, deadline=deadline) if terms else None


def parse(text: str, settings: SearchSettings) -> ParsedQuery:
    """Read a query. Only its size can be wrong; a query of nothing searchable is empty, which is no error."""
    if len(text) > settings.max_query_chars:
        raise QueryError(
            f"the query has {len(text)} characters; at most {settings.max_query_chars} are searched",
            fix="shorten it, or raise search.max_query_chars",
        )
    text = nfc(text).strip()
    if len(text) >= 2 and text[0] == text[-1] == "'":
        raw = text[1:-1].strip()
        words = tuple(Term(part) for part in _PART.findall(raw))
        return ParsedQuery(text=" ".join(term.text for term in words), raw=raw if words else None, terms=words)
    terms = tuple(_terms(text))
    if len(terms) > settings.max_terms:
        raise QueryError(
            f"the query has {len(terms)} words; at most {settings.max_terms} are searched",
            fix="shorten it, or raise search.max_terms",
        )
    return ParsedQuery(text=text.replace('"', " "), terms=terms, cjk=any(has_cjk(term.text) for term in terms))


def _terms(text: str) -> list[Term]:
    """Phrases in double quotes stay whole; the rest is split at white space, no further."""
    found: list[Term] = []
    end = 0
    for match in _PHRASE.finditer(text):
        found += _words(text[end : match.start()])
        inner = match.group(1).strip()
        if _PART.search(inner):
            found.append(Term(inner, phrase=True))
        end = match.end()
    return found + _words(text[end:])


def _words(text: str) -> list[Term]:
    words = (_POSSESSIVE.sub("", word) for word in text.replace('"', " ").split())
    return [Term(word.strip(_TRIM)) for word in words if _PART.search(word)]


_TRIM = ".,;:!?()[]{}<>*^~`'\"\u2019\u201c\u201d\u3002\u3001\uff1f\uff01\uff0c"


def _without_stopwords(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    kept = tuple(term for term in terms if term.phrase or term.text.lower() not in STOPWORDS)
    return kept or terms


def _with_parts(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """A name ("read-only", "a/b", "v1.2", "writeBoolean") is looked for as a phrase, in its parts, and joined."""
    found: list[Term] = []
    for term in terms:
        found.append(term)
        if term.phrase:
            continue
        parts = _PART.findall(term.text)
        more = [*(parts if len(parts) > 1 else []), *name_parts(term.text)]
        found += [Term(part) for part in dict.fromkeys(more) if len(part) > 1 and part.lower() not in STOPWORDS]
    return tuple(found)


def _without_particles(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """A particle after a word in another script ("etcd는", "Podの") is a run of its own, and stands nearly everywhere."""
    kept = tuple(term for term in terms if term.phrase or term.text not in PARTICLES)
    return kept or terms


def _runs(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """CJK runs and the words between them, each on its own: "k8s파드" is "k8s" and "파드"."""
    found: list[Term] = []
    for term in terms:
        if term.phrase or not has_cjk(term.text):
            found.append(term)
            continue
        for piece in pieces().findall(term.text):
            if cjk_run().fullmatch(piece) or _PART.search(piece):
                found.append(Term(piece.strip(_TRIM)))
    return tuple(found)


def _pairs(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """The character pairs of CJK runs that are no phrase."""
    runs = [run for term in terms if not term.phrase for run in cjk_run().findall(term.text)]
    found = dict.fromkeys(run[at : at + 2] for run in runs for at in range(len(run) - 1))
    return tuple(map(Term, list(found)[:MOST_PAIRS]))
