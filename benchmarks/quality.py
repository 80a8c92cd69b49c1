"""Retrieval quality on judged collections: one row per collection and mode.

    python benchmarks/quality.py DATA [--only scifact,cosqa] [--modes hybrid] [--limit 200] [--cache DIR]

DATA holds folders in BEIR layout; each is indexed into a store of its own. In `locomo-turns` every question is asked
inside its own conversation, as that collection means it.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import common


def scoped(judged: Any) -> Any:
    """`conv-26-q0` belongs to the documents `conv-26/…`."""
    if judged.name != "locomo-turns":
        return judged
    queries = (replace(query, within=query.id.rsplit("-q", 1)[0] + "/**") for query in judged.queries)
    return replace(judged, queries=tuple(queries))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--modes", default="hybrid,lexical,vector")
    parser.add_argument("--profile")
    parser.add_argument("--model", help="embedding model instead of the default")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(common.ROOT / "src"))
    from kb import config, evaluate
    from kb.evaluate import judged

    settings = config.Settings()
    if options.model:
        settings = replace(settings, embed=replace(settings.embed, model=options.model))
    names = (
        options.only.split(",") if options.only else sorted(p.parent.name for p in options.data.glob("*/corpus.jsonl"))
    )
    rows: dict[str, Any] = {}
    for name in names:
        started = time.perf_counter()
        report = evaluate.run(
            scoped(judged.read(options.data / name)),
            evaluate.Request(
                modes=options.modes.split(","), profile=options.profile, limit=options.limit, cache=options.cache
            ),
            settings=settings,
        )
        print(evaluate.as_text(report), f"{time.perf_counter() - started:.1f} s\n", flush=True)
        rows[name] = {
            "documents": report.documents,
            "chunks": report.chunks,
            "model": report.model,
            "queries": report.modes[0].queries,
        } | {
            mode.mode: {
                **{measure: round(value, 4) for measure, value in mode.means.items()},
                "ndcg@10_ci": [round(edge, 4) for edge in mode.intervals["ndcg@10"]],
                "p50_ms": round(mode.p50_ms, 2),
            }
            for mode in report.modes
        }
    means = {
        mode: round(sum(row[mode]["ndcg@10"] for row in rows.values()) / len(rows), 4)
        for mode in options.modes.split(",")
        if all(mode in row for row in rows.values())
    }
    print("mean nDCG@10:", means)
    common.write(
        "quality",
        {"profile": options.profile or "notes", "limit": options.limit, "mean_ndcg@10": means, "collections": rows},
        options.out,
    )


if __name__ == "__main__":
    main()
