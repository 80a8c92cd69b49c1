"""What an "any" query looks for beside its words: stems of other languages, and the nearest spellings of unknown words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb.protocols import Snapshot
from kb.text import has_cjk
from kb.types import LexicalQuery, Term, Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Wider(Value):
    """A keyword query with what was added to it, and what of that a reader must be told."""

    query: LexicalQuery
    notes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # words that were not asked for


def widen(snapshot: Snapshot, query: LexicalQuery) -> Wider:
    """For queries of any of their words: a query of all of them, a phrase or an expression stays as it was asked."""
    if query.tier != "fts" or query.join != "any":
        return Wider(query)
    terms = [*query.terms, *stemmed(query.terms, snapshot.vocabulary.languages)]
    near = unknown(snapshot, query.terms)
    terms += [Term(word) for words in near.values() for word in words]
    also = tuple(word for words in near.values() for word in words)
    return Wider(replace(query, terms=tuple(terms)), notes(near, "searched for"), also)


def stemmed(terms: Sequence[Term], languages: Sequence[str]) -> list[Term]:
    """The stems of the words in each language that the store holds; English needs none, so most stores import none."""
    if not languages:
        return []
    from kb.languages import marked

    words = [term.text for term in terms if not term.phrase and not has_cjk(term.text)]
    found = (stem for language in languages for word in words for stem in marked(word, language))
    return [Term(stem) for stem in dict.fromkeys(found)]


def unknown(snapshot: Snapshot, terms: Sequence[Term]) -> Mapping[str, tuple[str, ...]]:
    """Each word that stands in no chunk, in no language, with those that it may have meant."""
    words = dict.fromkeys(term.text for term in terms if not term.phrase)
    near = {word: found for word, found in snapshot.vocabulary.spellings(list(words)).items() if found}
    if not near or not snapshot.vocabulary.languages:
        return near
    return {
        word: found
        for word, found in near.items()
        if not any(_held(snapshot, [term.text for term in stemmed([Term(word)], snapshot.vocabulary.languages)]))
    }


def _held(snapshot: Snapshot, stems: Sequence[str]) -> list[int]:
    return [count for stem, count in snapshot.vocabulary.terms(stems).items() if stem]


def notes(near: Mapping[str, Sequence[str]], verb: Literal["searched for", "did you mean"]) -> tuple[str, ...]:
    end = "?" if verb == "did you mean" else ""
    return tuple(
        f'no chunk holds "{word}"; {verb} {" or ".join(f"{chr(34)}{found}{chr(34)}" for found in words)}{end}'
        for word, words in near.items()
    )
