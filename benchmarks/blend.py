"""Choose the constants of the profile `best`: on all families of collections but one, tested on that one.

    python benchmarks/blend.py DATA [--model static] [--limit 300] [--cache DIR] [--out FILE]

Every question is asked once through the engine's own legs; what they found is then fused again and again with other
constants. The result names the constants that are best over all collections, what each collection gets from constants
that were chosen without it, and what it would get from RRF and from either leg alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np

sys.path.insert(0, str(common.ROOT / "src"))

import quality

from kb import app, config
from kb.evaluate.judged import Judged
from kb.search import evidence
from kb.search.blend import ALPHA, ALPHA_ELSE, DOCUMENT, FAIRNESS
from kb.search.engine import Engine
from kb.search.evidence import LENGTH_COST
from kb.search.legs import Found
from kb.types import Filters, Query

DISCOUNT = 1 / np.log2(np.arange(2, 12))
WITNESSES = 5


class Constants(NamedTuple):
    alpha: float
    length_cost: float
    document: float
    fairness: float


GRID = Constants(
    alpha=(0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),  # type: ignore[arg-type]
    length_cost=(0.4, 0.5, 0.6, 0.75),  # type: ignore[arg-type]
    document=(0.0, 0.35, 0.5, 0.65, 0.8),  # type: ignore[arg-type]
    fairness=(0.5, 0.75, 0.85, 1.0),  # type: ignore[arg-type]
)
SHIPPED = Constants(ALPHA_ELSE, LENGTH_COST, DOCUMENT, FAIRNESS)  # alpha: the model's own


@dataclass(frozen=True, slots=True)
class Case:
    """One question: what both legs know of each candidate, and what it is worth."""

    words: Any
    meaning: Any | None
    length: Any
    doc: Any  # number of the candidate's document among those found
    size: Any  # chunks of each of these documents
    gains: Any  # grade of each of these documents
    best: float  # the largest possible discounted gain
    order: Any  # lexical rank, then chunk id: breaks ties as the engine does


def cases(judged: Judged, engine: Engine) -> list[Case]:
    found = []
    with engine.store.snapshot() as snapshot:
        for question in judged.queries:
            plan = engine.plan(Query(question.text, profile="best", filters=Filters(path=question.within)))
            lexical, vector = engine.candidates(snapshot, plan, 100)
            told = evidence.gather(snapshot, plan.parsed, lexical, vector)
            paths = {
                doc.doc_id: doc.path
                for doc in snapshot.documents(list({e.doc_id for e in told.extents.values()})).values()
            }
            found.append(case(told, lexical, paths, question.grades))
    return found


def case(told: evidence.Evidence, lexical: Found, paths: Mapping[str, str], grades: Mapping[str, float]) -> Case:
    names = sorted(told.extents)
    docs = {doc: place for place, doc in enumerate(dict.fromkeys(told.extents[name].doc_id for name in names))}
    sizes = {told.extents[name].doc_id: told.extents[name].siblings for name in names}
    fair = [
        evidence.fair(told.extents[name].length) if lexical.leg.tier == "fts" else 1.0 for name in names
    ]  # is taken out again, so that other costs of length can be tried
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:10]
    ranks = {name: item.rank for name, item in (lexical.ranking or {}).items()}
    return Case(
        words=np.array([told.words.get(name, 0.0) / part for name, part in zip(names, fair, strict=True)]),
        meaning=None if told.meaning is None else np.array([told.meaning.get(name, 0.0) for name in names]),
        length=np.array([told.extents[name].length for name in names]),
        doc=np.array([docs[told.extents[name].doc_id] for name in names], dtype=int),
        size=np.array([sizes[doc] for doc in docs]),
        gains=np.array([grades.get(paths[doc], 0.0) for doc in docs]),
        best=float((np.array(best) * DISCOUNT[: len(best)]).sum()),
        order=np.array([ranks.get(name, 1 << 30) for name in names]),
    )


def ndcg(case: Case, constants: Constants) -> float:
    if not len(case.words) or not case.best:
        return 0.0
    k1, b = evidence.K1, evidence.B
    cost = 1 + k1 * (1 - constants.length_cost + constants.length_cost * case.length)
    words = np.minimum(1.0, case.words * (1 + k1 * (1 - b + b * case.length)) / cost)
    own = words if case.meaning is None else (1 - constants.alpha) * words + constants.alpha * case.meaning
    return top_ten(case, documents(case, own, constants))


def documents(case: Case, own: Any, constants: Constants) -> Any:
    """The score of each document: that of its best chunk."""
    order = np.lexsort((case.order, -own, case.doc))
    scores, docs = own[order], case.doc[order]
    first = np.r_[True, docs[1:] != docs[:-1]]
    begins = np.maximum.accumulate(np.where(first, np.arange(len(docs)), 0))
    heard = np.where(np.arange(len(docs)) - begins < WITNESSES, scores, 0.0)
    together = np.bincount(docs, weights=heard, minlength=len(case.size))
    together /= np.minimum(case.size, WITNESSES) ** constants.fairness * WITNESSES ** (1 - constants.fairness)
    return (1 - constants.document) * scores[first] + constants.document * together


def top_ten(case: Case, scores: Any) -> float:
    top = np.argsort(-scores, kind="stable")[:10]
    return float((case.gains[top] * DISCOUNT[: len(top)]).sum() / case.best)


def single(case: Case, scores: Any) -> float:
    """One score of each chunk, a document where its best chunk stands."""
    if scores is None or not len(scores) or not case.best:
        return 0.0
    best = np.full(len(case.size), -1.0)
    np.maximum.at(best, case.doc, scores)
    return top_ten(case, best)


def reciprocal(case: Case) -> Any:
    total = np.zeros(len(case.words))
    for scores in (case.words, case.meaning):
        if scores is not None:
            ranks = np.empty(len(scores))
            ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
            total += np.where(scores > 0, 1 / (60 + ranks), 0.0)
    return total


def family(name: str) -> str:
    """The same text in other languages, or the same dialogues asked in another way, would tell what is left out."""
    return name.split("-")[0]


class Search:
    """Hill climbing along one constant after the other; what was measured once is remembered."""

    def __init__(self, collections: Mapping[str, Sequence[Case]], start: Constants) -> None:
        self.collections, self.start = collections, start
        self.words = {
            name: float(np.mean([single(one, one.words) for one in asked])) for name, asked in collections.items()
        }
        self._known: dict[Constants, dict[str, float]] = {}

    def each(self, constants: Constants) -> dict[str, float]:
        if constants not in self._known:
            self._known[constants] = {
                name: float(np.mean([ndcg(one, constants) for one in asked]))
                for name, asked in self.collections.items()
            }
        return self._known[constants]

    def best(self, names: Sequence[str]) -> Constants:
        constants, moved = self.start, True
        while moved:
            moved = False
            for name, values in GRID._asdict().items():
                for value in values:
                    other = constants._replace(**{name: value})
                    if self.gain(other, names) > self.gain(constants, names) + 1e-5:
                        constants, moved = other, True
        return constants

    def gain(self, constants: Constants, names: Sequence[str]) -> float:
        """Over words alone, as a ratio; collections of one family count as one."""
        found, families = self.each(constants), dict.fromkeys(map(family, names))
        ratios = {name: found[name] / self.words[name] for name in names}
        each = [[ratios[name] for name in names if family(name) == one] for one in families]
        return sum(sum(values) / len(values) for values in each) / len(each)


def report(collections: Mapping[str, Sequence[Case]], shipped: Constants) -> dict[str, Any]:
    search, names = Search(collections, shipped), list(collections)
    rows = {}
    for name, asked in collections.items():
        chosen = search.best([other for other in names if family(other) != family(name)])
        rows[name] = {
            "best_now": search.each(shipped)[name],
            "left_out": search.each(chosen)[name],
            "left_out_constants": list(chosen),
            "rrf": float(np.mean([single(one, reciprocal(one)) for one in asked])),
            "words": float(np.mean([single(one, one.words) for one in asked])),
            "meaning": float(np.mean([single(one, one.meaning) for one in asked])),
        }
        print(
            name,
            {key: value if isinstance(value, list) else round(value, 4) for key, value in rows[name].items()},
            flush=True,
        )
    chosen = search.best(names)
    steps = {
        name: {str(value): round(search.gain(shipped._replace(**{name: value}), names), 4) for value in values}
        for name, values in GRID._asdict().items()
    }
    kinds = ("best_now", "left_out", "rrf", "words", "meaning")
    means = {key: round(sum(row[key] for row in rows.values()) / len(rows), 4) for key in kinds}
    print("constants over all:", chosen, "\nmeans:", means, "\nfrom the shipped ones, one at a time:", steps)
    return {
        "constants": chosen._asdict(),
        "shipped": shipped._asdict(),
        "means": means,
        "steps": steps,
        "collections": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--model", default="static")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    settings = config.Settings()
    settings = replace(settings, embed=replace(settings.embed, model=options.model))
    found = {}
    with quality.unpacked(options.data) as folder:
        for name, judged in quality.collections(
            folder, [part for part in options.only.split(",") if part], options.limit
        ):
            with app.open(options.cache / f"{name}-{options.model}", settings=settings) as base:
                if not base.status().documents:
                    base.put(judged.documents())
                found[name] = cases(judged, base.engine)
            print(name, len(found[name]), "questions", flush=True)
    shipped = SHIPPED._replace(alpha=ALPHA.get(options.model, ALPHA_ELSE))
    common.write("blend", {"model": options.model, "limit": options.limit} | report(found, shipped), options.out)


if __name__ == "__main__":
    main()
