"""The recipe of a search: parse, find candidates, fuse, adjust, cut, arrange, hydrate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from kb.config import Profile, Settings, resolve_profile
from kb.errors import KBError, UsageError
from kb.protocols import Embedder, Reranker, Snapshot, Store
from kb.search import adjust, arrange, cursor, explain
from kb.search.arrange import Arranged
from kb.search.blend import Blend, Fusion, fusion_for, informed
from kb.search.confidence import judgement
from kb.search.evidence import Evidence
from kb.search.fuse import RRF, Fused
from kb.search.hits import IsStale, Showing, hydrate
from kb.search.legs import Found, LexicalLeg, VectorLeg, above_chance, sat_out
from kb.search.query import ParsedQuery, parse
from kb.search.snippet import Marker
from kb.text import LEXICAL_VERSION
from kb.types import Hit, Mode, ModelInfo, Query, SearchResult, Value

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
    substrings: bool = True


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Engine(Value):
    """Searches one store. It is given its parts and builds none; it reads the store and never writes."""

    store: Store
    settings: Settings
    embedder: Callable[[ModelInfo | None], Embedder | None]  # of the stored vectors' model; None: the configured one
    embedder_problem: Callable[[ModelInfo | None], KBError | None]
    is_stale: IsStale
    today: Callable[[], date]
    model_notice: Callable[[Snapshot], str] = lambda _snapshot: ""  # to say of the model that answers
    reranker: Callable[[], Reranker] = arrange.no_reranker

    def search(self, query: Query) -> SearchResult:
        started = time.perf_counter()
        plan = self.plan(query)
        with self.store.snapshot(query.filters.collection) as snapshot:
            page = self.start(plan, snapshot.revision)
            plan, lexical, vector = self.find(snapshot, plan, page.top)
            fused = self.rank(snapshot, plan, lexical, vector)
            judged = judgement(plan.fusion, fused, snapshot)
            arranged, warnings = self.arrange(snapshot, plan, fused, page)
            ranking = arranged.ranking
            places = cursor.places(page, plan.top, len(ranking))
            showing = replace(self._showing(plan, lexical, vector, snapshot), confidence=judged.hits if judged else {})
            hits = self._show(snapshot, plan, ranking, places, showing)
            given = [hit.rank - 1 for hit in hits]
            following = cursor.after(replace(page, opinions=arranged.opinions), given, len(ranking))
            trace = None
            if query.explain:
                shown = [ranking[place] for place in given]
                trace = explain.trace(snapshot, plan.query, plan.fusion, shown, lexical, vector) | arranged.told(shown)
            revision = snapshot.revision
            notice = self.model_notice(snapshot) if vector.leg.ran else ""
        return SearchResult(
            query=query.text,
            mode=plan.mode,
            profile=plan.profile.name,
            hits=tuple(hits),
            next_cursor=following.encode() if following else None,
            truncated=len(hits) < len(places),
            lexical=lexical.leg,
            vector=vector.leg,
            revision=revision,
            warnings=(
                *(_warning(found.problem) for found in (lexical, vector) if found.problem),
                *lexical.notes,
                *([notice] if notice else []),
                *warnings,
            ),
            took_ms=round((time.perf_counter() - started) * 1000, 3),
            trace=trace,
            no_good_match=judged.no_good_match if judged and not plan.parsed.empty else None,
            evidence=judged.evidence if judged and not plan.parsed.empty else None,
        )

    def blended(self, query: Query) -> tuple[list[Fused], Evidence]:
        """The ranking of a query, with what it was made of; without the last tier, which looks at every chunk."""
        plan = replace(self.plan(query), substrings=False)
        with self.store.snapshot() as snapshot:
            plan, lexical, vector = self.find(snapshot, plan, plan.top)
            ranking = self.rank(snapshot, plan, lexical, vector)
        return ranking, plan.fusion.evidence if isinstance(plan.fusion, Blend) else Evidence()

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
        arrange.check(query.shape)
        mode = query.mode
        fusion = fusion_for(profile, mode, query.alpha)
        deadline = time.monotonic() + settings.deadline_s
        filled = replace(query, now=(query.now or self.today()) if profile.half_life_days else None)
        return Plan(filled, parse(query.text, settings), profile, fusion, mode, top, deadline)

    def find(self, snapshot: Snapshot, plan: Plan, top: int) -> tuple[Plan, Found, Found]:
        """What each leg finds, and the plan with a fusion that knows of it."""
        lexical, vector = self.candidates(snapshot, plan, top)
        if plan.mode == "hybrid" and not (plan.parsed.empty or lexical.leg.ran or vector.leg.ran):
            plan = replace(plan, fusion=fusion_for(plan.profile, plan.mode, 0.0))  # alpha 1, no vectors: words answer
            lexical, _ = self.candidates(snapshot, plan, top)
        fusion = informed(plan.fusion, snapshot, plan.parsed, lexical, vector)
        return replace(plan, fusion=fusion), lexical, vector

    def candidates(self, snapshot: Snapshot, plan: Plan, top: int) -> tuple[Found, Found]:
        """What each leg finds; filters act inside them. An empty query runs none."""
        depth = depth_of(plan.profile, top)
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
                substrings=plan.substrings,
            ).find(snapshot, plan.parsed, where, depth)
        )
        if skip_vector:
            return lexical, sat_out(skip_vector)
        made_by = snapshot.model  # the query is embedded by the model of the chunks
        vector = VectorLeg(self.embedder(made_by), self.embedder_problem(made_by)).find(
            snapshot, plan.parsed, where, depth
        )
        if plan.mode == "vector" and vector.problem:
            raise vector.problem
        if plan.mode == "hybrid" and isinstance(plan.fusion, RRF):
            vector = above_chance(vector, snapshot.calibration)
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

    def arrange(
        self, snapshot: Snapshot, plan: Plan, fused: Sequence[Fused], page: cursor.Cursor
    ) -> tuple[Arranged, list[str]]:
        """The order of the answer, and what to warn of. The reranker is asked for the first page alone."""
        shape, settings = plan.query.shape, self.settings.rerank
        opinions, warning = page.opinions, None
        if not plan.query.cursor and fused and arrange.wants_reranker(shape, plan.profile):
            from kb.search.rerank import ask

            text, strict = plan.parsed.text, bool(shape.rerank)
            opinions, warning = ask(snapshot, fused, text, settings, self.reranker, plan.deadline, strict=strict)
        arranged = arrange.arrange(snapshot, fused, shape, opinions=opinions, weight=settings.weight)
        return arranged, [warning] if warning else []

    def start(self, plan: Plan, revision: int) -> cursor.Cursor:
        """Where this page begins: at the first place, or where its cursor says."""
        settings = f"{plan.profile!r}{self.settings.rerank!r}"
        question = cursor.fingerprint(replace(plan.query, mode=plan.mode), settings)
        if plan.query.cursor:
            return cursor.decode(plan.query.cursor, question=question, revision=revision)
        return cursor.first(plan.top, revision, question)

    def _show(
        self, snapshot: Snapshot, plan: Plan, ranking: Sequence[Fused], places: Sequence[int], showing: Showing
    ) -> list[Hit]:
        """The hits at these places, or those of them that a budget has room for."""
        if plan.query.budget is None:
            return hydrate(snapshot, [(place + 1, ranking[place]) for place in places], showing)
        from kb.search.budget import WINDOW, pack

        page = [(place + 1, ranking[place]) for place in places[:WINDOW]]
        return pack(hydrate(snapshot, page, showing), plan.query.budget)

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
            whole=plan.query.budget is not None,
            parent=plan.query.shape.parent,
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


def depth_of(profile: Profile, top: int) -> int:
    """How many candidates each leg gives."""
    return max(MIN_DEPTH, profile.candidates * max(top, DEPTH_FLOOR))


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
