"""The recipe of ``kb why-not``: find the document, search, see where it is lost, try what would show it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from shlex import quote

from kb.search.engine import Engine
from kb.search.legs import Found
from kb.types import Query
from kb.whynot import legs, narrowing, reasons
from kb.whynot.changes import Trial, smallest
from kb.whynot.look import Look
from kb.whynot.target import Target, absent, find
from kb.whynot.values import Reason, Standing, WhyNot

WAITING = 100_000  # chunks without a vector that are looked through


def study(engine: Engine, ref: str, query: Query) -> WhyNot:
    started = time.perf_counter()
    found = _study(engine, ref, replace(query, explain=False))
    return replace(found, took_ms=round((time.perf_counter() - started) * 1000, 3))


def _study(engine: Engine, ref: str, query: Query) -> WhyNot:
    plan = engine.plan(query)
    with engine.store.snapshot(query.filters.collection) as snapshot:
        target = find(snapshot, ref, query.filters.collection)
        told = WhyNot(ref, query, plan.profile.name, None, 0, None, revision=snapshot.revision)
        if target is None:
            return replace(told, reasons=(absent(snapshot, ref, query.filters.collection, engine.settings.ingest),))
        told = replace(told, document=target.document, chunks=len(target.chunks))
        if not target.chunks:
            return replace(told, reasons=(_empty(target),))
        checks = narrowing.checks(snapshot, target, query.filters)
    answer = engine.search(query)
    trial = Trial(engine, target)
    kept_out = [field for field, check in checks.items() if not check.passes]
    start = query
    if kept_out:  # a cursor belongs to one set of filters
        start = replace(query, filters=narrowing.without(query.filters, kept_out), cursor=None)
    told = replace(
        told,
        rank=trial.rank_in(answer.hits),
        filters=tuple(checks.values()),
        warnings=answer.warnings,
        revision=answer.revision,
    )
    return _looked(trial, told, start)


def _looked(trial: Trial, told: WhyNot, start: Query) -> WhyNot:
    """With what each step makes of the document, once the filters that it does not pass are gone."""
    engine, target = trial.engine, trial.target
    seen = trial.look(start)
    if seen is None:  # refused: without the filters another model would have to answer, which is not here
        return replace(told, reasons=tuple(reasons.of_filters(told.filters)))
    with engine.store.snapshot(start.filters.collection) as snapshot:
        lexical, vector = legs.deeper(engine, snapshot, start, seen)
        words = legs.words(snapshot, target, seen, lexical)
        meaning = legs.meaning(snapshot, target, seen, vector)
    standing = _standing(seen)
    told = replace(told, words=words, meaning=meaning, standing=standing)
    if told.shown:
        return told
    found = [*reasons.of_filters(told.filters)]
    if start == told.query or not trial.shows(start):
        found += reasons.of_stage(seen, standing, words, meaning)
        found += _vectors(engine, target, vector)
    found += _stale(engine, target)
    change = smallest(trial, told.query, replace(start, cursor=None), seen, words)
    return replace(told, reasons=tuple(found), change=change)


def _standing(seen: Look) -> Standing:
    item, shown = seen.item, [seen.order[place] for place in seen.places]
    if seen.rank is not None:
        item = seen.order[seen.rank - 1]
    return Standing(
        score_kind=seen.plan.fusion.kind,
        rank=seen.rank,
        ranked=len(seen.order),
        score=item.score if item else None,
        relevance=item.relevance if item else None,
        decay=item.decay if item else None,
        last_score=shown[-1].score if shown else None,
    )


# ---------------------------------------------------------------- what no other search would help


def _empty(target: Target) -> Reason:
    return Reason("no_text", "It holds no text, so that nothing can find it.", _again(target))


def _stale(engine: Engine, target: Target) -> Iterator[Reason]:
    if engine.is_stale(target.document):
        yield Reason("stale", "The file has changed, or gone, since it was indexed.", _again(target))


def _vectors(engine: Engine, target: Target, vector: Found) -> Iterator[Reason]:
    """Vectors that are missing, and a model that is not here."""
    with engine.store.snapshot(target.document.collection) as snapshot:
        model, held = snapshot.model, snapshot.vectors_of(sorted(target.wanted))
    if model is not None and len(held) < len(target.wanted):
        waiting = target.wanted.intersection(
            engine.store.models.waiting(model.label, target.document.collection, WAITING)
        )
        if waiting:
            told = f"{len(waiting)} of its {len(target.wanted)} chunks wait for a vector."
            yield Reason("pending", told, _again(target) or "kb model run")
    if vector.problem is not None and vector.problem.fix:
        yield Reason("model", f"The vector leg could not answer: {vector.problem.message}.", vector.problem.fix)


def _again(target: Target) -> str:
    source = target.document.source
    return f"kb add {quote(source)}" if source else ""
