"""Retrieval quality on judged collections, beside baselines that are run in the same way.

    python benchmarks/quality.py DATA [--only scifact,cosqa] [--profiles notes] [--modes hybrid] [--models static]
                                 [--quick] [--limit 300] [--cache DIR] [--no-baselines] [--out FILE]

DATA holds collections in BEIR layout, as folders or as .tar.xz archives; each is indexed into a store of its own. In
`locomo-turns` every question is asked inside its own conversation; `locomo-all` asks them of all together.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import common

sys.path.insert(0, str(common.ROOT / "src"))

from kb import config, evaluate
from kb.evaluate import judged as judged_collections
from kb.evaluate.judged import Judged
from kb.evaluate.metrics import interval, mean
from kb.text import unreadable_share

QUICK = 100  # queries of each collection
STRANGERS = 300  # questions of other collections
DIALOGUES = "locomo-turns"


@contextmanager
def unpacked(data: Path) -> Iterator[Path]:
    """``data`` itself where it holds folders; else its archives, unpacked for as long as it is used."""
    archives = sorted(data.glob("*.tar.xz"))
    if not archives:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="kb-quality-") as scratch:
        for archive in archives:
            with tarfile.open(archive) as packed:
                if f"{archive.name.removesuffix('.tar.xz')}/corpus.jsonl" in packed.getnames():
                    packed.extractall(scratch, filter="data")
        yield Path(scratch)


def collections(folder: Path, only: Sequence[str], limit: int | None) -> Iterator[tuple[str, Judged]]:
    """Every collection by name, smallest first. The dialogues come twice: inside each conversation, and all of them."""
    found = sorted(folder.glob("*/corpus.jsonl"), key=lambda path: (path.stat().st_size, path))
    for path in found:
        name = path.parent.name
        judged = judged_collections.read(path.parent)
        judged = replace(judged, queries=judged.queries[:limit])
        versions = {name: judged} | ({DIALOGUES: scoped(judged), "locomo-all": judged} if name == DIALOGUES else {})
        yield from ((known, version) for known, version in versions.items() if not only or known in only)


def scoped(judged: Judged) -> Judged:
    """`conv-26-q0` belongs to the documents `conv-26/…`."""
    queries = (replace(query, within=query.id.rsplit("-q", 1)[0] + "/**") for query in judged.queries)
    return replace(judged, queries=tuple(queries))


def strangers(folder: Path, name: str) -> Judged:
    """Questions of the other collections in turn, of the same kind of script; not of the same text in other languages."""
    family = name.split("-")[0]
    found = [judged_collections.read(path.parent) for path in sorted(folder.glob("*/corpus.jsonl"))]
    own = next(judged for judged in found if judged.name == name)
    others = [judged for judged in found if judged.name.split("-")[0] != family and is_latin(judged) == is_latin(own)]
    turns = zip_longest(*(judged.queries[:STRANGERS] for judged in others))
    questions = [question for turn in turns for question in turn if question is not None]
    return Judged(name="other collections", queries=tuple(questions[:STRANGERS]))


def is_latin(judged: Judged) -> bool:
    return unreadable_share(" ".join(query.text for query in judged.queries[:QUICK]), ("latin",)) < 0.5


def measure(judged: Judged, foreign: Judged, options: argparse.Namespace) -> dict[str, Any]:
    """kb's rows of one collection, by `profile mode model`."""
    rows: dict[str, Any] = {}
    for model in options.models.split(","):
        settings = config.Settings()
        settings = replace(settings, embed=replace(settings.embed, model=model))
        request = evaluate.Request(
            modes=options.modes.split(","),
            profiles=options.profiles.split(","),
            cache=options.cache / model if options.cache else None,
            foreign=foreign if foreign.queries else None,
            budgets=[int(budget) for budget in options.budgets.split(",") if budget],
        )
        report = evaluate.run(judged, request, settings=settings)
        print(evaluate.as_text(report), flush=True)
        for row in report.modes:
            rows[f"{row.profile} {row.mode} {model}"] = {
                "documents": report.documents,
                "chunks": report.chunks,
                "model": report.model,
                "queries": row.queries,
                **{name: round(value, 4) for name, value in row.means.items()},
                "ndcg@10_ci": [round(edge, 4) for edge in row.intervals["ndcg@10"]],
                "p50_ms": round(row.p50_ms, 2),
                "calibration_error": round(row.calibration.error, 4) if row.calibration else None,
                "no_good_match": told(row.foreign),
                "per_query": {query: round(value, 6) for query, value in row.per_query.items()},
            }
    return rows


