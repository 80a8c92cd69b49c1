"""nDCG@10 of the vectors alone, document by document, on BEIR-layout folders.

    PYTHONPATH=src python models/evaluate.py MODEL[,MODEL...] FOLDER... [--queries N] [--max-chars N]

MODEL is a spec of kb.embed.registry or the path of a static model file. For measuring, not for tuning.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np

from kb.embed import registry
from kb.embed.static import StaticEmbedder
from kb.protocols import Embedder

DEPTH = 10
Judged = dict[str, dict[str, int]]


def open_model(spec: str) -> Embedder:
    if spec.endswith(".bin"):
        return StaticEmbedder(Path(spec))
    embedder = registry.load(spec)
    if embedder is None:
        raise SystemExit("nothing to evaluate")
    return embedder


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judgements(path: Path) -> Judged:
    found: Judged = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        found[query][document] = int(grade)
    return found


def ndcg(ranked: list[str], grades: dict[str, int]) -> float:
    def gain(values: list[int]) -> float:
        return sum(value / math.log2(rank + 1) for rank, value in enumerate(values, start=1))

    ideal = gain(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:DEPTH])
    return gain([max(grades.get(document, 0), 0) for document in ranked[:DEPTH]]) / ideal if ideal else 0.0


def matrix(vectors: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)


def evaluate(embedder: Embedder, folder: Path, limit: int, max_chars: int) -> float:
    corpus, grades = lines(folder / "corpus.jsonl"), judgements(folder / "qrels.tsv")
    queries = [query for query in lines(folder / "queries.jsonl") if query["_id"] in grades][:limit]
    texts = [f"{item.get('title', '')}\n{item['text']}".strip()[:max_chars] for item in corpus]
    documents = matrix(embedder.embed_passages(texts))
    asked = matrix([embedder.embed_query(query["text"]) for query in queries])
    top = np.argsort(-(asked @ documents.T), axis=1, kind="stable")[:, :DEPTH]
    scores = [
        ndcg([corpus[index]["_id"] for index in row], grades[query["_id"]])
        for row, query in zip(top, queries, strict=True)
    ]
    return sum(scores) / len(scores)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=10**6)
    parser.add_argument("--max-chars", type=int, default=10**6)
    options = parser.parse_args()
    for spec in options.models.split(","):
        embedder = open_model(spec)
        for folder in options.folders:
            score = evaluate(embedder, folder, options.queries, options.max_chars)
            print(f"{spec}\t{folder.name}\t{score:.4f}", flush=True)


if __name__ == "__main__":
    main()
