"""Calibrated score fusion, of the profile `best`: scores instead of ranks, and the rest of the document as a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kb.config import Profile
from kb.protocols import Snapshot
from kb.search.evidence import Evidence, gather
from kb.search.fuse import DIGITS, RRF, Fused, Leg, ScoreKind, Single, Weighted, fusion_of, union
from kb.search.legs import Found
from kb.search.query import ParsedQuery
from kb.types import Mode, ModelInfo, Value

# A document that speaks of the question in several chunks answers it better than one that mentions it once. WITNESSES
# chunks are heard; what they give is divided by (how many a document has, at most that many) ** FAIRNESS, so that a
# long document is worth more than a short one, but far from as many times more as it is longer.
WITNESSES = 5
FAIRNESS = 0.85
DOCUMENT = 0.5  # its share in the score
# The weight of meaning: a table of token vectors knows less than a transformer, and is heard less.
ALPHA = {"static": 0.35}
ALPHA_ELSE = 0.5
# Origin of all of these: docs/decisions/010-best.md, chosen on all collections but one and tested on that one.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Blend(Value):
    """(1 - alpha) x words + alpha x meaning, then the document. Without one leg the other counts whole."""

    alpha: float | None = None  # None: that of the model, once the store has told which that is
    evidence: Evidence = Evidence()

    kind: ScoreKind = "calibrated"

    @property
    def weights(self) -> tuple[float, float]:
        alpha = ALPHA_ELSE if self.alpha is None else self.alpha
        return (1 - alpha, alpha)

    def fuse(self, lexical: Leg | None, vector: Leg | None) -> list[Fused]:
        words, meaning = self._shares(lexical is not None, vector is not None)
        near = self.evidence.meaning or {}
        own = {
            name: words * self.evidence.words.get(name, 0.0) + meaning * near.get(name, 0.0)
            for name in union(lexical, vector)
        }
        together = self._documents(own)
        fused = []
        for name, score in own.items():
            best, document = together[self._doc(name)]
            if score < best:  # the document speaks through its best chunk; the others stand for themselves
                document = _together([score], self._siblings(name))
            score = round(min(1.0, (1 - DOCUMENT) * score + DOCUMENT * document), DIGITS)
            fused.append(Fused.of(name, score, score, None, lexical, vector))
        return sorted(fused, key=lambda item: item.order)

    def contributions(self, item: Fused, ran: tuple[bool, bool]) -> tuple[float | None, float | None]:
        """What each leg gives, with its part of what the document adds."""
        words, meaning = self._shares(*ran)
        found, near = self.evidence.words.get(item.chunk_id), (self.evidence.meaning or {}).get(item.chunk_id)
        own = words * (found or 0.0) + meaning * (near or 0.0)
        factor = item.relevance / own if own else 0.0
        return (
            None if found is None else round(factor * words * found, DIGITS),
            None if near is None else round(factor * meaning * near, DIGITS),
        )

    def _documents(self, own: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Of each document: the score of its best chunk, and what its best chunks say together."""
        heard: dict[str, list[float]] = {}
        for name, score in own.items():
            heard.setdefault(self._doc(name), []).append(score)
        sizes = {self._doc(name): self._siblings(name) for name in own}
        return {doc: (max(scores), _together(scores, sizes[doc])) for doc, scores in heard.items()}

    def _doc(self, name: str) -> str:
        extent = self.evidence.extents.get(name)
        return extent.doc_id if extent else name

    def _siblings(self, name: str) -> int:
        extent = self.evidence.extents.get(name)
        return extent.siblings if extent else 1

    def _shares(self, lexical: bool, vector: bool) -> tuple[float, float]:
        words, meaning = self.weights
        total = words * lexical + meaning * vector
        return (words * lexical / total, meaning * vector / total) if total else (0.0, 0.0)


def _together(scores: Sequence[float], chunks: int) -> float:
    heard = sum(sorted(scores, reverse=True)[:WITNESSES])
    return float(heard / (min(chunks, WITNESSES) ** FAIRNESS * WITNESSES ** (1 - FAIRNESS)))


Fusion = RRF | Weighted | Single | Blend


def fusion_for(profile: Profile, mode: Mode, alpha: float | None) -> Fusion:
    """The fusion of a search. One leg alone has nothing to fuse, but `best` keeps its one scale also then."""
    if profile.fusion == "calibrated":
        return Blend(profile.alpha if alpha is None else alpha)
    if mode != "hybrid":
        return Single("bm25" if mode == "lexical" else "cosine")
    return fusion_of(profile, alpha)


def informed(fusion: Fusion, snapshot: Snapshot, query: ParsedQuery, lexical: Found, vector: Found) -> Fusion:
    """A blend with what the store knows of the candidates; other fusions need no more than the two rankings."""
    if not isinstance(fusion, Blend):
        return fusion
    alpha = alpha_of(snapshot.model) if fusion.alpha is None else fusion.alpha
    return Blend(alpha, gather(snapshot, query, lexical, vector))


def alpha_of(model: ModelInfo | None) -> float:
    return ALPHA.get(model.id, ALPHA_ELSE) if model else ALPHA_ELSE
