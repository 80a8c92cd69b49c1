"""``kb why-not``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from kb.cli.search import question
from kb.cli.session import Session
from kb.cli.terminal import clean_line, flow
from kb.types import Citation
from kb.whynot.values import Meaning, Standing, WhyNot, Words

SHOWN = 6  # words that a line names


def why_not(session: Session) -> int:
    ref, *words = session.words
    query = question(session, tuple(words))
    with session.open(read_only=True) as base:
        found = base.why_not(ref, query)
    if found.change is not None:
        found = replace(found, change=replace(found.change, argv=_typed(session, found.change.argv)))
    if session.json:
        from kb import render

        session.document(render.why_not(found))
        return 0
    _show(session, found)
    session.warn(found.warnings)
    return 0


def _typed(session: Session, argv: tuple[str, ...]) -> tuple[str, ...]:
    """With the store and the settings that this command was given."""
    given = [(f"--{name}", session.value(name)) for name in ("store", "config") if session.value(name)]
    return (*argv[:2], *(word for pair in given for word in pair), *argv[2:])


def _show(session: Session, found: WhyNot) -> None:
    out = session.out
    name = clean_line(found.document.path if found.document else found.ref)
    if found.shown:
        out.line((name, "bold"), f" is in the answer, at rank {found.rank}.")
    else:
        out.line((name, "bold"), " is not in the answer." if found.document else " is not in the store.")
    for reason in found.reasons:
        out.line("  - ", flow(reason.text))
        if reason.fix:
            out.line(("    try: ", "dim"), clean_line(reason.fix))
    if found.standing is not None:
        out.line(("words    ", "dim"), "; ".join(_words(found.words)))
        out.line(("meaning  ", "dim"), _meaning(found.meaning))
        out.line(("answer   ", "dim"), _standing(found.standing))
    if found.change is not None:
        told = " and ".join(flow(each) for each in found.change.told)
        out.line(("It is shown ", "green"), f"at rank {found.change.rank} {told}:")
        out.line("  ", (clean_line(shlex.join(found.change.argv)), "cyan"))
    elif not found.shown and found.standing is not None:
        out.line("No search was found that shows it.")


def _words(words: Words) -> Iterator[str]:
    if not words.ran:
        yield flow(words.reason or "did not run")
        return
    yield "not found" if words.rank is None else f"rank {words.rank:,}{_at(words.place)}, score {words.score:.4f}"
    if words.held:
        yield f"holds {_names(words.held)}"
    if words.missing:
        near = {missing.word: missing.near for missing in words.missing}
        yield f"not {_names([f'{word} (near: {near[word][0]})' if near[word] else word for word in near])}"
    if words.dropped:
        yield f"not looked for: {_names(words.dropped)}"


def _names(words: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return flow(", ".join(words[:SHOWN])) + more


def _meaning(meaning: Meaning) -> str:
    if not meaning.ran:
        return flow(meaning.reason or "did not run")
    if meaning.cosine is None:
        return "it has no vector"
    rank = "far down" if meaning.rank is None else f"rank {meaning.rank:,}"
    return f"{rank}{_at(meaning.place)}, cosine {meaning.cosine:.4f}"


def _at(place: Citation | None) -> str:
    """The chunk that stands there."""
    return f" (#{place.uri.rpartition('#')[2]})" if place else ""


def _standing(standing: Standing) -> str:
    if standing.score is None:
        return f"not among the {standing.ranked:,} that were ranked"
    parts = [f"rank {standing.rank:,} of {standing.ranked:,}" if standing.rank else "cut"]
    parts.append(f"{standing.score_kind} {standing.score:.4f}")
    if standing.last_score is not None:
        parts.append(f"the last hit that is shown has {standing.last_score:.4f}")
    return ", ".join(parts)
