"""Measures a judged collection in a store of its own, or a golden file against a store that exists."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb import app
from kb.app import KB
from kb.config import Settings
from kb.errors import UsageError
from kb.evaluate import gate
from kb.evaluate import judged as judged_collections
from kb.evaluate.asking import Task, measure_mode, with_leg_ranks
from kb.evaluate.compare import compare
from kb.evaluate.judged import Judged
from kb.evaluate.report import EvalReport, ModeReport, load_baseline, save
from kb.types import Mode

MODES: tuple[Mode, ...] = ("hybrid", "lexical", "vector")
BUDGETS = (500, 1000, 2000, 4000)  # tokens of context: from one paragraph's worth to a few pages


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure, and against what. ``baseline`` is a report that ``save_to`` wrote earlier."""

    modes: Sequence[Mode] = MODES
    profile: str | None = None
    profiles: Sequence[str] = ()  # beside ``profile``
    budgets: Sequence[int] = ()
    limit: int | None = None  # of questions
    foreign: Path | Judged | None = None  # another collection, whose questions have no answer here
    fail_under: Mapping[str, float] = field(default_factory=dict)
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
    judged = _questions(source, request.limit)
    foreign = _questions(request.foreign, request.limit) if request.foreign else None
    before = load_baseline(request.baseline) if request.baseline else None
    gate.check(request.fail_under, request.budgets)
    if judged.corpus is None:
        if base is None:
            raise UsageError("a golden file judges a store that exists", fix="kb eval FILE --store PATH")
        report = _measure(judged, base, request, foreign)
    else:
        with _indexed(judged, settings, request.cache) as own:
            report = _measure(judged, own, request, foreign)
    report = replace(report, shortfalls=gate.shortfalls(report.modes, request.fail_under))
    if before is not None:
        texts = {question.id: question.text for question in judged.queries}
        report = replace(report, comparisons=compare(report, before, texts))
    if request.save_to is not None:
        save(report, request.save_to)
    return report


def _questions(source: Path | Judged, limit: int | None) -> Judged:
    judged = source if isinstance(source, Judged) else judged_collections.read(source)
    queries = tuple(question for question in judged.queries if question.can_be_measured)
    judged = replace(judged, queries=queries[:limit])
    if not judged.queries:
        raise UsageError(f"{judged.name} has no question with a judged answer", fix="see docs/search.md, 'Measuring'")
    return judged


def _measure(judged: Judged, base: KB, request: Request, foreign: Judged | None) -> EvalReport:
    status = base.status()
    warnings: dict[str, None] = {}
    rows: list[ModeReport] = []
    for profile in _profiles(request, base):
        measured = []
        for mode in request.modes:
            if mode == "vector" and status.model is None:
                warnings["the vector mode was left out: the store has no vectors"] = None
                continue
            measured.append(measure_mode(judged, base, Task(mode, profile, request.budgets, foreign), warnings))
        rows += with_leg_ranks(measured)
    return EvalReport(
        name=judged.name,
        profile=_profiles(request, base)[0],
        documents=status.documents,
        chunks=status.chunks,
        model=status.model.label if status.model else None,
        modes=tuple(rows),
        warnings=tuple(warnings),
    )


def _profiles(request: Request, base: KB) -> list[str]:
    named = [*([request.profile] if request.profile else []), *request.profiles]
    return list(dict.fromkeys(named)) or [base.settings.search.profile]


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
