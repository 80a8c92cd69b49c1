"""What both legs know of every candidate, on scales that do not depend on the question.

A bm25 is divided by the most that the words of the query could score in this store, a cosine is measured from what two
random chunks of this store have. Both then lie in [0, 1], and 0 means "nothing to do with it".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kb.protocols import Snapshot
from kb.search.legs import Found
from kb.search.query import ParsedQuery
from kb.types import Extent, LexicalQuery, Value
from kb.wordtext import separate

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6  # of FTS5's bm25
LENGTH_COST = 0.6  # instead of B, which is hard on long chunks and kind to short ones: docs/decisions/010-best.md
SUBSTRINGS = 0.5  # what a full match of the last tier is worth, beside words found as words
UNMEASURED = 0.2  # mean cosine of random chunks, where a store has not measured its own (of static: 0.12 to 0.36)
DIGITS = 9
_WORD = re.compile(r"[^\W_]+")


class Weight(NamedTuple):
    """What a word counts in a store, and whether it stands anywhere in it."""

    idf: float
    stands: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence(Value):
    """By chunk id: the share of the query's words, the nearness in meaning, and sizes. Absent is nothing."""

    words: Mapping[str, float] = field(default_factory=dict)
    meaning: Mapping[str, float] | None = None  # None: the vector leg did not run
    extents: Mapping[str, Extent] = field(default_factory=dict)
    known: float = 1.0  # share of the weight of the query's words that stand somewhere in the store


def gather(snapshot: Snapshot, query: ParsedQuery, lexical: Found, vector: Found) -> Evidence:
    """For all candidates of both legs, whichever leg found them."""
    ids = list(dict.fromkeys([*(lexical.ranking or ()), *(vector.ranking or ())]))
    extents = snapshot.extents(ids)
    meaning = None
    if vector.ranking is not None:
        found = {hit.chunk_id: hit.score for hit in vector.raw}
        found |= snapshot.cosines(vector.vector, [name for name in ids if name not in found])
        usual = snapshot.calibration.mean if snapshot.calibration else UNMEASURED
        meaning = {name: nearness(cosine, usual) for name, cosine in found.items()}
    pieces, own = _pieces(lexical.asked), content(query)
    weights = idfs(snapshot, [*pieces, *own])
    ceiling = _ceiling(lexical, [weights[piece] for piece in pieces])
    words = {
        hit.chunk_id: round(min(1.0, hit.score / ceiling * _fair(lexical, hit.chunk_id, extents)), DIGITS)
        for hit in lexical.raw
    }
    return Evidence(words, meaning, extents, _known([weights[word] for word in own]))


def nearness(cosine: float, usual: float) -> float:
    """How far a cosine lies above that of two random chunks, from 0 to 1."""
    return round(min(1.0, max(0.0, (cosine - usual) / (1.0 - usual))), DIGITS) if usual < 1.0 else 0.0


def fair(length: float) -> float:
    """What bm25 is multiplied by, so that length costs LENGTH_COST instead of B: exact for a word found once."""
    return (1 + K1 * (1 - B + B * length)) / (1 + K1 * (1 - LENGTH_COST + LENGTH_COST * length))


def _fair(lexical: Found, chunk_id: str, extents: Mapping[str, Extent]) -> float:
    return fair(extents[chunk_id].length) if lexical.leg.tier == "fts" else 1.0


def _ceiling(lexical: Found, weights: Sequence[Weight]) -> float:
    """The most that the words of the query can score."""
    best = max((hit.score for hit in lexical.raw), default=0.0) or 1.0
    if lexical.leg.tier == "like":
        return max(best, float(len(lexical.asked.terms if lexical.asked else ()))) / SUBSTRINGS
    if lexical.leg.tier != "fts":
        return best
    return (K1 + 1) * sum(weight.idf for weight in weights if weight.stands) or best


def _known(weights: Sequence[Weight]) -> float:
    total = sum(weight.idf for weight in weights)
    return round(sum(weight.idf for weight in weights if weight.stands) / total, DIGITS) if total else 1.0


def idfs(snapshot: Snapshot, words: Sequence[str]) -> dict[str, Weight]:
    """What each word counts in this store. A word that stands nowhere counts most, though it can find nothing."""
    counts = snapshot.vocabulary.terms(list(dict.fromkeys(words)))
    rows = counts.get("", 0)
    return {word: Weight(_idf(rows, counts.get(word, 0)), counts.get(word, 0) > 0) for word in words}


def content(query: ParsedQuery) -> list[str]:
    """The words that the user typed, function words left out, names in their parts, each once."""
    parts = (part for term in query.content for part in _WORD.findall(term.text))
    return list(dict.fromkeys(piece for part in parts for piece in separate(part)))


def _pieces(asked: LexicalQuery | None) -> list[str]:
    """What the keyword leg looks for, one by one."""
    terms = asked.terms if asked is not None and asked.tier == "fts" else ()
    pieces = [piece for term in terms for piece in ([term.text] if term.phrase else separate(term.text)) if piece]
    return pieces if asked is not None and asked.repeats else list(dict.fromkeys(pieces))


def _idf(rows: int, hits: int) -> float:
    return max(math.log((rows - hits + 0.5) / (hits + 0.5)), LEAST_IDF) if rows >= hits else LEAST_IDF
