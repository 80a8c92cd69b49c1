"""The two ways of finding chunks. Each returns its ranking, and how it came about."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from kb.analysis import stems
from kb.errors import EmbedderFailed, IndexMismatch, KBError, QueryTimeout, UsageError
from kb.models import Calibration
from kb.protocols import Embedder, Snapshot
from kb.search.fuse import DIGITS, Ranked, ranked
from kb.search.query import PAIRS_LEAST, ParsedQuery
from kb.search.widen import notes, unknown, widen
from kb.text import scripts, unreadable_share
from kb.types import Candidate, Filters, Leg, LexicalQuery, ModelInfo, StoredChunk, StoredDocument, Tier, Value, Vector

# With weights and a min_score, a bm25 near zero would drop a good match: FTS5's idf collapses to 1e-6 for a word that
# stands in half of the chunks, as every word does in a store of one or two. |b| is therefore taken as at least this
# times the share of the query's words that the chunk holds: 0.55 / 1.55 * 0.3 = 0.106, above the default min_score.
COVERAGE_FLOOR = 0.55
UNREADABLE = 0.25  # share of a query's letters in scripts that the model cannot read, above which its leg sits out
BELOW = 0.99  # of the last hit's score: what the first hit of a lower tier may have at most
# Ranks know no scale: in a rank fusion the best of 10,000 chunks that have nothing to do with the question counts as much
# as a true neighbour. Nearer than this many deviations above the mean of random pairs is no chance. nDCG@10 of RRF: .511
# -> .518 over five collections (docs/decisions/010-best.md). Small stores know too little of chance.
CHANCE, CHANCE_LEAST = 3.0, 1000
NO_MODEL = UsageError("no embedding model is configured: keywords only", fix="kb config set embed.model static")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Found(Value):
    """One leg's ranking; ``ranking`` is None when the leg did not run."""

    ranking: dict[str, Ranked] | None
    leg: Leg
    raw: tuple[Candidate, ...] = ()
    problem: KBError | None = None  # a warning where another leg answers, an error where none does
    tiers: Mapping[str, Tier] | None = None  # of the hits that another tier than ``leg.tier`` found
    notes: tuple[str, ...] = ()  # what a reader must be told
    also: tuple[str, ...] = ()  # words looked for that were not asked for
    asked: LexicalQuery | None = None  # what the keyword leg looked for
    vector: Vector = b""  # what the vector leg compared with


def sat_out(reason: str | KBError) -> Found:
    """A leg that did not run: with a reason that is no fault, or with a problem."""
    problem = reason if isinstance(reason, KBError) else None
    leg = Leg(engine="none", ran=False, tier=None, candidates=0, ms=0.0, reason=str(reason))
    return Found(None, leg, (), problem)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LexicalLeg(Value):
    """Keyword search in tiers: FTS5 words, or trigrams for CJK, then substrings when nothing was found."""

    join: Literal["any", "all"]
    floor: bool  # weighted profiles: see COVERAGE_FLOOR
    deadline: float | None
    cjk: Literal["runs", "words"] = "runs"
    repeats: bool = False
    substrings: bool = True  # look at every chunk where words find nothing

    def find(self, snapshot: Snapshot, query: ParsedQuery, where: Filters, limit: int) -> Found:
        started = time.perf_counter()
        wider = widen(snapshot, self._first(query))
        asked = wider.query
        found = snapshot.match(asked, where, limit)
        below: list[Candidate] = []
        if asked.tier == "trigram" and self.join == "any" and not self.floor and len(found) < limit:
            wider = widen(snapshot, query.words("any", self.deadline, repeats=self.repeats))
            below = _others(snapshot, wider.query, where, limit, found)
        if not found and self.substrings:
            asked, found = self._fallen(snapshot, query, where, limit, below) or (asked, found)
            below = below if found is not below and asked.tier == "trigram" else []
        scores = [(hit.chunk_id, hit.score) for hit in found]
        if self.floor:
            scores = _lift(scores, lambda ids: _coverage(snapshot, asked.tier, query, ids))
        scores += _under(scores[-1][1], below) if scores and below else []
        shown = [(chunk_id, round(bounded(score), DIGITS)) for chunk_id, score in scores]
        leg = Leg(snapshot.lexical_engine, True, asked.tier if found else None, len(shown), _ms(started))
        tiers: dict[str, Tier] = {hit.chunk_id: "fts" for hit in below}
        notes = wider.notes or (() if found else self._guesses(snapshot, query))
        return Found(ranked(shown), leg, (*found, *below), tiers=tiers, notes=notes, also=wider.also, asked=asked)

    def _first(self, query: ParsedQuery) -> LexicalQuery:
        if query.raw is None and (self.cjk == "words" or not query.cjk):
            return query.words(self.join, self.deadline, repeats=self.repeats)
        return query.first(self.join, self.deadline)

    def _fallen(
        self, snapshot: Snapshot, query: ParsedQuery, where: Filters, limit: int, words: list[Candidate]
    ) -> tuple[LexicalQuery, list[Candidate]] | None:
        """What else is tried where nothing was found; pairs of characters in the word index stand for substrings."""
        if words:
            return query.words("any", self.deadline), words
        return self._substrings(snapshot, query, where, limit)

    def _guesses(self, snapshot: Snapshot, query: ParsedQuery) -> tuple[str, ...]:
        """Where nothing was found: which words may be misspelt. Nothing is searched for instead."""
        return notes(unknown(snapshot, query.terms), "did you mean") if query.raw is None else ()

    def _substrings(
        self, snapshot: Snapshot, query: ParsedQuery, where: Filters, limit: int
    ) -> tuple[LexicalQuery, list[Candidate]] | None:
        """What is tried when words find nothing; this tier scores by the number of words found."""
        last = query.last(self.join, self.deadline)
        if last is not None:
            least = len(last.terms) if last.join == "all" else 0.0
            if found := [hit for hit in snapshot.match(last, where, limit) if hit.score >= least]:
                return last, found
        pairs = query.pairs(self.deadline)
        if pairs is not None:
            least = PAIRS_LEAST * len(pairs.terms)
            with suppress(QueryTimeout):  # one look more than was promised is not worth an error
                if found := [hit for hit in snapshot.match(pairs, where, limit) if hit.score >= least]:
                    return pairs, found
        return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorLeg(Value):
    """Exact cosine search with the model that made the stored vectors."""

    embedder: Embedder | None
    problem: KBError | None  # why there is no embedder

    def find(self, snapshot: Snapshot, query: ParsedQuery, where: Filters, limit: int) -> Found:
        started = time.perf_counter()
        if self.embedder is None:
            return sat_out(self.problem or NO_MODEL)
        try:
            refusal = _refusal(self.embedder.info, snapshot, query)
            vector = b"" if refusal else self.embedder.embed_query(query.text)
        except EmbedderFailed as cause:
            return sat_out(cause)
        if refusal:
            return refusal
        if not any(vector):
            return sat_out(f"the model {self.embedder.info.id} knows no word of this query")
        found = snapshot.nearest(vector, where, limit)
        shown = [(hit.chunk_id, round(max(0.0, hit.score), DIGITS)) for hit in found]
        leg = Leg(snapshot.vector_engine, True, None, len(found), _ms(started))
        return Found(ranked(shown), leg, tuple(found), vector=vector)


