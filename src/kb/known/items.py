"""Headings, titles, texts of links and names in code as queries for what they name.

Each is drawn by the hash of its own text, so that the same store gives the same queries, and a store that grew gives
mostly the same. Only a part of a large store is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from kb.analysis import stems
from kb.known.links import Places, links_in
from kb.protocols import Snapshot
from kb.search.stopwords import STOPWORDS
from kb.text import has_cjk
from kb.types import Filters, StoredChunk, StoredDocument
from kb.wordtext import name_parts

ItemKind = Literal["link", "symbol", "title", "heading"]
KINDS: tuple[ItemKind, ...] = ("link", "symbol", "title", "heading")
# Of a whole sample. Texts of links stand elsewhere than in what they lead to, as the words of a person do; the others
# are words of the answer itself, which any keyword search finds (docs/decisions/011-tune.md).
SHARES: dict[ItemKind, float] = {"link": 0.5, "symbol": 0.2, "title": 0.15, "heading": 0.15}
# Of a large store, for each query that is wanted, whichever is first: more than is drawn where one chunk in fifty holds
# a link to a document of the store, by a text that means only this one. 100,000 documents take 1.7 s, most of it to list.
READ_CHUNKS, READ_DOCUMENTS = 30, 10
SHORTEST, LONGEST = 3, 120  # characters of a query
COMMON = 0.005  # a word alone that stands in a larger share of all chunks (and in more than FEW) names nothing
FEW = 5
IN_BODY = 0.5  # share of the words of a heading or title that what stands under it must hold as well
MOST_UNDER = 20  # chunks that are looked at for that

_WORD = re.compile(r"\w+")
_MARKUP = re.compile(r"<[^<>]{1,200}>|[`*\\]|(?<!\w)_+|_+(?!\w)")
_HEADING_LINE = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A query, and what answers it: these chunks of a document, or with none named any of it."""

    query: str
    doc_id: str
    chunk_ids: tuple[str, ...]
    kind: ItemKind

    def is_answered_by(self, doc_id: str, chunk_id: str) -> bool:
        return doc_id == self.doc_id and (not self.chunk_ids or chunk_id in self.chunk_ids)


@dataclass(frozen=True, slots=True)
class _Candidate:
    item: KnownItem
    under: tuple[StoredChunk, ...] = ()  # what a heading or title stands over

    @property
    def key(self) -> str:
        return self.item.query.casefold()


def known_items(snapshot: Snapshot, limit: int = 300, collection: str | None = None) -> list[KnownItem]:
    """At most ``limit`` queries with known answers, by kind and query; () where a store has nothing to make them of."""
    documents = snapshot.find(Filters(collection=collection))
    candidates = _named_once(_candidates(snapshot, documents, limit), documents)
    candidates = _saying_enough(snapshot, candidates)
    by_kind = {kind: [each for each in candidates if each.item.kind == kind] for kind in KINDS}
    found: dict[str, KnownItem] = {}
    for kind in KINDS:
        _draw(by_kind[kind], min(limit, len(found) + round(limit * SHARES[kind])), found)
    for kind in KINDS:  # what one kind could not fill is left to the others, the best first
        _draw(by_kind[kind], limit, found)
    return sorted(found.values(), key=lambda item: (KINDS.index(item.kind), item.query))


def _draw(candidates: Iterable[_Candidate], limit: int, found: dict[str, KnownItem]) -> None:
    for each in candidates:
        if len(found) >= limit:
            return
        if each.key not in found and _is_spoken_of(each):
            found[each.key] = each.item


# ---------------------------------------------------------------- candidates


def _candidates(snapshot: Snapshot, documents: Sequence[StoredDocument], limit: int) -> list[_Candidate]:
    """Everything that documents drawn by the hash of their ids offer, in the order of hashes of the queries."""
    collections: dict[str, list[StoredDocument]] = {}
    for document in documents:
        collections.setdefault(document.collection, []).append(document)
    places = {name: Places.of(held) for name, held in collections.items()}
    found: dict[KnownItem, _Candidate] = {}
    read = 0
    for document in sorted(documents, key=lambda each: _hash(each.doc_id))[: limit * READ_DOCUMENTS]:
        if read >= limit * READ_CHUNKS:
            break
        _, chunks = snapshot.read(document.doc_id)
        read += len(chunks)
        for each in _offered(document, chunks, places[document.collection]):
            found.setdefault(each.item, each)
    return sorted(found.values(), key=lambda each: (_hash(each.key), each.item.doc_id, each.item.chunk_ids))


