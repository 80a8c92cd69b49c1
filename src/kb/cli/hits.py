"""Hits for people: what it is, where it is, what it says; then how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from kb.cli.session import Session
from kb.cli.terminal import Screen, cells, clean, clean_line, count, cut, flow, glyphs, span, wrap
from kb.types import Hit, Query, SearchResult


def show(session: Session, query: Query, result: SearchResult, *, empty: bool = False) -> None:
    for number, hit in enumerate(result.hits):
        if number:
            session.out.line()
        _hit(session.out, hit)
        if query.explain:
            from kb.cli.explain import explain

            explain(session.out, hit, result)
    if query.explain and result.trace is not None:
        from kb.cli.explain import trace

        if result.hits:
            session.out.line()
        trace(session.out, result.trace)
    if result.hits:
        _footer(session, result)
    else:
        _nothing(session, query, result, empty)


def _hit(out: Screen, hit: Hit) -> None:
    rank = f"{hit.rank}. "
    score = f"{hit.score_kind} {hit.score:.4f}"
    if hit.confidence is not None:
        score = f"{hit.confidence:.0%} sure · {score}"
    room = None if out.width is None else max(10, out.width - len(rank) - len(score) - 2)
    title = cut(flow(hit.title) or clean_line(hit.doc_path), room)
    out.line((rank, "dim"), (title, "bold"), "  ", (score, "dim"))
    indent = "   "
    place = out.paint(clean_line(hit.citation.uri), "cyan")
    headings = hit.heading_path[1:] if hit.heading_path[:1] == (hit.title,) else hit.heading_path
    section = " › ".join(flow(part) for part in headings)
    section = section or (flow(hit.section_label or "") if not hit.heading_path else "")
    room = None if out.width is None else max(0, out.width - len(indent) - cells(clean_line(hit.citation.uri)) - 2)
    out.line(indent, out.link(place, target(hit)), ("  " + cut(section, room) if section else "", "dim"))
    width = None if out.width is None else out.width - len(indent)
    if hit.text is None:
        for line in wrap(glyphs(hit.snippet, hit.highlights), width):
            out.line(indent, out.paint_glyphs(line))
    _around(out, hit, indent)


def _around(out: Screen, hit: Hit, indent: str) -> None:
    """How many chunks became one, the whole text where the budget had room, and the section around it."""
    if hit.merged:
        out.line(indent, (f"{len(hit.merged)} neighbouring chunks in one", "dim"))
    if hit.parent is not None:
        out.line(indent, ("in ", "dim"), (clean_line(hit.parent.citation.uri), "cyan"))
    text = hit.parent.text if hit.parent else hit.text
    for line in clean(text).strip("\n").split("\n") if text else ():
        out.line(((indent + "  " if hit.parent else indent) + line).rstrip())


def target(hit: Hit) -> str | None:
    """Where a click goes: the file on this machine, at its line or page."""
    if not hit.source or not PurePath(hit.source).is_absolute():
        return None
    from urllib.parse import quote

    cited = hit.citation
    fragment = f"#page={cited.page}" if cited.page else f"#{cited.start}" if cited.start else ""
    return "file://" + quote(hit.source.encode("utf-8", "surrogateescape"), safe="/") + fragment


def _footer(session: Session, result: SearchResult) -> None:
    legs = " + ".join(
        f"{name} ({leg.tier}, {leg.candidates})" if leg.tier else f"{name} ({leg.candidates})"
        for name, leg in (("lexical", result.lexical), ("vector", result.vector))
        if leg.ran
    )
    shortened = " · shortened to the budget" if result.truncated else ""
    if session.out.tty and not session.quiet:
        session.out.line()
    if result.no_good_match:
        session.note(("nothing here seems to answer this: these are only the nearest", "yellow"))
    shown = count(result.returned, "hit")
    session.note((f"{shown} · {legs or 'no leg ran'} · {span(result.took_ms)}{shortened}", "dim"))
    for name, leg in (("lexical", result.lexical), ("vector", result.vector)):
        if not leg.ran and leg.reason and not any(leg.reason in warning for warning in result.warnings):
            session.note((f"{name}: {clean_line(leg.reason)}", "dim"))
    if result.next_cursor:
        session.note((f"next page: {_again(session, result.next_cursor)}", "dim"))


def _again(session: Session, cursor: str) -> str:
    """The same command for the next page, ready to be copied."""
    import shlex

    kept: list[str] = []
    skip = False
    for token in session.command.argv:
        if not skip and token != "--cursor" and not token.startswith("--cursor="):
            kept.append(token)
        skip = token == "--cursor"
    at = kept.index("--") if "--" in kept else len(kept)
    kept[at:at] = ["--cursor", cursor]
    return clean_line("kb " + shlex.join(kept))


def _nothing(session: Session, query: Query, result: SearchResult, empty: bool) -> None:
    if empty:
        session.note(("The store is empty.", "bold"), "  Fill it:  kb add PATH")
        return
    if not result.lexical.ran and not result.vector.ran:
        reason = clean_line(result.lexical.reason or "there is nothing in it to look for")
        session.note(("Nothing to search for: ", "bold"), f"{reason}.  See what is there:  kb list")
        return
    session.note(("Nothing found.", "bold"), f"  {_searched(result)}")
    for advice in _advice(session.command.values, query, result):
        session.note(("  try: ", "dim"), advice)


def _searched(result: SearchResult) -> str:
    tier = {"fts": "whole words and their stems", "trigram": "characters in a row", "like": "parts of words"}
    ways = [f"by {tier.get(result.lexical.tier or '', 'keywords')}"] if result.lexical.ran else []
    ways += ["by meaning"] if result.vector.ran else []
    return f"Searched {' and '.join(ways)}."


def _advice(values: Mapping[str, Any], query: Query, result: SearchResult) -> list[str]:
    advice = []
    if query.cursor:
        advice.append("the first page, without --cursor")
    named = ("threshold", "min_score")
    advice += [f"without --{name.replace('_', '-')} {values[name]:g}" for name in named if values.get(name) is not None]
    if not query.filters.empty:
        advice.append("fewer filters: kb list with the same ones shows what they leave")
    if query.mode != "hybrid":
        advice.append("--mode hybrid")
    if '"' in query.text:
        advice.append("without the double quotes, which ask for an exact phrase")
    if not result.vector.ran and result.vector.reason and query.mode == "hybrid":
        advice.append(f"kb doctor ({clean_line(result.vector.reason)})")
    return advice or ["other or fewer words; kb list shows what is there"]
