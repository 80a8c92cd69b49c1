"""The report as a person reads it."""

from __future__ import annotations

from kb.evaluate.report import MEASURES, Comparison, EvalReport, ModeReport

SHOWN_CHANGES = 5


def as_text(report: EvalReport) -> str:
    """A table of the measures, one row per mode, and under it what changed since the baseline."""
    head = f"{report.name}: {report.documents:,} documents, {report.chunks:,} chunks, profile {report.profile}, "
    lines = [head + f"model {report.model or 'none'}", ""]
    lines.append("mode     queries  " + "  ".join(f"{name:>18}" for name in MEASURES) + "    p50 ms   p95 ms")
    lines += [_row(mode) for mode in report.modes]
    lines += [
        f"{mode.mode}: {mode.rejected[0]} of {mode.rejected[1]} questions without an answer got none"
        for mode in report.modes
        if mode.rejected
    ]
    lines += [line for comparison in report.comparisons for line in _changes(comparison)]
    lines += [f"warning: {warning}" for warning in report.warnings]
    return "\n".join(lines) + "\n"


def _row(mode: ModeReport) -> str:
    cells = []
    for name in MEASURES:
        low, high = mode.intervals[name]
        cells.append(f"{mode.means[name]:.3f} [{low:.3f} {high:.3f}]".rjust(18))
    return f"{mode.mode:<8} {mode.queries:>7}  " + "  ".join(cells) + f"  {mode.p50_ms:>8.1f} {mode.p95_ms:>8.1f}"


def _changes(comparison: Comparison) -> list[str]:
    low, high = comparison.interval
    verdict = "worse" if comparison.is_worse else "better" if low > 0 else "no clear difference"
    lines = [
        "",
        f"{comparison.mode} against the baseline: nDCG@10 {comparison.difference:+.4f} [{low:+.4f} {high:+.4f}], "
        f"{verdict}; {len(comparison.better)} queries better, {len(comparison.worse)} worse, of {comparison.queries}",
    ]
    lines += [f"  + {c.query_id}: {c.before:.3f} -> {c.after:.3f}" for c in comparison.better[:SHOWN_CHANGES]]
    lines += [f"  - {c.query_id}: {c.before:.3f} -> {c.after:.3f}" for c in comparison.worse[:SHOWN_CHANGES]]
    return lines