def _offered(document: StoredDocument, chunks: Sequence[StoredChunk], places: Places) -> Iterator[_Candidate]:
    sections: dict[tuple[str, ...], list[StoredChunk]] = {}
    symbols: dict[str, list[str]] = {}
    for stored in chunks:
        chunk = stored.chunk
        if chunk.symbol:
            symbols.setdefault(chunk.symbol, []).append(stored.chunk_id)
        elif chunk.kind != "code":
            for depth in range(1, len(chunk.heading_path) + 1):
                sections.setdefault(chunk.heading_path[:depth], []).append(stored)
            for text, target in links_in(chunk.text):
                doc_id = places.resolve(target, document.path)
                if doc_id is not None:
                    yield _Candidate(KnownItem(plain(text), doc_id, (), "link"))
    for symbol, ids in symbols.items():
        words = name_words(re.split(r"\W", symbol)[-1])
        if len(words) > 1:
            yield _Candidate(KnownItem(" ".join(words), document.doc_id, tuple(ids), "symbol"))
    if document.type != "code":
        yield _Candidate(KnownItem(plain(document.title), document.doc_id, (), "title"), tuple(chunks))
    for path, inside in sections.items():
        if path[-1] != document.title:
            ids = [stored.chunk_id for stored in inside]
            yield _Candidate(KnownItem(plain(path[-1]), document.doc_id, tuple(ids), "heading"), tuple(inside))


def name_words(name: str) -> list[str]:
    """``_readAll_files`` is "read all files"."""
    return [word.lower() for part in name.split("_") if part for word in name_parts(part) or [part]]


def plain(text: str) -> str:
    """A text as people would type it: one line without marks."""
    return " ".join(_MARKUP.sub("", text).split())


def _named_once(candidates: Sequence[_Candidate], documents: Sequence[StoredDocument]) -> list[_Candidate]:
    """Without the queries that several things answer, such as "Overview"."""
    answers: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for document in documents:
        answers.setdefault(plain(document.title).casefold(), set()).add((document.doc_id, ()))
    for each in candidates:
        answers.setdefault(each.key, set()).add((each.item.doc_id, each.item.chunk_ids))
    return [each for each in candidates if _is_one(answers[each.key])]


def _is_one(answers: set[tuple[str, tuple[str, ...]]]) -> bool:
    """One document, and at most one place in it."""
    return len({doc_id for doc_id, _ in answers}) == 1 and sum(bool(chunk_ids) for _, chunk_ids in answers) <= 1


# ---------------------------------------------------------------- which are good


def _saying_enough(snapshot: Snapshot, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Those of two words or more that mean something, or of one that is rare here."""
    words = {each.item.query: _meaning(each.item.query) for each in candidates}
    alone = sorted({found[0] for found in words.values() if len(found) == 1 and not has_cjk(found[0])})
    counts = snapshot.vocabulary.terms(alone)  # in one call, as each counts all chunks
    most = max(FEW, COMMON * counts.get("", 0))

    def enough(found: list[str]) -> bool:
        if len(found) != 1:
            return bool(found)
        return len(found[0]) > SHORTEST if has_cjk(found[0]) else 0 < counts[found[0]] <= most

    return [each for each in candidates if enough(words[each.item.query])]


def _meaning(query: str) -> list[str]:
    """The words of a query that mean something; none where it is no query that a person would type."""
    if not SHORTEST <= len(query) <= LONGEST or "{{" in query or "://" in query:
        return []
    return [word for word in _WORD.findall(query) if word.lower() not in STOPWORDS and not word.isdigit()]


def _is_spoken_of(each: _Candidate) -> bool:
    """Whether a heading or title would be looked for in this text even if it did not stand above it."""
    if each.item.kind not in ("heading", "title"):
        return True
    words = {word for word in _WORD.findall(each.item.query) if word.lower() not in STOPWORDS}
    wanted = set(stems(" ".join(sorted(words))))
    body = " ".join(_HEADING_LINE.sub("", stored.chunk.text) for stored in each.under[:MOST_UNDER])
    return bool(wanted) and len(wanted.intersection(stems(body))) >= IN_BODY * len(wanted)


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
