"""How the oracle searches: FTS5's bm25, substrings, cosine and filters, written out in plain Python."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from kb.analysis import TOKENIZER, read
from kb.errors import QueryTimeout
from kb.store import spelling
from kb.store.wording import (
    AS_WRITTEN,
    FIELDS,
    PARTIAL_LEAST,
    PARTIAL_POOL,
    PARTIAL_SCALE,
    PLAIN_WEIGHTS,
    SHORT,
    WEIGHTS,
    Phrase,
    bad_expression,
    chunk_words,
    count,
    fold,
    fts_phrases,
    heading_index,
    is_cjk,
    share,
    substring_score,
    title_index,
    trigrams,
    word_fields,
    words,
)
from kb.text import has_cjk, index_text
from kb.types import TRUST_LEVELS, Extent, Filters, LexicalQuery, StoredChunk, StoredDocument, Term
from kb.wordtext import in_expression

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6  # of FTS5's bm25
Fields = tuple[str, str, str]  # title, headings and body as trigrams and substrings read them
Tokens = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    documents: Mapping[str, StoredDocument]
    chunks: list[StoredChunk]

    def fields(self, chunk: StoredChunk) -> Fields:
        return title_index(self.documents[chunk.doc_id]), heading_index(chunk), index_text(chunk.chunk.text)

    def words(self, chunk: StoredChunk) -> tuple[str, ...]:
        return word_fields(self.documents[chunk.doc_id], chunk)

    def cjk(self) -> list[StoredChunk]:
        return [chunk for chunk in self.chunks if is_cjk(*self.fields(chunk))]


def match(corpus: Corpus, query: LexicalQuery, allowed: Sequence[StoredChunk]) -> dict[str, float]:
    """Score by chunk id of all chunks that match, out of those allowed."""
    import time

    if query.deadline is not None and time.monotonic() >= query.deadline:
        raise QueryTimeout("the search took longer than its deadline", fix="use fewer or rarer words")
    names = {chunk.chunk_id for chunk in allowed}
    scores = {"fts": _fts, "trigram": _trigram, "like": _like, "raw": _raw}[query.tier](corpus, query, names)
    return {name: score for name, score in scores.items() if name in names}


def _fts(corpus: Corpus, query: LexicalQuery, names: set[str]) -> dict[str, float]:
    rows = {chunk.chunk_id: tuple(map(_stems, corpus.words(chunk))) for chunk in corpus.chunks}
    return bm25(rows, WEIGHTS, fts_phrases(query), every=query.join == "all")


def extents(corpus: Corpus, chunk_ids: Sequence[str]) -> dict[str, Extent]:
    sizes = {chunk.chunk_id: _size(tuple(map(_stems, corpus.words(chunk)))) for chunk in corpus.chunks}
    average = (sum(sizes.values()) / len(sizes) if sizes else 0.0) or 1.0
    siblings = Counter(chunk.doc_id for chunk in corpus.chunks)
    wanted = set(chunk_ids)
    return {
        chunk.chunk_id: Extent(chunk.doc_id, round(sizes[chunk.chunk_id] / average, 9), siblings[chunk.doc_id])
        for chunk in corpus.chunks
        if chunk.chunk_id in wanted
    }


class Words:
    """The vocabulary of a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @property
    def languages(self) -> tuple[str, ...]:
        documents, chunks = self._corpus.documents, self._corpus.chunks
        held = {chunk_words(chunk, documents[chunk.doc_id].lang).lang for chunk in chunks}
        return tuple(sorted(lang for lang in held if lang))

    def terms(self, words: Sequence[str]) -> dict[str, int]:
        rows = [tuple(map(_stems, self._corpus.words(chunk))) for chunk in self._corpus.chunks]
        found = {"": len(rows)}
        for word in filter(None, words):
            phrases = fts_phrases(LexicalQuery("fts", (Term(word),), "all"))
            found[word] = sum(any(_weighted(row, WEIGHTS, phrase) for phrase in phrases) for row in rows)
        return found

    def spellings(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        copies = [self._corpus.words(chunk) for chunk in self._corpus.chunks]
        held = [[term for field in fields for term in _stems(field)] for fields in copies]
        chunks = Counter(term for terms in held for term in set(terms))
        found: dict[str, tuple[str, ...]] = {}
        for word in words:
            stem = spelling.stem_of(word)
            if stem is None or chunks[stem]:
                continue
            found[word] = ()
            low, high = spelling.lengths(word)
            for begin in map(tuple, spelling.beginnings(stem)):
                near = [pair for pair in chunks.items() if pair[0].startswith(begin) and low <= len(pair[0]) <= high]
                texts = [text for term in spelling.candidates(word, near) for text in _first(copies, held, term)]
                found[word] = found[word] or spelling.nearest(word, texts)
        return found


def _first(copies: Sequence[Sequence[str]], held: Sequence[Sequence[str]], term: str) -> list[str]:
    """The fields of the first chunks that hold a stem."""
    places = [number for number, terms in enumerate(held) for found in terms if found == term][: spelling.PLACES]
    return [field for number in list(dict.fromkeys(places))[: spelling.TEXTS] for field in copies[number][:AS_WRITTEN]]


def _trigram(corpus: Corpus, query: LexicalQuery, names: set[str]) -> dict[str, float]:
    found = words(query.terms)
    short = [word for word in found if len(word) < SHORT]
    long = [Phrase(word, _trigrams(word)) for word in found if len(word) >= SHORT]
    cjk = corpus.cjk()
    holds = {c.chunk_id: c for c in cjk if all(any(fold(w) in fold(f) for f in corpus.fields(c)) for w in short)}
    if long:
        scores = bm25(_trigram_rows(corpus, cjk), PLAIN_WEIGHTS, long, every=True)
        return {name: score for name, score in scores.items() if name in holds}
    return {name: _short_score(corpus.fields(chunk), short) for name, chunk in holds.items()} if short else {}


def _trigram_rows(corpus: Corpus, chunks: Sequence[StoredChunk]) -> dict[str, Tokens]:
    return {chunk.chunk_id: tuple(map(_trigrams, corpus.fields(chunk))) for chunk in chunks}


def _short_score(fields: Fields, short: Sequence[str]) -> float:
    hits = [sum(w * count(word, field) for w, field in zip(PLAIN_WEIGHTS, fields, strict=True)) for word in short]
    return round(substring_score(hits, sum(map(len, fields))), 12)


def _like(corpus: Corpus, query: LexicalQuery, names: set[str]) -> dict[str, float]:
    scores: dict[str, float] = {}
    phrases = {term.text for term in query.terms if term.phrase}
    allowed = [chunk for chunk in corpus.chunks if chunk.chunk_id in names]
    for word in words(query.terms):
        found = {c.chunk_id: 1.0 for c in allowed if any(fold(word) in fold(f) for f in corpus.fields(c))}
        if not found and has_cjk(word) and len(word) >= SHORT and word not in phrases:
            found = _parts(corpus, word, names)
        for name, points in found.items():
            scores[name] = round(scores.get(name, 0.0) + points, 12)
    return scores


def _parts(corpus: Corpus, word: str, names: set[str]) -> dict[str, float]:
    cjk = corpus.cjk()
    wanted = [Phrase(part, _trigrams(part)) for part in trigrams(word)]
    scores = bm25(_trigram_rows(corpus, cjk), PLAIN_WEIGHTS, wanted, every=False)
    pool = {name: score for name, score in scores.items() if name in names}
    cut = min(sorted(pool.values(), reverse=True)[:PARTIAL_POOL], default=0.0)
    texts = {c.chunk_id: "\n".join(corpus.fields(c)) for c in cjk if pool.get(c.chunk_id, -1.0) >= cut}
    shares = {name: share(word, text) for name, text in texts.items()}
    return {name: PARTIAL_SCALE * found for name, found in shares.items() if found >= PARTIAL_LEAST}


def bm25(
    rows: Mapping[str, Tokens], weights: Sequence[float], phrases: Sequence[Phrase], *, every: bool
) -> dict[str, float]:
    """FTS5's formula: statistics over all rows, filters or not; a frequency is weighted by its column."""
    if not rows or not phrases:
        return {}
    average = sum(map(_size, rows.values())) / len(rows)
    hits = {name: [_weighted(tokens, weights, phrase) for phrase in phrases] for name, tokens in rows.items()}
    idfs = [_idf(len(rows), sum(found[place] > 0 for found in hits.values())) for place in range(len(phrases))]
    scores: dict[str, float] = {}
    for name, found in hits.items():
        if (all if every else any)(found):
            length = K1 * (1 - B + B * _size(rows[name]) / average)
            score = 0.0
            for idf, frequency in zip(idfs, found, strict=True):
                score += idf * ((frequency * (K1 + 1.0)) / (frequency + length))
            scores[name] = round(score, 12)
    return scores


def _idf(rows: int, hits: int) -> float:
    idf = math.log((rows - hits + 0.5) / (hits + 0.5))
    return idf if idf > 0 else LEAST_IDF


def _size(tokens: Tokens) -> int:
    return sum(map(len, tokens))


def _weighted(tokens: Tokens, weights: Sequence[float], phrase: Phrase) -> float:
    length = len(phrase.stems)
    return sum(
        weight * sum(_stands(field[at : at + length], phrase) for at in range(len(field) - length + 1))
        for weight, field in zip(weights, tokens, strict=True)
    )


def _stands(found: tuple[str, ...], phrase: Phrase) -> bool:
    if not phrase.open:
        return found == phrase.stems
    return found[:-1] == phrase.stems[:-1] and found[-1].startswith(phrase.stems[-1])


@lru_cache(maxsize=100_000)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(read(text))


@lru_cache(maxsize=100_000)
def _trigrams(text: str) -> tuple[str, ...]:
    import apsw

    tokenizer = apsw.Connection(":memory:").fts5_tokenizer("trigram", [])
    return tuple(token for _, _, token in tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None))


