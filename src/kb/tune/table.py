"""The report as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from kb.tune.report import Change, Trial, TuneReport

SHOWN_TEXT = 70  # characters of a question


def as_text(report: TuneReport) -> str:
    """Questions, what was tried, the proof, and what follows from it."""
    where = f"collection {report.collection}: " if report.collection else ""
    kinds = ", ".join(f"{number} {kind}" for kind, number in report.kinds.items()) or "none"
    lines = [
        f"{where}{report.documents:,} documents, model {report.model or 'none'}, profile {report.now}",
        f"{report.train + report.held_out} questions ({kinds}): {report.train} to choose by, {report.held_out} held out",
    ]
    if report.tried:
        wide = max(len(row.label) for row in report.tried)
        lines += ["", f"{'chosen by':<{wide}}  nDCG@10   p50 ms"]
        lines += [f"{row.label:<{wide}}  {row.ndcg:>7.4f} {row.p50_ms:>8.1f}" for row in report.tried]
    if report.trial:
        lines += ["", *_trial(report.trial, report.now)]
    lines += ["", *_end(report)]
    return "\n".join(lines) + "\n"


def _trial(trial: Trial, now: str) -> Iterator[str]:
    proof = trial.proof
    low, high = proof.interval
    yield f"{trial.label} against {now}, on {proof.questions} held-out questions:"
    yield (
        f"  nDCG@10 {proof.before:.4f} -> {proof.after:.4f}: {proof.gain:+.4f}, 95 % [{low:+.4f} {high:+.4f}], "
        f"p {proof.p:.4f}"
    )
    yield f"  median time of a query {trial.before_ms:.0f} ms -> {trial.after_ms:.0f} ms"
    for sign, changes in (("+", trial.better), ("-", trial.worse)):
        yield from (_change(sign, change) for change in changes)


def _change(sign: str, change: Change) -> str:
    return f"  {sign} {change.before:.3f} -> {change.after:.3f}  {change.query[:SHOWN_TEXT]}  ({change.kind})"


def _end(report: TuneReport) -> Iterator[str]:
    proposal = report.proposal
    if proposal is None:
        yield f"nothing is proposed: {report.reason}"
        return
    what = f"for collection {proposal.collection}" if proposal.collection else "for every search that names none"
    yield f"proposed: profile {proposal.profile} {what}"
    for name, value in (proposal.settings or {}).items():
        yield f"  {name} = {str(value).lower() if isinstance(value, bool) else value}"
