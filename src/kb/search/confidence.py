"""How likely a hit answers the question, and whether anything in the store does.

A blend's score says how good a hit is beside the others. Here it is compared with what questions get that this store
cannot answer (``Usual``), and turned into a probability by two small logistic models. Their weights are the same for
every store; what differs between stores is measured in each of them. Origin: docs/decisions/010-best.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kb.protocols import Snapshot
from kb.search.blend import Blend, Fusion
from kb.search.evidence import Evidence
from kb.search.fuse import Fused
from kb.types import Value

KEPT = "usual"  # the name under which a store keeps its Usual
HEARD = 30  # hits that are compared with each other
SHARPNESS = 12.0  # of the softmax over documents
AHEAD = 5  # documents: how far the first is ahead of the one after so many
NO_MATCH = 0.296  # below this probability nothing answers: where 3 % of real questions would be turned away
NO_MATCH_WORDS = 0.334  # the same without vectors
DIGITS = 6

# Weights, then the constant. Of a question: words, meaning, words that are known.
ASKED = ((6.051, 14.216, 4.659), -1.796)
ASKED_WORDS = ((2.443, 5.35, 7.547), -7.323)  # words, known words, their product
# Of a hit: words, meaning, known; its document's score, rank and share; how far the first document is ahead.
HIT = ((-3.113, 1.201, -0.454, 1.751, -0.853, 4.957, -0.238), -2.465)
HIT_WORDS = ((-2.692, -0.505, 2.942, -0.919, 4.009, -0.649), -0.851)  # words, known, and the last four
Model = tuple[tuple[float, ...], float]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Usual(Value):
    """What nine of ten questions that have nothing to do with a store stay below in it."""

    words: float = 0.6
    meaning: float = 0.28
    chunks: int = 0  # how many there were when it was measured; 0: a guess, from five collections
    model: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str | None) -> Usual:
        """As it was kept; the guess where nothing was, or nothing readable."""
        try:
            known = json.loads(text or "{}")
            return cls(float(known["words"]), float(known["meaning"]), int(known["chunks"]), known["model"])
        except (ValueError, KeyError, TypeError):
            return cls()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Judgement(Value):
    """``hits``: the probability of each hit by chunk id. ``evidence`` says why the question is answered, or not."""

    no_good_match: bool
    evidence: Mapping[str, Any] = field(default_factory=dict)
    hits: Mapping[str, float] = field(default_factory=dict)


def judgement(fusion: Fusion, ranking: Sequence[Fused], snapshot: Snapshot) -> Judgement | None:
    """Of a blend; other fusions have no scale that would tell."""
    if not isinstance(fusion, Blend):
        return None
    return judge(ranking, fusion.evidence, Usual.of(snapshot.kept.get(KEPT)))


def peaks(ranking: Sequence[Fused], evidence: Evidence) -> tuple[float, float]:
    """The most of the words, and the nearest meaning, among the first hits."""
    names = [item.chunk_id for item in ranking[:HEARD]]
    near = evidence.meaning or {}
    words = max((evidence.words.get(name, 0.0) for name in names), default=0.0)
    return words, max((near.get(name, 0.0) for name in names), default=0.0)


def judge(ranking: Sequence[Fused], evidence: Evidence, usual: Usual) -> Judgement:
    """Confidence in each hit of a blend, and in there being an answer."""
    words, meaning = peaks(ranking, evidence)
    asked, hit, least = (
        (ASKED, HIT, NO_MATCH) if evidence.meaning is not None else (ASKED_WORDS, HIT_WORDS, NO_MATCH_WORDS)
    )
    chance = _logistic(asked, of_question(ranking, evidence, usual))
    told: dict[str, Any] = {
        "probability": round(chance, DIGITS),
        "known": round(evidence.known, DIGITS),
        "words": round(words, DIGITS),
        "usual_words": round(usual.words, DIGITS),
    }
    if evidence.meaning is not None:
        told |= {"meaning": round(meaning, DIGITS), "usual_meaning": round(usual.meaning, DIGITS)}
    hits = {name: round(_logistic(hit, values), DIGITS) for name, values in of_hits(ranking, evidence, usual).items()}
    return Judgement(not ranking or chance < least, told, hits)


def of_question(ranking: Sequence[Fused], evidence: Evidence, usual: Usual) -> tuple[float, ...]:
    """What the first model looks at."""
    words, meaning = peaks(ranking, evidence)
    if evidence.meaning is None:
        return words, evidence.known, words * evidence.known
    return _above(words, evidence, usual), meaning - usual.meaning, evidence.known


def of_hits(ranking: Sequence[Fused], evidence: Evidence, usual: Usual) -> dict[str, tuple[float, ...]]:
    """What the second model looks at, of each hit. Those after the first HEARD are judged beside these."""
    best: dict[str, float] = {}  # of each document, in the order of their first hits
    for item in ranking:
        best.setdefault(_doc(item, evidence), item.score)
    heard = dict.fromkeys(_doc(item, evidence) for item in ranking[:HEARD])
    scores = sorted((best[doc] for doc in heard), reverse=True)
    ahead = scores[0] - (scores[AHEAD] if len(scores) > AHEAD else 0.0) if scores else 0.0
    total = sum(math.exp(SHARPNESS * score) for score in scores)
    places = {doc: math.log1p(place) for place, doc in enumerate(best)}
    found: dict[str, tuple[float, ...]] = {}
    for item in ranking:
        doc = _doc(item, evidence)
        share = min(1.0, math.exp(SHARPNESS * best[doc]) / total)
        found[item.chunk_id] = (*_own(item.chunk_id, evidence, usual), best[doc], places[doc], share, ahead)
    return found


def _own(name: str, evidence: Evidence, usual: Usual) -> tuple[float, ...]:
    words = evidence.words.get(name, 0.0)
    if evidence.meaning is None:
        return words, evidence.known
    return _above(words, evidence, usual), evidence.meaning.get(name, 0.0) - usual.meaning, evidence.known


def _above(words: float, evidence: Evidence, usual: Usual) -> float:
    """Where the vector leg answers alone, words say nothing, either way."""
    return words - usual.words if evidence.words else 0.0


def _doc(item: Fused, evidence: Evidence) -> str:
    extent = evidence.extents.get(item.chunk_id)
    return extent.doc_id if extent else item.chunk_id


def _logistic(model: Model, values: Sequence[float]) -> float:
    weights, constant = model
    sum_ = constant + math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    return 1.0 / (1.0 + math.exp(-sum_)) if sum_ > -700 else 0.0
