"""Asks a store the questions of a judged collection in one mode and profile, and measures what comes back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kb.app import KB
from kb.evaluate.gate import budget_measure
from kb.evaluate.judged import Judged, JudgedQuery
from kb.evaluate.metrics import calibration, interval, mean, measure, recall
from kb.evaluate.rank import Position, gains, is_relevant, positions
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


@dataclass(slots=True)
class Tally:
    """What the questions of one row have brought so far."""

    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    ranks: dict[str, dict[str, Position]] = field(default_factory=dict)
    confidence: list[tuple[float, bool]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    unanswerable: int = 0
    rejected: int = 0
    claims: list[bool] = field(default_factory=list)  # of questions with an answer: said to have no good match
    warnings: dict[str, None] = field(default_factory=dict)


def measure_mode(judged: Judged, base: KB, task: Task, warnings: dict[str, None]) -> ModeReport:
    """One row: every question asked once, and once more for each token budget."""
    tally = Tally()
    for question in judged.queries:
        _ask(base, task, question, tally)
    foreign = _ask_foreign(base, task, tally) if task.foreign else None
    warnings.update(tally.warnings)
    names = list(next(iter(tally.measures.values()), measure((), ()) | _no_budgets(task)))
    columns = {name: [values[name] for values in tally.measures.values()] for name in names}
    times = sorted(tally.times)
    return ModeReport(
        mode=task.mode,
        profile=task.profile,
        queries=len(judged.queries),
        means={name: mean(values) for name, values in columns.items()},
        intervals={name: interval(values) for name, values in columns.items()},
        per_query={query: values[HEADLINE] for query, values in tally.measures.items()},
        ranks=tally.ranks,
        rejected=(tally.rejected, tally.unanswerable) if tally.unanswerable else None,
        p50_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
        calibration=calibration(tally.confidence) if tally.confidence else None,
        foreign=foreign,
    )


def _ask(base: KB, task: Task, question: JudgedQuery, tally: Tally) -> None:
    query = _query(question, task)
    started = time.perf_counter()
    result = base.search(query)
    tally.times.append((time.perf_counter() - started) * 1000)
    tally.warnings.update(dict.fromkeys(result.warnings))
    if question.no_answer:
        tally.unanswerable += 1
        tally.rejected += not result.hits or bool(no_good_match(result))
        return
    grades = question.grades
    found = measure(gains(result.hits, grades), list(grades.values()))
    for tokens in task.budgets:
        packed = gains(base.search(replace(query, budget=tokens)).hits, grades)
        found[budget_measure(tokens)] = recall(packed, list(grades.values()), len(packed))
    tally.measures[question.id] = found
    tally.ranks[question.id] = positions(result.hits, grades)
    tally.confidence += [
        (min(max(told, 0.0), 1.0), is_relevant(hit, grades))
        for hit in result.hits[:CONFIDENT]
        if (told := confidence(hit)) is not None
    ]
    claim = no_good_match(result)
    if claim is not None:
        tally.claims.append(claim)


def _ask_foreign(base: KB, task: Task, tally: Tally) -> Foreign | None:
    """None where the profile does not judge its own answers."""
    assert task.foreign is not None
    recognised = asked = 0
    for question in task.foreign.queries:
        claim = no_good_match(base.search(_query(replace(question, within=None, no_answer=False), task)))
        if claim is None:
            tally.warnings[
                f"profile {task.profile} does not tell no_good_match: foreign questions count for nothing"
            ] = None
            return None
        recognised += claim
        asked += 1
    return Foreign(
        name=task.foreign.name,
        questions=asked,
        recognised=recognised,
        own_questions=len(tally.claims),
        false_alarms=sum(tally.claims),
    )


def no_good_match(result: SearchResult) -> bool | None:
    claim = getattr(result, "no_good_match", None)
    return None if claim is None else bool(claim)


def confidence(hit: Hit) -> float | None:
    told = getattr(hit, "confidence", None)
    return None if told is None else float(told)


def _no_budgets(task: Task) -> dict[str, float]:
    return {budget_measure(tokens): 0.0 for tokens in task.budgets}


def _query(question: JudgedQuery, task: Task) -> Query:
    """Asked as deep as is measured; without an answer, with the profile's own number of results."""
    return Query(
        text=question.text,
        top=None if question.no_answer else DEPTH,
        mode=task.mode,
        profile=task.profile,
        filters=Filters(path=question.within),
    )
