"""Asks a store the questions of a judged collection in one mode and profile, and measures what comes back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kb.app import KB
from kb.evaluate.gate import budget_measure
from kb.evaluate.judged import Judged, JudgedQuery
from kb.evaluate.metrics import calibration, interval, mean, measure, recall
from kb.evaluate.rank import NOWHERE, Position, gains, is_relevant, nearest, positions
from kb.evaluate.report import HEADLINE, Foreign, ModeReport
from kb.types import Filters, Hit, Mode, Query, SearchResult

DEPTH = 100  # chunks asked for; recall@100 counts the documents among them
CONFIDENT = 10  # hits of each answer whose confidence is held against the judgements


@dataclass(frozen=True, slots=True)
class Task:
    """How to ask: one row of the report."""

    mode: Mode
    profile: str
    budgets: Sequence[int]
    foreign: Judged | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question brought. Without an answer there are no measures."""

    id: str
    ms: float
    claim: bool | None  # said to have no good match
    rejected: bool  # answered with nothing, or said to have no good match
    warnings: tuple[str, ...]
    measures: Mapping[str, float] | None = None
    ranks: Mapping[str, Position] = field(default_factory=dict)
    confidence: tuple[tuple[float, bool], ...] = ()


def measure_mode(judged: Judged, base: KB, task: Task, warnings: dict[str, None]) -> ModeReport:
    """One row: every question asked once, and once more for each token budget."""
    asked = [_ask(base, task, question) for question in judged.queries]
    warnings.update(dict.fromkeys(warning for one in asked for warning in one.warnings))
    unanswerable = [one for one in asked if one.measures is None]
    measured = {one.id: one.measures for one in asked if one.measures is not None}
    names = [*measure((), ()), *(budget_measure(tokens) for tokens in task.budgets)]
    columns = {name: [values[name] for values in measured.values()] for name in names}
    confidence = [pair for one in asked for pair in one.confidence]
    times = sorted(one.ms for one in asked)
    return ModeReport(
        mode=task.mode,
        profile=task.profile,
        queries=len(asked),
        means={name: mean(values) for name, values in columns.items()},
        intervals={name: interval(values) for name, values in columns.items()},
        per_query={query: values[HEADLINE] for query, values in measured.items()},
        ranks={one.id: one.ranks for one in asked if one.measures is not None},
        rejected=(sum(one.rejected for one in unanswerable), len(unanswerable)) if unanswerable else None,
        p50_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
        calibration=calibration(confidence) if confidence else None,
        foreign=_ask_foreign(base, task, asked, warnings) if task.foreign else None,
    )


def _ask(base: KB, task: Task, question: JudgedQuery) -> Asked:
    query = _query(question, task)
    started = time.perf_counter()
    result = base.search(query)
    ms = (time.perf_counter() - started) * 1000
    claim = no_good_match(result)
    asked = Asked(question.id, ms, claim, rejected=not result.hits or bool(claim), warnings=result.warnings)
    if question.no_answer:
        return asked
    grades = list(question.grades.values())
    measures = measure(gains(result.hits, question.grades), grades)
    for tokens in task.budgets:
        packed = gains(base.search(replace(query, budget=tokens)).hits, question.grades)
        measures[budget_measure(tokens)] = recall(packed, grades, len(packed))
    return replace(
        asked,
        measures=measures,
        ranks=positions(result.hits, question.grades),
        confidence=tuple(
            (min(max(told, 0.0), 1.0), is_relevant(hit, question.grades))
            for hit in result.hits[:CONFIDENT]
            if (told := confidence(hit)) is not None
        ),
    )


def _ask_foreign(base: KB, task: Task, own: Sequence[Asked], warnings: dict[str, None]) -> Foreign | None:
    """None where the profile does not judge its own answers."""
    assert task.foreign is not None
    claims = []
    for question in task.foreign.queries:
        claim = no_good_match(base.search(_query(replace(question, within=None, no_answer=False), task)))
        if claim is None:
            warnings[f"profile {task.profile} does not tell no_good_match: foreign questions count for nothing"] = None
            return None
        claims.append(claim)
    alarms = [one.claim for one in own if one.measures is not None and one.claim is not None]
    return Foreign(
        name=task.foreign.name,
        questions=len(claims),
        recognised=sum(claims),
        own_questions=len(alarms),
        false_alarms=sum(alarms),
    )


def with_leg_ranks(rows: Sequence[ModeReport]) -> list[ModeReport]:
    """What hybrid left out of its first hundred still has ranks in the legs: those of the modes that are a leg alone."""
    legs = [row.ranks for row in rows if row.mode != "hybrid"]

    def whole(query: str, found: Mapping[str, Position]) -> dict[str, Position]:
        places = dict(found)
        for ranks in legs:
            for place, (_, lexical, vector) in ranks.get(query, {}).items():
                places[place] = nearest(places.get(place, NOWHERE), (None, lexical, vector))
        return places

    return [
        replace(row, ranks={query: whole(query, found) for query, found in row.ranks.items()})
        if row.mode == "hybrid"
        else row
        for row in rows
    ]


def no_good_match(result: SearchResult) -> bool | None:
    claim = getattr(result, "no_good_match", None)
    return None if claim is None else bool(claim)


def confidence(hit: Hit) -> float | None:
    told = getattr(hit, "confidence", None)
    return None if told is None else float(told)


def _query(question: JudgedQuery, task: Task) -> Query:
    """Asked as deep as is measured; without an answer, with the profile's own number of results."""
    return Query(
        text=question.text,
        top=None if question.no_answer else DEPTH,
        mode=task.mode,
        profile=task.profile,
        filters=Filters(path=question.within),
    )
