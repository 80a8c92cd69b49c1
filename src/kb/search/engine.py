"""The recipe of a search: parse, find candidates, fuse, adjust, cut, hydrate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date

from kb.config import Profile, Settings, resolve_profile
from kb.errors import KBError, UsageError
from kb.protocols import Embedder, Snapshot, Store
from kb.search import adjust, explain
from kb.search.budget import pack
from kb.search.cursor import Cursor, decode, fingerprint
from kb.search.fuse import Fused, Fusion, Single, fusion_of
from kb.search.hits import IsStale, Showing, hydrate
from kb.search.legs import Found, LexicalLeg, VectorLeg, sat_out
from kb.search.query import ParsedQuery, parse
from kb.search.snippet import Marker
from kb.text import LEXICAL_VERSION
from kb.types import Mode, ModelInfo, Query, SearchResult, Value

DEPTH_FLOOR = 100  # candidates are never fewer than for this top, so that `--top 10` begins `--top 100`
MIN_DEPTH = 50


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(Value):
    """A query with every default filled in."""

    query: Query
    parsed: ParsedQuery
    profile: Profile
    fusion: Fusion
    mode: Mode
    top: int
    deadline: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Engine(Value):
    """Searches one store. It is given its parts and builds none; it reads the store and never writes."""

    store: Store
    settings: Settings
    embedder: Callable[[], Embedder | None]
    embedder_problem: Callable[[], KBError | None]
    is_stale: IsStale
    today: Callable[[], date]

    def search(self, query: Query) -> SearchResult:
        started = time.perf_counter()
        plan = self.plan(query)
        with self.store.snapshot() as snapshot:
            question = fingerprint(replace(plan.query, mode=plan.mode), repr(plan.profile))
            cursor = decode(query.cursor, question=question, revision=snapshot.revision) if query.cursor else None
            start, depth_top = (cursor.offset, cursor.top) if cursor else (0, plan.top)
            lexical, vector = self.candidates(snapshot, plan, depth_top)
            if plan.mode == "hybrid" and not (plan.parsed.empty or lexical.leg.ran or vector.leg.ran):
                plan = replace(plan, fusion=fusion_of(plan.profile, alpha=0.0))  # alpha 1, and no vectors: words answer
                lexical, _ = self.candidates(snapshot, plan, depth_top)
            ranking = self.rank(snapshot, plan, lexical, vector)
            page = ranking[start : start + plan.top]
            hits = pack(
                hydrate(snapshot, page, start + 1, self._showing(plan, lexical, vector, snapshot)), query.budget
            )
            end = start + len(hits)
            more = Cursor(end, depth_top, snapshot.revision, question).encode() if end < len(ranking) else None
            trace = (
                explain.trace(snapshot, plan.query, plan.fusion, page[: len(hits)], lexical, vector)
                if query.explain
                else None
            )
            revision = snapshot.revision
        return SearchResult(
            query=query.text,
            mode=plan.mode,
            profile=plan.profile.name,
            hits=tuple(hits),
            next_cursor=more,
            truncated=len(hits) < len(page),
            lexical=lexical.leg,
            vector=vector.leg,
            revision=revision,
            warnings=(*(_warning(found.problem) for found in (lexical, vector) if found.problem), *lexical.notes),
            took_ms=round((time.perf_counter() - started) * 1000, 3),
            trace=trace,
        )

    def index_version(self, mode: Mode) -> str:
        with self.store.snapshot() as snapshot:
            return index_version(mode, snapshot.model)

    # The steps of a search, each by its name: `kb why-not` goes through them with open eyes.

    def plan(self, query: Query) -> Plan:
        """The query with every default filled in; UsageError where a value makes no sense."""
        settings = self.settings.search
        profile = resolve_profile(self.settings, query.profile, query.filters.collection)
        profile = replace(
            profile,
            threshold=profile.threshold if query.threshold is None else query.threshold,
            min_score=profile.min_score if query.min_score is None else query.min_score,
        )
        top = profile.top if query.top is None else query.top
        if not 1 <= top <= settings.max_top:
            raise UsageError(f"top must be between 1 and {settings.max_top}, not {top}", fix="--top 10")
        if query.alpha is not None and not 0 <= query.alpha <= 1:
            raise UsageError(f"alpha must be between 0 and 1, not {query.alpha}", fix="--alpha 0.5")
        if query.budget is not None and query.budget < 1:
            raise UsageError(f"the budget must be at least 1 token, not {query.budget}", fix="--budget 2000")
        for name, cut in (("threshold", query.threshold), ("min_score", query.min_score)):
            if cut is not None and math.isnan(cut):  # nothing is above it: no cut but a mistake
                raise UsageError(f"{name} must be a number, not {cut}", fix=f"--{name.replace('_', '-')} 0.5")
        mode = query.mode
        fusion: Fusion = fusion_of(profile, query.alpha)
        if mode != "hybrid":
            fusion = Single("bm25" if mode == "lexical" else "cosine")
        deadline = time.monotonic() + settings.deadline_s
        filled = replace(query, now=(query.now or self.today()) if profile.half_life_days else None)
        return Plan(filled, parse(query.text, settings), profile, fusion, mode, top, deadline)

    def candidates(self, snapshot: Snapshot, plan: Plan, top: int) -> tuple[Found, Found]:
        """What each leg finds; filters act inside them. An empty query runs none."""
        depth = max(MIN_DEPTH, plan.profile.candidates * max(top, DEPTH_FLOOR))
        where = plan.query.filters
        skip_lexical, skip_vector = _not_asked(plan)
        lexical = (
            sat_out(skip_lexical)
            if skip_lexical
            else LexicalLeg(
                join=plan.profile.terms,
                floor=plan.profile.fusion == "weighted",
                deadline=plan.deadline,
                cjk=plan.profile.cjk,
                repeats=plan.profile.repeats,
            ).find(snapshot, plan.parsed, where, depth)
        )
        if skip_vector:
            return lexical, sat_out(skip_vector)
        vector = VectorLeg(self.embedder(), self.embedder_problem()).find(snapshot, plan.parsed, where, depth)
        if plan.mode == "vector" and vector.problem:
            raise vector.problem
        return lexical, vector

    def rank(self, snapshot: Snapshot, plan: Plan, lexical: Found, vector: Found) -> list[Fused]:
        """The fused ranking, faded and cut as the profile says."""
        if lexical.ranking is None and vector.ranking is None:
            return []
        ranking = plan.fusion.fuse(lexical.ranking, vector.ranking)
        if plan.profile.half_life_days and plan.query.now:
            paths = _paths(snapshot, [item.chunk_id for item in ranking])
            half_life = plan.profile.half_life_days
            ranking = adjust.decay(ranking, paths.__getitem__, now=plan.query.now, half_life_days=half_life)
        return adjust.cut(ranking, threshold=plan.profile.threshold, min_score=plan.profile.min_score)

    def _showing(self, plan: Plan, lexical: Found, vector: Found, snapshot: Snapshot) -> Showing:
        tier = lexical.leg.tier
        return Showing(
            mode=plan.mode,
            score_kind=plan.fusion.kind,
            tier=tier,
            tiers=lexical.tiers or {},
            index_version=index_version(_legs_used(lexical, vector), snapshot.model),
            embedding_model=snapshot.model.label if snapshot.model else None,
            marker=Marker.of(
                plan.parsed, substrings=tier == "like", also=lexical.also, languages=snapshot.vocabulary.languages
            ),
            snippet_chars=self.settings.search.snippet_chars,
            is_stale=self.is_stale,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModeRetriever(Value):
    """One mode of an engine as a ``Retriever``: callers cannot tell which of the three they hold."""

    engine: Engine
    mode: Mode

    @property
    def index_version(self) -> str:
        return self.engine.index_version(self.mode)

    def retrieve(self, query: Query) -> SearchResult:
        return self.engine.search(replace(query, mode=self.mode))


def index_version(mode: Mode, model: ModelInfo | None) -> str:
    """``lexical:<v>``, ``vector:<v>`` or ``hybrid:<lex>+<vec>``."""
    vector = model.label if model else "none"
    return {"lexical": f"lexical:{LEXICAL_VERSION}", "vector": f"vector:{vector}"}.get(
        mode, f"hybrid:{LEXICAL_VERSION}+{vector}"
    )


def _legs_used(lexical: Found, vector: Found) -> Mode:
    if lexical.leg.ran and vector.leg.ran:
        return "hybrid"
    return "vector" if vector.leg.ran else "lexical"


def _warning(problem: KBError) -> str:
    return f"no vector search: {problem.message}" + (f" (try: {problem.fix})" if problem.fix else "")


def _not_asked(plan: Plan) -> tuple[str, str]:
    """Why a leg does not run although it could; "" when it runs."""
    if plan.parsed.empty:
        return ("the query is empty", "the query is empty")
    if plan.mode != "hybrid":
        return ("", "the mode is lexical") if plan.mode == "lexical" else ("the mode is vector", "")
    lexical, vector = ("" if weight > 0 else "its weight is 0" for weight in plan.fusion.weights)
    return (lexical, plan.parsed.exact or vector)


def _paths(snapshot: Snapshot, chunk_ids: list[str]) -> dict[str, str]:
    chunks = snapshot.chunks(chunk_ids)
    documents = snapshot.documents(list(dict.fromkeys(chunk.doc_id for chunk in chunks.values())))
    return {chunk_id: documents[chunk.doc_id].path for chunk_id, chunk in chunks.items()}