def _raw(corpus: Corpus, query: LexicalQuery, names: set[str]) -> dict[str, float]:
    """An expression of FTS5 means what FTS5 says: ask it, over a table made for the question."""
    import apsw

    connection = apsw.Connection(":memory:")
    tokenizer = " ".join(f"'{word}'" for word in TOKENIZER)
    connection.execute(f'CREATE VIRTUAL TABLE t USING fts5({", ".join(FIELDS)}, tokenize="{tokenizer}")')
    rows = [(place, *corpus.words(chunk)) for place, chunk in enumerate(corpus.chunks)]
    connection.executemany(f"INSERT INTO t(rowid, {', '.join(FIELDS)}) VALUES (?{', ?' * len(FIELDS)})", rows)
    if not (query.raw or "").strip():
        return {}
    statement = f"SELECT rowid, -bm25(t, {', '.join(map(str, WEIGHTS))}) FROM t WHERE t MATCH ?"
    try:
        found = connection.execute(statement, (in_expression(query.raw or ""),)).fetchall()
    except apsw.SQLError as cause:
        raise bad_expression(query.raw or "", str(cause)) from cause
    return {corpus.chunks[place].chunk_id: round(score, 12) for place, score in found}


def cosine(query: bytes, vector: bytes) -> float:
    a, b = (struct.unpack(f"<{len(value) // 4}f", value) for value in (query, vector))
    return min(1.0, max(-1.0, round(math.fsum(x * y for x, y in zip(a, b, strict=True)), 9)))


