"""Fit the two logistic models of `search/confidence.py`: on all collections but one, tested on that one, then on all.

    python benchmarks/confidence.py DATA --cache DIR [--limit 150] [--out FILE]

Each collection is asked its own questions and as many of the other collections. The stores of `benchmarks/blend.py
--cache DIR` are used where they are there. Prints the weights to copy, with what the left-out collections got.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np

sys.path.insert(0, str(common.ROOT / "src"))

import quality

from kb import app, config, usual
from kb.evaluate.judged import JudgedQuery
from kb.evaluate.metrics import calibration
from kb.search import confidence
from kb.search.confidence import Usual
from kb.search.engine import Engine
from kb.types import Query

FALSE_ALARMS = 0.03  # share of real questions that may be turned away, where the threshold is set
LEAST = 50  # own questions: some in Japanese are English words, and go to the vector leg
RIDGE = 0.1


class Asked(NamedTuple):
    """The features of questions (and whether they are the collection's own), and of hits (and whether relevant)."""

    questions: Any
    own: Any
    hits: Any
    relevant: Any


def ask(engine: Engine, usual_: Usual, own: Sequence[JudgedQuery], foreign: Sequence[str]) -> dict[str, Asked]:
    """With the vector leg, where it runs, and from the words alone."""
    rows: dict[str, tuple[list[Any], list[bool], list[Any], list[bool]]] = {}
    for number, text in enumerate([*(query.text for query in own), *foreign]):
        for kind in ("both", "words"):
            mode = "hybrid" if kind == "both" else "lexical"
            ranking, evidence = engine.blended(Query(text, profile="best", mode=mode))
            if (evidence.meaning is None) == (kind == "both"):
                continue
            questions, mine, hits, relevant = rows.setdefault(kind, ([], [], [], []))
            questions.append(confidence.of_question(ranking, evidence, usual_))
            mine.append(number < len(own))
            if number < len(own):
                places = confidence.of_hits(ranking, evidence, usual_)
                with engine.store.snapshot() as snapshot:
                    names = [item.chunk_id for item in ranking[:10]]
                    owners = {name: chunk.doc_id for name, chunk in snapshot.chunks(names).items()}
                    paths = {doc.doc_id: doc.path for doc in snapshot.documents(sorted(set(owners.values()))).values()}
                hits += [places[name] for name in names]
                relevant += [own[number].grades.get(paths[owners[name]], 0) > 0 for name in names]
    return {kind: Asked(*map(np.array, found)) for kind, found in rows.items()}


def logistic(values: Any, truth: Any, weights: Any) -> Any:
    """Newton's method with a small ridge; the constant comes last."""
    columns = np.c_[values, np.ones(len(values))]
    found = np.zeros(columns.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-columns @ found))
        slope = columns.T @ (weights * (truth - chance)) - RIDGE * np.r_[found[:-1], 0.0]
        curve = (columns * (weights * chance * (1 - chance))[:, None]).T @ columns + RIDGE * np.eye(len(found))
        found = found + np.linalg.solve(curve, slope)
    return found


def chances(model: Any, values: Any) -> Any:
    return 1 / (1 + np.exp(-(np.c_[values, np.ones(len(values))] @ model)))


def fit(found: Mapping[str, Asked], names: Sequence[str]) -> tuple[Any, float, Any]:
    """The model of questions with its threshold, and the model of hits; each collection weighs the same."""
    asked = [found[name] for name in names]
    questions, own = np.concatenate([one.questions for one in asked]), np.concatenate([one.own for one in asked])
    of_questions = logistic(questions, own, np.ones(len(own)))
    threshold = float(np.quantile(chances(of_questions, questions)[own], FALSE_ALARMS))
    hits, relevant = np.concatenate([one.hits for one in asked]), np.concatenate([one.relevant for one in asked])
    weights = np.concatenate([np.full(len(one.hits), 1000 / len(one.hits)) for one in asked])
    return of_questions, threshold, logistic(hits, relevant, weights)


def tested(found: Mapping[str, Asked], name: str, names: Sequence[str]) -> dict[str, float | None]:
    of_questions, threshold, of_hits = fit(found, names)
    one = found[name]
    chance = chances(of_questions, one.questions)
    hits = chances(of_hits, one.hits)
    told = calibration([(float(value), bool(truth)) for value, truth in zip(hits, one.relevant, strict=True)])
    return {
        "recognised": float((chance[~one.own] < threshold).mean()) if (~one.own).any() else None,
        "false_alarms": float((chance[one.own] < threshold).mean()),
        "ece": told.error,
    }


def report(found: Mapping[str, Asked]) -> dict[str, Any]:
    names = list(found)
    rows = {name: tested(found, name, [other for other in names if other != name]) for name in names}
    for name, row in rows.items():
        print(" ", name, {key: None if value is None else round(value, 3) for key, value in row.items()})
    of_questions, threshold, of_hits = fit(found, names)
    rounded = {
        "question": of_questions.round(3).tolist(),
        "threshold": round(threshold, 3),
        "hit": of_hits.round(3).tolist(),
    }
    means = {
        key: round(float(np.mean([row[key] for row in rows.values() if row[key] is not None])), 3)
        for key in ("recognised", "false_alarms", "ece")
    }
    print("  means of those left out", means, "\n  weights", rounded)
    return {"left_out": rows, "means": means, "weights": rounded}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, dict[str, Asked]] = {"both": {}, "words": {}}
    with quality.unpacked(options.data) as folder:
        for name, judged in quality.collections(folder, [], None):
            if name == "locomo-all":
                continue
            chance = random.Random(common.SEED)
            own = chance.sample(judged.queries, min(options.limit, len(judged.queries)))
            foreign = [query.text for query in quality.strangers(folder, judged.name).queries[: options.limit]]
            with app.open(options.cache / f"{name}-static", settings=config.Settings()) as base:
                if not base.status().documents:
                    base.put(judged.documents())
                measured = usual.measure(base.engine, base.status().chunks, "") or Usual()
                for kind, asked in ask(base.engine, measured, own, foreign).items():
                    if asked.own.sum() >= LEAST:
                        found[kind][name] = asked
            print(name, measured, flush=True)
    result = {}
    for kind, collections in found.items():
        print(kind)
        result[kind] = report(collections)
    common.write("confidence", {"limit": options.limit} | result, options.out)


if __name__ == "__main__":
    main()
