"""What kb is compared with: other people's BM25, plain FTS5, embeddings alone, and reciprocal rank fusion of them.

    python benchmarks/baselines.py DATA [--only scifact] [--cache DIR] [--limit 100] [--per-query] [--out FILE]

All of them see whole documents, `title` + newline + `text`, and the queries that kb is asked. A leg scores every
document; where a question stays inside a part of the collection, the others are left out before the ranking is cut.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np

sys.path.insert(0, str(common.ROOT / "src"))

from kb.embed import registry
from kb.evaluate.judged import Judged
from kb.evaluate.metrics import mean, measure
from kb.text import cjk_char, unreadable_share

DEPTH = 1000  # of each leg of a fusion; the measures look at 100
RRF_K = 60
BM25S = {"bm25s k1=.9 b=.4": (0.9, 0.4), "bm25s k1=1.2 b=.75": (1.2, 0.75)}
MODELS = ("static", "minilm")
SEMBLE = "semble"
SEMBLE_REASON = "not available offline: semble 0.7.0 ships no weights and loads potion-code-16M-v2 from a model hub"
# Underscores part words, as in FTS5: bm25s's own \w keeps snake_case whole and reads CoSQA at .339 instead of .384.
_WORD = re.compile(r"[^\W_]{2,}")
_PIECE = re.compile(r"[^\W_]+")

Scores = Callable[[int], np.ndarray]  # number of a query -> one score per document, -inf where it was not found


@dataclass(frozen=True)
class Collection:
    """A judged collection as the legs see it."""

    name: str
    paths: list[str]
    texts: list[str]
    judged: Judged
    inside: list[np.ndarray | None]  # per query: which documents may be found; None is all of them

    @property
    def questions(self) -> list[str]:
        return [query.text for query in self.judged.queries]


def collection(name: str, judged: Judged) -> Collection:
    documents = list(judged.documents())
    paths = [document.path for document in documents]
    masks: dict[str, np.ndarray] = {}
    for folder in sorted({query.within for query in judged.queries if query.within}):
        prefix = folder.removesuffix("**")
        masks[folder] = np.array([path.startswith(prefix) for path in paths])
    texts = [f"{document.title or ''}\n{document.text}" for document in documents]
    return Collection(name, paths, texts, judged, [masks.get(query.within or "") for query in judged.queries])


# ---------------------------------------------------------------- legs


def words(text: str) -> Iterator[str]:
    """Words of two letters and more; runs of CJK characters as their character pairs."""
    if text.isascii():
        yield from _WORD.findall(text.lower())
        return
    wide = cjk_char()
    for piece in _PIECE.findall(text.lower()):
        run = ""
        for character in piece + "\0":
            if run and (character == "\0" or bool(wide.match(character)) != bool(wide.match(run[-1]))):
                yield from _cut(run, bool(wide.match(run[-1])))
                run = ""
            run += character


def _cut(run: str, is_cjk: bool) -> list[str]:
    if not is_cjk:
        return [run] if len(run) > 1 else []
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def bm25s_leg(texts: list[str], questions: list[str], k1: float, b: float) -> Scores:
    import bm25s
    import Stemmer
    from bm25s.stopwords import STOPWORDS_EN

    stem = Stemmer.Stemmer("english").stemWords
    left_out = frozenset(STOPWORDS_EN)

    def tokens(text: str) -> list[str]:
        return stem([word for word in words(text) if word not in left_out])

    retriever = bm25s.BM25(method="lucene", k1=k1, b=b)
    retriever.index([tokens(text) for text in texts], show_progress=False)
    vocabulary = retriever.vocab_dict

    def scores(number: int) -> np.ndarray:
        known = [word for word in tokens(questions[number]) if word in vocabulary]
        found = retriever.get_scores(known) if known else np.zeros(len(texts))
        return np.where(found > 0, found, -np.inf)

    return scores


def fts5_leg(texts: list[str], questions: list[str]) -> Scores:
    """SQLite's own ranking, one row per document, any word of the question; nothing left out and nothing weighted."""
    import apsw

    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE documents USING fts5(body, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO documents(rowid, body) VALUES (?, ?)", enumerate(texts))

    def scores(number: int) -> np.ndarray:
        found = np.full(len(texts), -np.inf)
        asked = " OR ".join(f'"{word}"' for word in _PIECE.findall(questions[number]))
        if asked:
            match = "SELECT rowid, -bm25(documents) FROM documents WHERE documents MATCH ?"
            for row, score in connection.execute(match, (asked,)):
                found[row] = score
        return found

    return scores


def dense_leg(documents: np.ndarray, questions: np.ndarray) -> Scores:
    """Exact cosine. A text of which the model knows nothing is a zero vector and is not found."""
    documents, questions = documents.astype(np.float32), questions.astype(np.float32)
    unknown = ~documents.any(axis=1)

    def scores(number: int) -> np.ndarray:
        found = documents @ questions[number] if questions[number].any() else np.full(len(documents), -np.inf)
        return np.where(unknown, -np.inf, found)

    return scores


def vectors(model: str, texts: list[str], file: Path | None) -> np.ndarray:
    """One float16 row per text, kept in ``file``: MiniLM reads about 40 texts a second on one core."""
    if file is not None and file.is_file():
        return np.asarray(np.load(file))
    embedder = registry.load(model)
    assert embedder is not None
    made = np.stack([np.frombuffer(embedder.embed_passages([text])[0], "<f4").astype(np.float16) for text in texts])
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, made)
    return made