def above_chance(found: Found, calibration: Calibration | None) -> Found:
    """A vector leg without the tail that any question would have got."""
    if found.ranking is None or calibration is None or calibration.vectors < CHANCE_LEAST:
        return found
    least = calibration.mean + CHANCE * calibration.deviation
    kept = tuple(hit for hit in found.raw if hit.score >= least)  # best first, so ranks stay
    ranking = {hit.chunk_id: found.ranking[hit.chunk_id] for hit in kept}
    return replace(found, ranking=ranking, raw=kept, leg=replace(found.leg, candidates=len(kept)))


def _refusal(info: ModelInfo, snapshot: Snapshot, query: ParsedQuery) -> Found | None:
    """Why this model has nothing to say about this query and store."""
    if snapshot.model is None:
        return sat_out("the store has no vectors yet")
    if snapshot.model.label != info.label:
        made_by = f"the vectors were made by {snapshot.model.label}, the model at hand is {info.label}"
        return sat_out(IndexMismatch(made_by, fix="kb model set NAME, which embeds anew and answers meanwhile"))
    if unreadable_share(query.text, info.scripts) > UNREADABLE:
        others = ", ".join(sorted(scripts(query.text) - set(info.scripts)))
        return sat_out(f"the model {info.id} does not read this script ({others})")
    return None


def _others(
    snapshot: Snapshot, query: LexicalQuery, where: Filters, limit: int, found: Sequence[Candidate]
) -> list[Candidate]:
    """What a query finds beyond these, for the places that they leave."""
    known = {hit.chunk_id for hit in found}
    more = [hit for hit in snapshot.match(query, where, limit) if hit.chunk_id not in known]
    return more[: limit - len(found)]


def _under(least: float, hits: Sequence[Candidate]) -> list[tuple[str, float]]:
    """Scores below a given one, in the order of the hits: two scales do not compare, but the order must hold."""
    scale = min(1.0, BELOW * least / hits[0].score) if hits[0].score > 0 else 1.0
    return [(hit.chunk_id, hit.score * scale) for hit in hits]


def bounded(score: float) -> float:
    """``|b| / (1 + |b|)``: a bm25, of any size, in [0, 1) and in the same order."""
    return score / (1.0 + score)


def _lift(
    scores: Sequence[tuple[str, float]], coverage: Callable[[list[str]], dict[str, float]]
) -> list[tuple[str, float]]:
    """Raise collapsed scores to their floor, keeping the order: none falls below one that ranks after it."""
    shares = coverage([chunk_id for chunk_id, score in scores if score < COVERAGE_FLOOR])
    lifted: list[tuple[str, float]] = []
    below = 0.0
    for chunk_id, score in reversed(scores):
        below = max(below, score, COVERAGE_FLOOR * shares.get(chunk_id, 0.0))
        lifted.append((chunk_id, below))
    return lifted[::-1]


def _coverage(snapshot: Snapshot, tier: Tier, query: ParsedQuery, chunk_ids: list[str]) -> dict[str, float]:
    """The share of the query's words that each chunk holds."""
    if tier != "fts":
        return dict.fromkeys(chunk_ids, 1.0)  # these tiers found all the words, or score by their number
    wanted = set(stems(" ".join(term.text for term in query.terms)))
    chunks = snapshot.chunks(chunk_ids)
    documents = snapshot.documents(sorted({chunk.doc_id for chunk in chunks.values()}))
    return {
        chunk_id: len(wanted.intersection(stems(searchable(chunk, documents[chunk.doc_id])))) / len(wanted)
        for chunk_id, chunk in chunks.items()
        if wanted
    }


def searchable(stored: StoredChunk, document: StoredDocument) -> str:
    """All the text by which a chunk can be found."""
    parts = (document.title, *stored.chunk.heading_path, stored.chunk.symbol or "", stored.chunk.text)
    return " ".join(parts)


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
