"""What both legs know of every candidate, on scales that do not depend on the question.

A bm25 is divided by the most that the words of the query could score in this store, a cosine is measured from what two
random chunks of this store have. Both then lie in [0, 1], and 0 means "nothing to do with it".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kb.protocols import Snapshot
from kb.search.legs import Found
from kb.types import Extent, LexicalQuery, Value
from kb.wordtext import separate

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6  # of FTS5's bm25
# What length costs: B is hard on long chunks and kind to very short ones, such as single turns of a dialogue. A chunk
# that is shorter than SHORTEST of the average counts as that long. Origin: docs/decisions/010-best.md.
LENGTH_COST = 0.6
SHORTEST = 0.5
SUBSTRINGS = 0.5  # what a full match of the last tier is worth, beside words found as words
UNMEASURED = 0.1  # mean cosine of random chunks, where a store has not measured its own yet (of static: 0.05 to 0.15)
DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence(Value):
    """By chunk id: the share of the query's words, the nearness in meaning, and sizes. Absent is nothing."""

    words: Mapping[str, float] = field(default_factory=dict)
    meaning: Mapping[str, float] | None = None  # None: the vector leg did not run
    extents: Mapping[str, Extent] = field(default_factory=dict)
    known: float = 1.0  # share of the weight of the query's words that stand somewhere in the store


def gather(snapshot: Snapshot, lexical: Found, vector: Found) -> Evidence:
    """For all candidates of both legs, whichever leg found them."""
    ids = list(dict.fromkeys([*(lexical.ranking or ()), *(vector.ranking or ())]))
    extents = snapshot.extents(ids)
    meaning = None
    if vector.ranking is not None:
        found = {hit.chunk_id: hit.score for hit in vector.raw}
        found |= snapshot.cosines(vector.vector, [name for name in ids if name not in found])
        usual = snapshot.calibration.mean if snapshot.calibration else UNMEASURED
        meaning = {name: nearness(cosine, usual) for name, cosine in found.items()}
    ceiling, known = _ceiling(snapshot, lexical)
    words = {
        hit.chunk_id: round(min(1.0, hit.score / ceiling * _fair(lexical, hit.chunk_id, extents)), DIGITS)
        for hit in lexical.raw
    }
    return Evidence(words, meaning, extents, known)


def nearness(cosine: float, usual: float) -> float:
    """How far a cosine lies above that of two random chunks, from 0 to 1."""
    return round(min(1.0, max(0.0, (cosine - usual) / (1.0 - usual))), DIGITS) if usual < 1.0 else 0.0


def fair(length: float) -> float:
    """What bm25 is multiplied by, so that length costs LENGTH_COST instead of B: exact for a word found once."""
    cost = 1 + K1 * (1 - LENGTH_COST + LENGTH_COST * max(length, SHORTEST))
    return (1 + K1 * (1 - B + B * length)) / cost


def _fair(lexical: Found, chunk_id: str, extents: Mapping[str, Extent]) -> float:
    return fair(extents[chunk_id].length) if lexical.leg.tier == "fts" else 1.0


def _ceiling(snapshot: Snapshot, lexical: Found) -> tuple[float, float]:
    """The most that the words of the query can score, and how much of their weight stands somewhere."""
    best = max((hit.score for hit in lexical.raw), default=0.0) or 1.0
    asked = lexical.asked
    if asked is None:
        return best, 1.0
    if lexical.leg.tier == "like":
        return max(best, float(len(asked.terms))) / SUBSTRINGS, 1.0
    if asked.tier != "fts":
        return best, 1.0
    weights = idfs(snapshot, asked)
    somewhere = sum(weight for weight, stands in weights if stands)
    total = sum(weight for weight, _ in weights)
    return (K1 + 1) * somewhere or best, somewhere / total if total else 1.0


def idfs(snapshot: Snapshot, asked: LexicalQuery) -> list[tuple[float, bool]]:
    """The weight of each word that is looked for, once per time, and whether it stands anywhere."""
    words = _pieces(asked)
    counts = snapshot.vocabulary.terms(list(dict.fromkeys(words)))
    rows = counts.get("", 0)
    return [(_idf(rows, counts.get(word, 0)), counts.get(word, 0) > 0) for word in words]


def _pieces(asked: LexicalQuery) -> Sequence[str]:
    pieces = [piece for term in asked.terms for piece in ([term.text] if term.phrase else separate(term.text)) if piece]
    return pieces if asked.repeats else list(dict.fromkeys(pieces))


def _idf(rows: int, hits: int) -> float:
    return max(math.log((rows - hits + 0.5) / (hits + 0.5)), LEAST_IDF) if rows >= hits else LEAST_IDF
