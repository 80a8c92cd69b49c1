"""The document in each leg: how high it stands, however deep, and which words of the query it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kb.errors import QueryTimeout
from kb.languages import is_marked
from kb.protocols import Snapshot
from kb.search.cite import cite
from kb.search.engine import Engine, depth_of
from kb.search.legs import Found
from kb.search.widen import widen
from kb.store.spelling import distance
from kb.types import Citation, LexicalQuery, Query, StoredChunk, Term
from kb.whynot.look import Look
from kb.whynot.target import Target
from kb.whynot.values import Meaning, MissingWord, Words

# As if so many hits were asked for: a leg then looks at 20,000 or 30,000 chunks, far more than any answer can show
# (max_top is 10,000 at most), and reading the vectors of so many takes a third of a second.
DEEP = 10_000
NEAR = 2  # words of the document that are named for one that it lacks
LOOKED_AT = 5_000  # different words of it
PART = 4  # letters that a word and a compound of it must share
_WORD = re.compile(r"[^\W_]+")


def deeper(engine: Engine, snapshot: Snapshot, query: Query, seen: Look) -> tuple[Found, Found]:
    """What each leg found, much deeper where a leg was full and the document is not in it."""
    full = depth_of(seen.plan.profile, seen.page.top)
    short = [
        found.ranking is not None and len(found.ranking) >= full and not seen.wanted.intersection(found.ranking)
        for found in (seen.lexical, seen.vector)
    ]
    if not any(short):
        return seen.lexical, seen.vector
    try:
        lexical, vector = engine.candidates(snapshot, engine.plan(query), DEEP)
    except QueryTimeout:
        return seen.lexical, seen.vector
    return (lexical if short[0] else seen.lexical), (vector if short[1] else seen.vector)


def meaning(snapshot: Snapshot, target: Target, seen: Look, deep: Found) -> Meaning:
    held = len(snapshot.vectors_of(sorted(target.wanted)))
    if not deep.leg.ran:
        return Meaning(False, deep.leg.reason, vectors=held)
    depth = depth_of(seen.plan.profile, seen.page.top)
    cosines = snapshot.cosines(deep.vector, sorted(target.wanted))
    if not cosines:
        return Meaning(True, None, None, None, depth, None, held)
    best = min(cosines, key=lambda name: (-cosines[name], name))
    ranked = (deep.ranking or {}).get(best)
    return Meaning(True, None, ranked.rank if ranked else None, cosines[best], depth, _place(target, best), held)


def words(snapshot: Snapshot, target: Target, seen: Look, deep: Found) -> Words:
    if not deep.leg.ran or deep.asked is None:
        return Words(False, deep.leg.reason)
    asked = deep.asked
    ranking = deep.ranking or {}
    best = min((name for name in target.wanted if name in ranking), key=lambda name: ranking[name].rank, default=None)
    holders = _holders(snapshot, asked, target, deep.also)
    if best is None:  # the one that holds most of them
        counts = {chunk.chunk_id: sum(chunk.chunk_id in held for held in holders.values()) for chunk in target.texts}
        nearest = max(counts, key=lambda name: counts[name], default=None)
    else:
        nearest = best
    missing = [term for term, held in holders.items() if nearest not in held]
    return Words(
        ran=True,
        tier=seen.lexical.leg.tier,
        rank=ranking[best].rank if best else None,
        score=ranking[best].score if best else None,
        depth=depth_of(seen.plan.profile, seen.page.top),
        place=_place(target, nearest) if nearest and (best or len(missing) < len(holders)) else None,
        held=tuple(term.text for term, held in holders.items() if nearest in held),
        missing=tuple(_missing(snapshot, target, missing, holders)),
        dropped=_dropped(seen, asked),
    )


def _holders(snapshot: Snapshot, asked: LexicalQuery, target: Target, also: Sequence[str]) -> dict[Term, set[str]]:
    """For each word that was looked for: which chunks of the document hold it, as the store decides it."""
    if asked.raw is not None:
        return {}
    found: dict[Term, set[str]] = {}
    for term in asked.terms:
        if term not in found and not is_marked(term.text) and term.text not in also:
            one = widen(snapshot, replace(asked, terms=(term,), deadline=None)).query
            found[term] = {hit.chunk_id for hit in snapshot.match(one, target.only, len(target.chunks))}
    return found


def _dropped(seen: Look, asked: LexicalQuery) -> tuple[str, ...]:
    """Words of the query that were not looked for, as they stand nearly everywhere."""
    if asked.tier != "fts" or asked.join == "all" or seen.plan.parsed.cjk:
        return ()
    kept = {term.text for term in asked.terms}
    return tuple(dict.fromkeys(term.text for term in seen.plan.parsed.terms if term.text not in kept))


def _place(target: Target, chunk_id: str) -> Citation:
    chunk = next(chunk for chunk in target.chunks if chunk.chunk_id == chunk_id)
    return cite(chunk.chunk, target.document)


# ---------------------------------------------------------------- words that it lacks


def _missing(
    snapshot: Snapshot, target: Target, missing: Sequence[Term], holders: Mapping[Term, set[str]]
) -> Iterator[MissingWord]:
    counts = snapshot.vocabulary.terms([term.text for term in missing])
    known = vocabulary(target.document.title, target.texts) if missing else ()
    for term in missing:
        near = () if term.phrase or holders[term] else nearest(term.text, known)
        yield MissingWord(term.text, counts.get(term.text, 0), near, bool(holders[term]))


def vocabulary(title: str, chunks: Iterable[StoredChunk]) -> tuple[str, ...]:
    """The different words of these texts, as they are first spelt."""
    found: dict[str, str] = {}
    for text in (title, *(_text(chunk) for chunk in chunks)):
        for word in _WORD.findall(text):
            found.setdefault(word.lower(), word)
            if len(found) >= LOOKED_AT:
                return tuple(found.values())
    return tuple(found.values())


def _text(stored: StoredChunk) -> str:
    return "\n".join((*stored.chunk.heading_path, stored.chunk.symbol or "", stored.chunk.text))


def nearest(word: str, known: Sequence[str]) -> tuple[str, ...]:
    """The words that look most like it: spelt a little otherwise, or one part of the other."""
    lower = word.lower()
    most = 1 if len(lower) < 5 else 2 if len(lower) < 10 else 3
    found: list[tuple[int, int, str]] = []
    for other in known:
        folded = other.lower()
        apart = abs(len(folded) - len(lower))
        if folded == lower:
            continue
        if min(len(folded), len(lower)) >= PART and (folded in lower or lower in folded):
            found.append((min(apart, most), apart, other))
        elif apart <= most and len(lower) > most + 1 and (mistakes := distance(lower, folded, most)) <= most:
            found.append((mistakes, apart, other))
    return tuple(other for *_, other in sorted(found)[:NEAR])
