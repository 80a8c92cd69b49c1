"""The report as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.evaluate.compare import EXPLAINED
from kb.evaluate.report import MEASURES, Comparison, EvalReport, ModeReport, QueryChange

BUDGET = "recall@"  # and a number of tokens, and "t"
SHOWN_PLACES = 3  # of a query that changed
SHOWN_TEXT = 80  # characters of a question


def as_text(report: EvalReport) -> str:
    """A table of the measures, one row per profile and mode, and under it what changed since the baseline."""
    wide = max([7, *(len(row.profile) for row in report.modes)])
    head = f"{report.name}: {report.documents:,} documents, {report.chunks:,} chunks, model {report.model or 'none'}"
    lines = [head, "", *_table(report.modes, MEASURES, wide)]
    budgets = [name for name in (report.modes[0].means if report.modes else ()) if _is_budget(name)]
    if budgets:
        lines += ["", "recall within a budget of tokens", *_table(report.modes, budgets, wide)]
    lines += [line for row in report.modes for line in _honesty(row)]
    lines += [line for comparison in report.comparisons for line in _changes(comparison)]
    lines += [
        f"too low: {short.profile} {short.mode}: {short.measure} {short.value:.4f}, at least {short.least:g} was asked for"
        for short in report.shortfalls
    ]
    lines += [f"warning: {warning}" for warning in report.warnings]
    return "\n".join(lines) + "\n"


def _is_budget(name: str) -> bool:
    return name.startswith(BUDGET) and name.endswith("t")


def _table(rows: Sequence[ModeReport], names: Sequence[str], wide: int) -> Iterator[str]:
    timed = names is MEASURES
    heads = "  ".join(f"{name:>19}" for name in names) + ("    p50 ms   p95 ms" if timed else "")
    yield f"{'profile':<{wide}}  mode     queries  {heads}"
    for row in rows:
        cells = [f"{row.means[name]:.3f} [{row.intervals[name][0]:.3f} {row.intervals[name][1]:.3f}]" for name in names]
        shown = "  ".join(f"{cell:>19}" for cell in cells)
        times = f"  {row.p50_ms:>8.1f} {row.p95_ms:>8.1f}" if timed else ""
        yield f"{row.profile:<{wide}}  {row.mode:<8} {row.queries:>6}  {shown}{times}"


def _honesty(row: ModeReport) -> Iterator[str]:
    """How well the mode knows what it does not know."""
    label = f"{row.profile} {row.mode}"
    if row.rejected:
        yield f"{label}: {row.rejected[0]} of {row.rejected[1]} questions without an answer got none"
    if row.foreign:
        seen = row.foreign
        yield (
            f"{label}: {seen.recognised} of {seen.questions} questions of {seen.name} recognised as having no good match, "
            f"and {seen.false_alarms} of {seen.own_questions} of its own"
        )
    if row.calibration:
        yield f"{label}: confidence off by {row.calibration.error:.3f} on average, over {row.calibration.hits:,} hits"


def _changes(comparison: Comparison) -> list[str]:
    low, high = comparison.interval
    verdict = "worse" if comparison.is_worse else "better" if low > 0 else "no clear difference"
    other = "" if comparison.baseline_profile == comparison.profile else f" ({comparison.baseline_profile})"
    lines = [
        "",
        f"{comparison.profile} {comparison.mode} against the baseline{other}: nDCG@10 {comparison.difference:+.4f} "
        f"[{low:+.4f} {high:+.4f}], {verdict}; {len(comparison.better)} queries better, {len(comparison.worse)} worse, "
        f"of {comparison.queries}",
    ]
    for sign, changes in (("+", comparison.better), ("-", comparison.worse)):
        lines += [line for change in changes[:EXPLAINED] for line in _change(sign, change)]
    return lines


def _change(sign: str, change: QueryChange) -> Iterator[str]:
    text = " ".join((change.text or "").split())[:SHOWN_TEXT]
    yield f"  {sign} {change.query_id}: {change.before:.3f} -> {change.after:.3f}  {text}".rstrip()
    for move in change.moved[:SHOWN_PLACES]:
        answer, lexical, vector = (
            f"{_rank(then)} -> {_rank(now)}" for then, now in zip(move.before, move.after, strict=True)
        )
        yield f"      {move.place}: rank {answer} (lexical {lexical}, vector {vector})"
    if change.because:
        yield f"      moved by: {', '.join(change.because)}"


def _rank(rank: int | None) -> str:
    return "none" if rank is None else str(rank)