def told(foreign: Any) -> dict[str, float] | None:
    """Shares of the questions without and with an answer that were said to have no good match."""
    if foreign is None:
        return None
    return {
        "recognised": round(foreign.recognised / max(foreign.questions, 1), 4),
        "false_alarms": round(foreign.false_alarms / max(foreign.own_questions, 1), 4),
    }


def significance(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Each hybrid row of kb against each baseline: the difference of nDCG@10 and its paired 95 % interval."""
    return {
        name: {
            other: against(row["per_query"], them["per_query"]) for other, them in theirs.items() if "per_query" in them
        }
        for name, row in ours.items()
        if " hybrid " in name
    }


def against(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, Any]:
    differences = [value - theirs[query] for query, value in ours.items()]
    low, high = interval(differences)
    verdict = "better" if low > 0 else "worse" if high < 0 else "no clear difference"
    return {"difference": round(mean(differences), 4), "interval": [round(low, 4), round(high, 4)], "verdict": verdict}


def show(name: str, rows: dict[str, Any]) -> None:
    print(f"{name}: nDCG@10")
    for row, found in rows.items():
        print(f"  {row:<28} {found['ndcg@10']:.4f}" if "ndcg@10" in found else f"  {row:<28} {found['unavailable']}")


def averages(rows: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Mean nDCG@10 of what was measured on every collection."""
    everywhere = set.intersection(*(set(row) for row in rows.values())) if rows else set()
    return {
        name: round(mean([row[name]["ndcg@10"] for row in rows.values()]), 4)
        for name in sorted(everywhere)
        if all("ndcg@10" in row[name] for row in rows.values())
    }


def without_queries(rows: dict[str, Any]) -> dict[str, Any]:
    return {name: {key: value for key, value in row.items() if key != "per_query"} for name, row in rows.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="", help="collections, separated by commas")
    parser.add_argument("--modes", default="hybrid,lexical,vector")
    parser.add_argument("--profiles", default="notes")
    parser.add_argument("--models", default="static", help="embedding models")
    parser.add_argument("--budgets", default="", help="token budgets to measure recall at")
    parser.add_argument("--limit", type=int, help="queries of each collection")
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK} queries of each collection")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--cache", type=Path, help="keeps stores, vectors and figures of baselines")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.limit = QUICK if options.quick else options.limit
    return options


def main() -> None:
    options = arguments()
    rows: dict[str, Any] = {}
    with unpacked(options.data) as folder:
        only = options.only.split(",") if options.only else []
        for name, judged in collections(folder, only, options.limit):
            started = time.perf_counter()
            ours, theirs = measure(judged, strangers(folder, judged.name), options), {}
            if not options.no_baselines:
                import baselines  # what it needs is no part of a plain install

                theirs = baselines.run(baselines.collection(name, judged), options.cache)
            show(name, ours | theirs)
            print(f"  {time.perf_counter() - started:.1f} s\n", flush=True)
            rows[name] = {
                "kb": without_queries(ours),
                "baselines": without_queries(theirs),
                "significance": significance(ours, theirs),
            }
    means = averages({name: row["kb"] | row["baselines"] for name, row in rows.items()})
    print("mean nDCG@10:", means)
    common.write(
        "quality",
        {"limit": options.limit, "mean_ndcg@10": means, "collections": rows},
        options.out or common.RESULTS / f"quality-{common.commit()}.json",
    )


if __name__ == "__main__":
    main()
