"""The recipe of ``kb tune``: questions, two halves, choose by one, prove by the other. It writes nothing."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kb import marks
from kb.app import KB
from kb.errors import UsageError
from kb.search.engine import Engine
from kb.tune import settings as tried_settings
from kb.tune.proof import Proof, prove, weighted_mean
from kb.tune.questions import FREE, Question, questions_of
from kb.tune.report import Change, Proposal, Trial, Tried, TuneReport
from kb.tune.settings import Setting

LIMIT = (
    600  # questions: single gains scatter by 0.23, so that half of these see a gain of .03 (docs/decisions/011-tune.md)
)
LEAST_HELD_OUT = 30  # below it, an interval by drawing anew is too narrow for what it claims
SLOWER = 3.0  # times, above which a gain has to be asked for
CLOSE = 0.005  # nDCG: neighbouring weights differ by up to .003 either way between samples (docs/decisions/011-tune.md)
DEADLINE_S = 60.0  # of a search: on a busy machine one slow question must not end a run of a thousand
SHOWN = 5  # questions that gain and lose

FEW_FREE = (
    "too few questions are marked or texts of links: the others are words of their answers, and cannot tell how much "
    "words should weigh, so that only fusions were compared"
)

OnProgress = Callable[[str, int, int], None]  # what is asked, how many questions are done, of how many


@dataclass(frozen=True, slots=True)
class Request:
    """What to tune, and by which questions."""

    collection: str | None = None
    limit: int = LIMIT
    golden: Path | None = None  # beside the marks of the store
    allow_slow: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A setting and what it brought: the value of each question, and the time it took."""

    setting: Setting
    values: tuple[float, ...]
    ms: tuple[float, ...]

    def score(self, questions: Sequence[Question]) -> float:
        return weighted_mean(self.values, [question.weight for question in questions])


def run(base: KB, request: Request | None = None, *, on_progress: OnProgress | None = None) -> TuneReport:
    """Look for a setting that answers better than the present one; proposed only where that is proved."""
    request = request or Request()
    tuner = _Tuner(base, request, on_progress)
    questions = questions_of(base, request.limit, request.collection, _golden(base, request))
    train = [question for question in questions if not question.held_out]
    held = [question for question in questions if question.held_out]
    report = tuner.report(questions, len(train), len(held))
    if len(held) < LEAST_HELD_OUT:
        few = f"{len(held)} questions are left to prove a gain with, and {LEAST_HELD_OUT} are needed"
        return replace(report, reason=f"{few}: more text with headings and links, or kb mark PATH QUERY")
    free = sum(question.kind in FREE for question in held) >= LEAST_HELD_OUT
    if not free:
        report = replace(report, warnings=(*report.warnings, FEW_FREE))
    asked = tuner.explore(train, vectors=report.model is not None, free=free)
    chosen = choose(asked, [each.score(train) for each in asked])
    report = replace(report, tried=tuple(_tried(each, train) for each in asked))
    if chosen.setting.profile is None:
        return replace(report, reason="no other setting answers better")
    return tuner.judge(report, chosen.setting, held)


def choose(asked: Sequence[Asked], scores: Sequence[float]) -> Asked:
    """The best, or the first that is as good as the best."""
    best = max(scores)
    return next(each for each, score in zip(asked, scores, strict=True) if score >= best - CLOSE)


def verdict(proof: Proof, slower: float, *, allow_slow: bool = False) -> str:
    """Why a setting is not proposed; "" where it is."""
    if not proof.is_clear:
        return "the gain may be chance: its interval is not all above zero"
    if slower > SLOWER and not allow_slow:
        return f"a query would take {slower:.1f} times as long (--allow-slow, if that is fine)"
    return ""