# ---------------------------------------------------------------- rankings


def ranking(scores: np.ndarray, inside: np.ndarray | None) -> np.ndarray:
    """Numbers of the documents that were found, best first; equal scores in the order of the collection."""
    if inside is not None:
        scores = np.where(inside, scores, -np.inf)
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return order[np.isfinite(scores[order])]


def rrf(*rankings: np.ndarray) -> np.ndarray:
    fused: dict[int, float] = {}
    for one in rankings:
        for rank, document in enumerate(one.tolist(), start=1):
            fused[document] = fused.get(document, 0.0) + 1 / (RRF_K + rank)
    return np.array(sorted(fused, key=lambda document: (-fused[document], document)), dtype=int)


def measured(of: Collection, rankings: list[np.ndarray]) -> dict[str, Any]:
    """Mean of each measure, and nDCG@10 per query."""
    rows = {}
    for query, found in zip(of.judged.queries, rankings, strict=True):
        gains = [query.grades.get(of.paths[document], 0.0) for document in found[:100].tolist()]
        rows[query.id] = measure(gains, list(query.grades.values()))
    names = next(iter(rows.values()))
    means = {name: round(mean([row[name] for row in rows.values()]), 4) for name in names}
    return means | {"per_query": {query: round(row["ndcg@10"], 6) for query, row in rows.items()}}


def run(of: Collection, cache: Path | None = None) -> dict[str, Any]:
    """Every baseline of a collection by its name: measures and nDCG@10 per query, or why there are none."""
    everything = {**_fast(of, cache), SEMBLE: {"unavailable": SEMBLE_REASON}}
    return dict(sorted(everything.items()))


def _fast(of: Collection, cache: Path | None) -> dict[str, Any]:
    key = _key(of)
    kept = cache / f"{of.name}-{key}-baselines.json" if cache else None
    if kept is not None and kept.is_file():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    questions = of.questions
    legs = {name: _ranked(of, bm25s_leg(of.texts, questions, *values)) for name, values in BM25S.items()}
    legs["fts5 or"] = _ranked(of, fts5_leg(of.texts, questions))
    found: dict[str, Any] = {}
    bm25 = legs["bm25s k1=.9 b=.4"]
    for model in MODELS:
        unreadable = _unreadable(model, questions)
        if unreadable:
            found[model] = found[f"rrf bm25s {model}"] = {"unavailable": unreadable}
            continue
        corpus = cache / f"{_corpus_key(of)}-{model}-docs.npy" if cache else None
        asked = cache / f"{_asked_key(of)}-{model}-queries.npy" if cache else None
        leg = dense_leg(vectors(model, of.texts, corpus), vectors(model, questions, asked))
        legs[model] = _ranked(of, leg)
        legs[f"rrf bm25s {model}"] = [rrf(*pair) for pair in zip(bm25, legs[model], strict=True)]
    found |= {name: measured(of, rankings) for name, rankings in legs.items()}
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    return found


def _ranked(of: Collection, scores: Scores) -> list[np.ndarray]:
    return [ranking(scores(number), inside) for number, inside in enumerate(of.inside)]


def _unreadable(model: str, questions: list[str]) -> str | None:
    """Why a model does not take part: most questions are in scripts that it was not trained on."""
    embedder = registry.load(model)
    assert embedder is not None
    strange = sum(unreadable_share(text, embedder.info.scripts) > 0.25 for text in questions)
    if strange * 2 <= len(questions):
        return None
    return (
        f"the model reads {', '.join(embedder.info.scripts)} only, and {strange} of {len(questions)} questions do not"
    )


def _digest(texts: list[str]) -> str:
    return hashlib.blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=6).hexdigest()


def _corpus_key(of: Collection) -> str:
    return f"{of.judged.name}-{_digest(of.texts)}"


def _asked_key(of: Collection) -> str:
    return f"{of.judged.name}-{_digest(of.questions)}"


def _key(of: Collection) -> str:
    judged = [f"{query.id} {query.text} {query.within} {sorted(query.grades.items())}" for query in of.judged.queries]
    program = Path(__file__).read_text(encoding="utf-8")
    return _digest([*of.texts, *judged, program])


def main() -> None:
    import quality

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--per-query", action="store_true", help="write nDCG@10 of each query, too")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    with quality.unpacked(options.data) as folder:
        for name, judged in quality.collections(folder, options.only.split(",") if options.only else [], options.limit):
            started = time.perf_counter()
            rows[name] = run(collection(name, judged), options.cache)
            quality.show(name, rows[name])
            print(f"{time.perf_counter() - started:.1f} s\n", flush=True)
    if not options.per_query:
        rows = {name: quality.without_queries(row) for name, row in rows.items()}
    common.write("baselines", {"limit": options.limit, "collections": rows}, options.out)


if __name__ == "__main__":
    main()
