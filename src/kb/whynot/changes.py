"""The smallest change of a search that shows the document: found by trying, step by step and idea by idea."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kb.errors import KBError
from kb.search.engine import DEPTH_FLOOR, Engine
from kb.types import Hit, Query
from kb.whynot.command import argv, told
from kb.whynot.legs import vocabulary
from kb.whynot.look import Look, look
from kb.whynot.target import Target
from kb.whynot.values import Change, Words

MOST_STEPS = 6  # of one idea: cuts, hits per document, rank and budget may each ask for one, the rank for two
FAR = 100  # a longer answer than this is no small change: another one is looked for first
ENOUGH = 2  # things to change: what needs no more is not looked beyond
OWN_WORDS = 60  # words of the document that are looked up, for the rarest of them
ADDED = 3  # of the rarest, each tried on its own


class Trial:
    """A document, and the engine that is asked again. Nothing is asked twice."""

    def __init__(self, engine: Engine, target: Target) -> None:
        self.engine = engine
        self.target = target
        self._seen: dict[Query, Look | None] = {}

    def look(self, query: Query) -> Look | None:
        """None: the engine refuses the query."""
        if query not in self._seen:
            try:
                with self.engine.store.snapshot(query.filters.collection) as snapshot:
                    self._seen[query] = look(self.engine, snapshot, query, self.target.wanted)
            except KBError:
                self._seen[query] = None
        return self._seen[query]

    def rank(self, query: Query) -> int | None:
        """Its rank in the answer."""
        try:
            return self.rank_in(self.engine.search(query).hits)
        except KBError:
            return None

    def rank_in(self, hits: Sequence[Hit]) -> int | None:
        shown = (hit.rank for hit in hits if self.target.wanted.intersection(hit.merged or (hit.chunk_id,)))
        return next(shown, None)

    def shows(self, query: Query) -> bool:
        """Whether its place is on the page and, where there is a budget, has room there."""
        seen = self.look(query)
        if seen is None or seen.stage != "budget":
            return False
        return query.budget is None or self.rank(query) is not None

    def mended(self, query: Query) -> Query | None:
        """The query with what its cuts and its length need to show the document; None where that is not enough."""
        for _ in range(MOST_STEPS):
            if self.shows(query):
                return self._shorter(query)
            seen = self.look(query)
            changed = seen and _mend(seen, query, self.target, self.engine.settings.search.max_top)
            if not changed or changed == query:
                return None
            query = changed
        return None

    def _shorter(self, query: Query) -> Query:
        """A long answer looked deeper than the one before, and what was looked for may have come up."""
        seen = self.look(query)
        if seen is None or seen.rank is None or query.top is None or not FAR < seen.rank < query.top:
            return query
        shorter = replace(query, top=seen.rank)
        return shorter if self.shows(shorter) else query

    def deeper(self, query: Query) -> Query | None:
        """With the shortest answer that looks deep enough to find it."""
        low, high = max(query.top or 0, DEPTH_FLOOR), self.engine.settings.search.max_top
        if self.mended(replace(query, top=high)) is None:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            seen = self.look(replace(query, top=middle))
            low, high = (low, middle) if seen and seen.stage == "budget" else (middle, high)
        return self.mended(replace(query, top=high))


def smallest(trial: Trial, before: Query, start: Query, seen: Look, words: Words) -> Change | None:
    """``start`` is the query without what keeps the document out in any case: filters, and a later page."""
    needed = len(told(before, start))
    best: tuple[int, Query] | None = None
    for tried, idea in enumerate(_ideas(trial, start, seen, words), start=1):
        found = trial.mended(idea)
        if found is None:
            continue
        far = (found.top or 0) > max(FAR, before.top or 0)
        cost = len(told(before, found)) - needed + FAR * far
        if best is None or cost < best[0]:
            best = (cost, found)
        if best[0] <= (1 if tried == 1 else ENOUGH):
            break
    after = best[1] if best else (trial.deeper(start) if seen.item is None else None) or _own(trial, start)
    if after is None or (rank := trial.rank(after)) is None:
        return None
    default = "hybrid" if trial.engine.settings.search.hybrid else "lexical"
    return Change(told(before, after), after, rank, argv(after, default))


def _mend(seen: Look, query: Query, target: Target, max_top: int) -> Query | None:
    """One step further."""
    item, shape = seen.item, query.shape
    if item is None:
        return None
    if seen.stage == "threshold":
        return replace(query, threshold=item.score)
    if seen.stage == "min_score":
        least = seen.plan.profile.threshold
        wanted = [
            each for each in seen.fused if each.chunk_id in seen.wanted and (least is None or each.score >= least)
        ]
        return replace(query, min_score=max(each.relevance for each in wanted))
    if seen.stage == "per_doc":
        own = {chunk.chunk_id for chunk in target.chunks}
        before = [each.chunk_id for each in seen.kept if each.chunk_id in own]
        place = next(rank for rank, name in enumerate(before, start=1) if name in seen.wanted)
        return replace(query, shape=replace(shape, per_doc=max(place, (shape.per_doc or 0) + 1)))
    if seen.stage == "later" and seen.rank is not None and seen.rank <= max_top:
        return replace(query, top=seen.rank)
    return replace(query, budget=None) if seen.stage == "budget" else None


# ---------------------------------------------------------------- ideas


def _ideas(trial: Trial, start: Query, seen: Look, words: Words) -> Iterator[Query]:
    """Other searches, the nearest first."""
    parsed, profile = seen.plan.parsed, seen.plan.profile
    near = {missing.word: missing.near[0] for missing in words.missing if missing.near}
    spelt = replace(start, text=_replaced(start.text, near)) if near else start
    misspelt = words.rank is None and seen.stage != "budget"
    yield from dict.fromkeys((spelt, start) if misspelt else (start, spelt))
    if parsed.raw is not None:
        yield replace(start, text=parsed.text)
    elif any(term.phrase for term in parsed.terms):
        yield replace(start, text=" ".join(start.text.replace('"', " ").split()))
    if profile.terms == "all":
        yield replace(start, profile="notes")
    for mode in ("hybrid", "lexical", "vector"):
        if mode != start.mode:
            yield replace(start, mode=mode)
    if profile.name != "best":
        yield replace(start, profile="best")
    if start.mode == "hybrid":
        yield from (replace(start, alpha=alpha) for alpha in (0.2, 0.8))
    if profile.terms == "any" and parsed.raw is None:
        for word in rarest(trial, start, trial.target.document.title)[:ADDED]:
            yield replace(start, text=f"{start.text} {word}".strip())


def _own(trial: Trial, start: Query) -> Query | None:
    """When nothing else helps: the search within the document, at last with its own words."""
    title = f"{trial.target.document.title} {trial.target.document.path}"
    only = replace(start, filters=replace(start.filters, path=trial.target.only.path))
    asked = [only, *(replace(only, text=word, mode="lexical") for word in rarest(trial, start, title))]
    return next((found for query in asked if (found := trial.mended(query))), None)


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """The near words instead of those that the document lacks."""
    any_of = "|".join(map(re.escape, words))
    return re.sub(rf"(?<!\w)(?:{any_of})(?!\w)", lambda match: words[match[0]], text)


def rarest(trial: Trial, start: Query, title: str) -> Sequence[str]:
    """Words of the document, those that stand in the fewest chunks first."""
    known = list(vocabulary(title, trial.target.texts))[:OWN_WORDS]
    with trial.engine.store.snapshot(start.filters.collection) as snapshot:
        counts = snapshot.vocabulary.terms(known)
    return sorted((word for word in known if counts.get(word)), key=lambda word: (counts[word], known.index(word)))