class _Tuner:
    """One store and its present setting, asked in other ways."""

    def __init__(self, base: KB, request: Request, on_progress: OnProgress | None) -> None:
        self.base = base
        self.request = request
        self.now = tried_settings.present(base.settings, request.collection)
        self.name = tried_settings.own_name(request.collection, self.now)
        self._told = on_progress or (lambda _label, _done, _total: None)

    def report(self, questions: Sequence[Question], train: int, held: int) -> TuneReport:
        status = self.base.status()
        collection = self.request.collection
        if collection is not None and collection not in status.by_collection:
            known = ", ".join(status.by_collection) or "none"
            raise UsageError(f"there is no collection '{collection}'", fix=f"one of: {known}")
        with self.base.store.snapshot(collection) as snapshot:
            model = snapshot.model
        overruled = [each for each in ("alpha", "rrf_k") if getattr(self.base.settings.search, each) is not None]
        return TuneReport(
            collection=collection,
            documents=status.by_collection[collection] if collection else status.documents,
            chunks=status.chunks,
            model=model.label if model else None,
            now=self.now.base,
            kinds=dict(Counter(question.kind for question in questions)),
            train=train,
            held_out=held,
            warnings=tuple(f"search.{each} is set and overrules every profile" for each in overruled),
        )

    def explore(self, train: Sequence[Question], *, vectors: bool, free: bool) -> list[Asked]:
        """Fusions, then weights for the best of them, then a second opinion. The present setting comes first."""
        settings = self.base.settings
        first = (self.now, *tried_settings.fusions(settings, self.now, self.name, free=free))
        asked = [self._ask(each, train) for each in first]
        for more in ((tried_settings.weighed,) if vectors and free else ()) + (tried_settings.second_opinions,):
            best = max(asked, key=lambda each: each.score(train)).setting
            asked += [self._ask(each, train) for each in more(settings, best, self.name)]
        return asked

    def judge(self, report: TuneReport, chosen: Setting, held: Sequence[Question]) -> TuneReport:
        """Both settings by turns, so that what else the machine does slows both."""
        before, after = (Asked(each, (), ()) for each in (self.now, chosen))
        engines = [(each, self._engine(each)) for each in (self.now, chosen)]
        for done, question in enumerate(held):
            self._told(f"{chosen.label} against {self.now.label}", done, len(held))
            before, after = (
                _with(each, *self._once(engine, setting, question))
                for each, (setting, engine) in zip((before, after), engines, strict=True)
            )
        proof = prove(before.values, after.values, [question.weight for question in held])
        before_ms, after_ms = statistics.median(before.ms), statistics.median(after.ms)
        better, worse = _changes(held, before.values, after.values)
        trial = Trial(chosen.label, proof, before_ms, after_ms, better, worse)
        reason = verdict(proof, after_ms / before_ms, allow_slow=self.request.allow_slow)
        left = tried_settings.left_behind(self.base.settings, self.now, chosen)
        proposal = None if reason else self._proposal(chosen)
        return replace(
            report,
            trial=trial,
            reason=reason,
            proposal=proposal,
            warnings=(*report.warnings, *(left if proposal else ())),
        )

    def _proposal(self, chosen: Setting) -> Proposal:
        """By the name of a profile that there is already, where it is no different."""
        assert chosen.profile is not None
        collection = self.request.collection
        known = tried_settings.profiles_of(self.base.settings)
        same = [name for name, profile in known.items() if replace(profile, name=self.name) == chosen.profile]
        if same:
            return Proposal(same[0], collection, None)
        return Proposal(self.name, collection, tried_settings.changes(chosen.profile))

    def _engine(self, setting: Setting) -> Engine:
        settings = self.base.settings
        settings = replace(
            settings, search=replace(settings.search, deadline_s=max(DEADLINE_S, settings.search.deadline_s))
        )
        if setting.profile is not None:
            profiles = {**tried_settings.profiles_of(settings), self.name: setting.profile}
            settings = replace(settings, profiles=profiles)
        return replace(self.base.engine, settings=settings)

    def _ask(self, setting: Setting, questions: Sequence[Question]) -> Asked:
        engine, asked = self._engine(setting), Asked(setting, (), ())
        for done, question in enumerate(questions):
            self._told(setting.label, done, len(questions))
            asked = _with(asked, *self._once(engine, setting, question))
        return asked

    def _once(self, engine: Engine, setting: Setting, question: Question) -> tuple[float, float]:
        query = question.query(self.name if setting.profile else None, self.request.collection)
        started = time.perf_counter()
        hits = engine.search(query).hits
        return question.value(hits), (time.perf_counter() - started) * 1000


def _with(asked: Asked, value: float, ms: float) -> Asked:
    return Asked(asked.setting, (*asked.values, value), (*asked.ms, ms))


def _tried(asked: Asked, train: Sequence[Question]) -> Tried:
    profile = asked.setting.profile
    return Tried(
        label=asked.setting.label,
        base=asked.setting.base,
        alpha=profile.alpha if profile else None,
        rerank=bool(profile and profile.rerank),
        ndcg=asked.score(train),
        p50_ms=statistics.median(asked.ms),
    )


def _changes(
    held: Sequence[Question], before: Sequence[float], after: Sequence[float]
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Those that gained and lost most, each by the weight of its question."""
    rows = list(zip(held, before, after, strict=True))
    rows.sort(key=lambda row: (-row[0].weight * abs(row[2] - row[1]), row[0].text))
    changes = [Change(question.text, question.kind, old, new) for question, old, new in rows]
    better = [change for change in changes if change.after > change.before]
    worse = [change for change in changes if change.after < change.before]
    return tuple(better[:SHOWN]), tuple(worse[:SHOWN])


def _golden(base: KB, request: Request) -> list[Path]:
    """The marks beside the store, and the file that was given."""
    own = Path(base.status().location) / marks.NAME
    given = request.golden
    if given is not None and not given.is_file():
        raise UsageError(f"there is no golden file at {given}", fix="kb tune --golden FILE.jsonl")
    held = own.is_file() and own.stat().st_size > 0
    return [*([own] if held else []), *([given] if given and not (held and given.resolve() == own.resolve()) else [])]
