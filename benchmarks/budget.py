"""What an answer carries at a budget of tokens: recall at 500, 1,000, 2,000 and 4,000, before and now.

    python benchmarks/budget.py DATA [--only scifact,k8s-anchors-en] [--limit 150] [--tops 10,50] [--cache DIR]

DATA holds folders in BEIR layout. `documents` is the share of the relevant documents among the hits, `whole` the share of
which a chunk is there in full, not only a snippet. "before" is the rule that packing had at first: the first snippets that
fit, up to the first that does not. `cpu_ms` is what each way of arranging adds to a search, in time of the processor.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common

sys.path.insert(0, str(common.ROOT / "src"))

from kb import app, config
from kb.evaluate import judged
from kb.search import budget as packing
from kb.types import Hit, Query, Shape

BUDGETS = (500, 1000, 2000, 4000)
SHAPES = {
    "per_doc": Shape(per_doc=1),
    "mmr": Shape(mmr=0.7),
    "merge": Shape(merge=True),
    "parent": Shape(parent=True),
}


def first_that_fit(hits: Sequence[Hit], budget: int) -> list[Hit]:
    packed: list[Hit] = []
    for hit in hits:
        budget -= packing.cost(hit)
        if packed and budget < 0:
            break
        packed.append(hit)
    return packed


def shares(packed: Sequence[Hit], lengths: dict[str, int], relevant: set[str]) -> tuple[float, float]:
    """Of the relevant documents: those that are there, those of which a chunk is there in full."""
    whole = {hit.doc_path for hit in packed if hit.text or len(hit.snippet) >= lengths[hit.chunk_id]}
    found = {hit.doc_path for hit in packed}
    return len(relevant & found) / len(relevant), len(relevant & whole) / len(relevant)


def mean(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    return {
        name: round(statistics.fmean(values), 4)
        for name, values in zip(("documents", "whole"), zip(*pairs, strict=True), strict=True)
    }


def recall(base: app.KB, queries: Sequence[judged.JudgedQuery], top: int) -> dict[str, Any]:
    before: dict[int, list[tuple[float, float]]] = {budget: [] for budget in BUDGETS}
    now: dict[int, list[tuple[float, float]]] = {budget: [] for budget in BUDGETS}
    for question in queries:
        relevant = {path for path, grade in question.grades.items() if grade > 0}
        hits = base.search(Query(question.text, top=top)).hits
        with base.store.snapshot() as snapshot:
            chunks = snapshot.chunks([hit.chunk_id for hit in hits])
        lengths = {name: len(stored.chunk.text.strip()) for name, stored in chunks.items()}
        for budget in BUDGETS:
            packed = base.search(Query(question.text, top=top, budget=budget)).hits
            before[budget].append(shares(first_that_fit(hits, budget), lengths, relevant))
            now[budget].append(shares(packed, lengths, relevant))
    return {str(budget): {"before": mean(before[budget]), "now": mean(now[budget])} for budget in BUDGETS}


def cpu_ms(base: app.KB, queries: Sequence[judged.JudgedQuery]) -> dict[str, float]:
    """Medians over the questions, each asked in every way, one after the other."""

    def timed(query: Query) -> float:
        started = time.process_time()
        base.search(query)
        return (time.process_time() - started) * 1000

    ways: dict[str, Callable[[str], Query]] = {"plain": Query, "budget": lambda text: Query(text, budget=2000)}
    ways |= {name: lambda text, shape=shape: Query(text, shape=shape) for name, shape in SHAPES.items()}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for question in queries[:40]:
        for name, make in ways.items():
            times[name].append(timed(make(question.text)))
    return {name: round(statistics.median(values), 2) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="scifact,k8s-anchors-en")
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--tops", default="10,50")
    parser.add_argument("--cache", type=Path, default=Path("kb-budget"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.only.split(","):
        collection = judged.read(options.data / name)
        queries = collection.queries[: options.limit]
        with app.open(options.cache / name, settings=config.Settings()) as base:
            if not base.status().documents:
                base.put(collection.documents())
            tops = {top: recall(base, queries, int(top)) for top in options.tops.split(",")}
            found[name] = {"queries": len(queries), "top": tops, "cpu_ms": cpu_ms(base, queries)}
        for top, rows in tops.items():
            for budget, row in rows.items():
                print(
                    f"{name:16} top {top:>3} {budget:>5} tokens  before {row['before']}  now {row['now']}", flush=True
                )
        print(name, found[name]["cpu_ms"])
    common.write("budget", {"collections": found}, options.out)


if __name__ == "__main__":
    main()
