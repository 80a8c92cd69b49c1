"""One pass through the steps of a search: where the document stands after each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from kb.protocols import Snapshot
from kb.search import adjust, cursor
from kb.search.cursor import Cursor
from kb.search.engine import Engine, Plan
from kb.search.fuse import Fused
from kb.search.legs import Found
from kb.types import Query

# Where a search loses a document, in the order of its steps; "budget" is all that is left when its place is on the page.
Stage = Literal["empty", "legs", "threshold", "min_score", "per_doc", "earlier", "later", "budget"]


@dataclass(frozen=True)
class Look:
    """What each step of one search has made of it."""

    wanted: frozenset[str]
    plan: Plan
    page: Cursor
    lexical: Found
    vector: Found
    fused: tuple[Fused, ...]  # before the cuts
    kept: tuple[Fused, ...]
    order: tuple[Fused, ...]  # of the answer and all that follows it

    @cached_property
    def item(self) -> Fused | None:
        """The best of its chunks in the fused ranking, before any cut."""
        return next((item for item in self.fused if item.chunk_id in self.wanted), None)

    @cached_property
    def rank(self) -> int | None:
        """Its place in the order of the answer, however far down."""
        return rank_of(self.order, self.wanted)

    @cached_property
    def places(self) -> list[int]:
        return cursor.places(self.page, self.plan.top, len(self.order))

    @property
    def stage(self) -> Stage:
        """What loses it; of a document that the answer shows, "budget"."""
        if self.item is None:
            return "empty" if self.plan.parsed.empty else "legs"
        if not any(item.chunk_id in self.wanted for item in self.kept):
            threshold = self.plan.profile.threshold
            return "threshold" if threshold is not None and self.item.score < threshold else "min_score"
        if self.rank is None:
            return "per_doc"
        if self.rank - 1 in self.places:
            return "budget"
        return "earlier" if self.rank - 1 < self.page.offset else "later"


def look(engine: Engine, snapshot: Snapshot, query: Query, wanted: frozenset[str]) -> Look:
    """The engine's own steps; only the cuts are made beside them, to see what they take away."""
    plan = engine.plan(query)
    page = engine.start(plan, snapshot.revision)
    plan, lexical, vector = engine.find(snapshot, plan, page.top)
    profile = plan.profile
    uncut = replace(plan, profile=replace(profile, threshold=None, min_score=None))
    fused = engine.rank(snapshot, uncut, lexical, vector)
    kept = adjust.cut(fused, threshold=profile.threshold, min_score=profile.min_score)
    arranged, _ = engine.arrange(snapshot, plan, kept, page)
    return Look(wanted, plan, page, lexical, vector, tuple(fused), tuple(kept), arranged.ranking)


def rank_of(items: Iterable[Fused], wanted: frozenset[str]) -> int | None:
    """The rank of the first one that is wanted or has something wanted merged into it."""
    ranks = (rank for rank, item in enumerate(items, start=1) if wanted.intersection(parts(item)))
    return next(ranks, None)


def parts(item: Fused) -> Sequence[str]:
    return item.merged or (item.chunk_id,)
