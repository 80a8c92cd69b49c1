"""Asks a store every question of a judged collection and measures the answers."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kb import app
from kb.app import KB
from kb.config import Settings
from kb.errors import UsageError
from kb.evaluate import judged as judged_collections
from kb.evaluate.judged import Judged, JudgedQuery
from kb.evaluate.metrics import interval, mean, measure
from kb.evaluate.rank import gains
from kb.evaluate.report import HEADLINE, MEASURES, EvalReport, ModeReport, compare, load_baseline, save
from kb.types import Filters, Mode, Query

MODES: tuple[Mode, ...] = ("hybrid", "lexical", "vector")
DEPTH = 100  # chunks asked for; recall@100 counts the documents among them


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure, and against what. ``baseline`` is a report that ``save_to`` wrote earlier."""

    modes: Sequence[Mode] = MODES
    profile: str | None = None
    limit: int | None = None  # of questions
    baseline: Path | None = None
    save_to: Path | None = None
    cache: Path | None = None  # where stores of collections are kept, by the content of their corpus


def run(
    source: Path | Judged,
    request: Request | None = None,
    *,
    base: KB | None = None,
    settings: Settings | None = None,
) -> EvalReport:
    """Measure a judged collection in a store of its own, or a golden file against ``base``."""
    request = request or Request()
    judged = source if isinstance(source, Judged) else judged_collections.read(source)
    judged = replace(judged, queries=judged.queries[: request.limit])
    if not judged.queries:
        raise UsageError(f"{judged.name} has no question with a judged answer", fix="see docs/search.md, 'Measuring'")
    before = load_baseline(request.baseline) if request.baseline else None
    if judged.corpus is None:
        if base is None:
            raise UsageError("a golden file judges a store that exists", fix="kb eval FILE --store PATH")
        report = _measure(judged, base, request)
    else:
        with _indexed(judged, settings, request.cache) as own:
            report = _measure(judged, own, request)
    if before is not None:
        report = replace(report, comparisons=compare(report, before))
    if request.save_to is not None:
        save(report, request.save_to)
    return report


def _measure(judged: Judged, base: KB, request: Request) -> EvalReport:
    status = base.status()
    warnings: dict[str, None] = {}
    reports = []
    for mode in request.modes:
        if mode == "vector" and status.model is None:
            warnings["the vector mode was left out: the store has no vectors"] = None
            continue
        reports.append(_measure_mode(judged, base, mode, request.profile, warnings))
    return EvalReport(
        name=judged.name,
        profile=request.profile or base.settings.search.profile,
        documents=status.documents,
        chunks=status.chunks,
        model=status.model.label if status.model else None,
        modes=tuple(reports),
        warnings=tuple(warnings),
    )


def _measure_mode(judged: Judged, base: KB, mode: Mode, profile: str | None, warnings: dict[str, None]) -> ModeReport:
    measured: dict[str, dict[str, float]] = {}
    rejected = [0, 0]
    times: list[float] = []
    for question in judged.queries:
        query = _query(question, mode, profile)
        started = time.perf_counter()
        result = base.search(query)
        times.append((time.perf_counter() - started) * 1000)
        warnings.update(dict.fromkeys(result.warnings))
        if question.no_answer:
            rejected[0] += not result.hits
            rejected[1] += 1
        else:
            measured[question.id] = measure(gains(result.hits, question.grades), list(question.grades.values()))
    columns = {name: [values[name] for values in measured.values()] for name in MEASURES}
    times.sort()
    return ModeReport(
        mode=mode,
        queries=len(judged.queries),
        means={name: mean(values) for name, values in columns.items()},
        intervals={name: interval(values) for name, values in columns.items()},
        per_query={query: values[HEADLINE] for query, values in measured.items()},
        rejected=(rejected[0], rejected[1]) if rejected[1] else None,
        p50_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
    )


def _query(question: JudgedQuery, mode: Mode, profile: str | None) -> Query:
    """Asked as deep as is measured; without an answer, with the profile's own number of results."""
    return Query(
        text=question.text,
        top=None if question.no_answer else DEPTH,
        mode=mode,
        profile=profile,
        filters=Filters(path=question.within),
    )


@contextmanager
def _indexed(judged: Judged, settings: Settings | None, cache: Path | None) -> Iterator[KB]:
    documents = list(judged.documents())
    with tempfile.TemporaryDirectory(prefix="kb-eval-") as scratch:
        place = cache / f"{judged.name}-{_fingerprint(judged)}" if cache else Path(scratch) / "store"
        with app.open(place, settings=settings) as base:
            if base.status().documents < len({document.path for document in documents}) or _other_model(base):
                base.put(documents)
            yield base


def _other_model(base: KB) -> bool:
    """Whether a store that was found again has vectors of another model than the configured one."""
    embedder, stored = base.engine.embedder(None), base.status().model
    return embedder is not None and (stored is None or stored.label != embedder.info.label)


def _fingerprint(judged: Judged) -> str:
    digest = hashlib.blake2b(digest_size=6)
    if judged.corpus is not None:
        with judged.corpus.open("rb") as data:
            while block := data.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
