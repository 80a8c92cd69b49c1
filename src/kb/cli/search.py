"""``kb search`` and ``kb get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.cli.session import Session, read_stdin
from kb.errors import UsageError
from kb.types import Mode, Query, Shape

if TYPE_CHECKING:
    from kb.types import Passage


def search(session: Session) -> int:
    query = question(session, session.words)
    with session.open(read_only=True) as base:
        result = base.search(query)
        empty = not result.hits and not session.json and base.status().documents == 0
    if session.json:
        from kb import render

        session.document(render.response(result))
        return 0
    from kb.cli.hits import show

    show(session, query, result, empty=empty)
    session.warn(result.warnings)
    return 0


def question(session: Session, words: tuple[str, ...]) -> Query:
    """The query of a command line: its words and the flags of ``kb search``."""
    value = session.value
    text = read_stdin().strip() if words == ("-",) else " ".join(words)
    profile = value("profile")
    if profile is not None:
        from kb.config import resolve_profile

        resolve_profile(session.settings, profile)
    return Query(
        text=text,
        top=value("top"),
        mode=_mode(session),
        profile=profile,
        filters=session.filters(),
        threshold=value("threshold"),
        min_score=value("min_score"),
        alpha=value("alpha"),
        cursor=value("cursor"),
        budget=value("budget"),
        explain=bool(session.command.values.get("explain")),
        shape=_shape(session),
    )


def _shape(session: Session) -> Shape:
    value = session.value
    if value("rerank") and value("no_rerank"):
        raise UsageError("--rerank and --no-rerank contradict each other", fix="give one of them")
    rerank = True if value("rerank") else False if value("no_rerank") else None
    return Shape(value("per_doc"), value("mmr"), value("merge"), value("parent"), rerank)


def _mode(session: Session) -> Mode:
    value = session.value
    named: dict[str, Mode | None] = {
        "--mode": value("mode"),
        "--fts-only": "lexical" if value("fts_only") else None,
        "--vec-only": "vector" if value("vec_only") else None,
    }
    asked = {flag: mode for flag, mode in named.items() if mode}
    if len(set(asked.values())) > 1:
        raise UsageError(f"{' and '.join(asked)} contradict each other", fix="give one of them")
    if asked:
        return next(iter(asked.values()))
    return "hybrid" if session.settings.search.hybrid else "lexical"


def get(session: Session) -> int:
    ref = session.words[0]
    with session.open(read_only=True) as base:
        found = base.get(ref, context=session.value("context") or 0, collection=session.value("collection"))
    if session.json:
        from kb import render

        session.document(render.passages(ref, found))
        return 0
    for number, passage in enumerate(found):
        for part in (*passage.before, passage, *passage.after):
            _show(session, part, first=number == 0 and part is (*passage.before, passage)[0], aside=part is not passage)
    return 0


def _show(session: Session, part: Passage, *, first: bool, aside: bool) -> None:
    """With its place above it on a terminal; the exact text and nothing else for a pipe or a file."""
    out = session.out
    if not out.tty:
        text = part.text if part.text.endswith("\n") or not part.text else part.text + "\n"
        out.raw(text.encode("utf-8", "replace"))
        return
    from kb.cli.terminal import clean, clean_line, flow

    if not first:
        out.line()
    section = f"  {flow(part.citation.section)}" if part.citation.section else ""
    out.line((clean_line(part.citation.uri), "cyan"), (section, "dim"))
    text = clean(part.text).rstrip("\n")
    for line in text.split("\n"):
        out.line((line, "dim" if aside else ""))