# ---------------------------------------------------------------- filters


def passing(corpus: Corpus, where: Filters) -> list[StoredChunk]:
    return [
        chunk
        for chunk in corpus.chunks
        if _document_passes(corpus.documents[chunk.doc_id], where)
        and where.kind in (None, chunk.chunk.kind)
        and where.lang in (None, chunk.chunk.lang, corpus.documents[chunk.doc_id].lang)
    ]


def documents_passing(corpus: Corpus, where: Filters) -> list[StoredDocument]:
    if where.kind is None and where.lang is None:
        return [document for document in corpus.documents.values() if _document_passes(document, where)]
    return [corpus.documents[name] for name in {chunk.doc_id for chunk in passing(corpus, where)}]


def _document_passes(document: StoredDocument, where: Filters) -> bool:
    tests = [
        set(where.tags) <= set(document.tags),
        not where.tags_any or bool(set(where.tags_any) & set(document.tags)),
        not where.types or document.type in where.types,
        where.collection in (None, document.collection),
        where.repo in (None, document.repo),
        where.version in (None, document.version),
        where.since is None or (document.date is not None and document.date >= where.since),
        where.before is None or (document.date is not None and document.date < where.before),
        where.trust_min is None or TRUST_LEVELS.index(document.trust) >= TRUST_LEVELS.index(where.trust_min),
        where.path is None or path_matches(where.path, document.path),
    ]
    return all(tests)


def path_matches(pattern: str, path: str) -> bool:
    """The rule, one character of the pattern at a time."""
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        starts = [0, *(at + 1 for at, char in enumerate(path) if char == "/")]
        return any(path_matches(pattern[3:], path[start:]) for start in starts)
    if pattern.startswith("**"):
        return any(path_matches(pattern[2:], path[at:]) for at in range(len(path) + 1))
    if pattern[0] == "*":
        within = path.split("/")[0]
        return any(path_matches(pattern[1:], path[at:]) for at in range(len(within) + 1))
    if not path:
        return False
    end = pattern.find("]", 3 if pattern.startswith("[!") else 2) if pattern[0] == "[" else -1
    if end > 0:
        return (
            path[0] != "/" and fnmatchcase(path[0], pattern[: end + 1]) and path_matches(pattern[end + 1 :], path[1:])
        )
    return (path[0] == pattern[0] or (pattern[0] == "?" and path[0] != "/")) and path_matches(pattern[1:], path[1:])
