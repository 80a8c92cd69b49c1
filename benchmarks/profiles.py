"""What a profile costs: the same searches by each profile in turn, in one process, warm.

    python benchmarks/profiles.py FOLDER [--profiles notes,best] [--count 150] [--store DIR] [--out FILE]

FOLDER is indexed (unless DIR holds it already); the queries are headings of its own Markdown files. What counts are the
ratios: both profiles are asked the same question one after the other, in alternating order.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import common

sys.path.insert(0, str(common.ROOT / "src"))

from kb import app, config


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profiles", default="notes,best")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    profiles = options.profiles.split(",")
    asked = common.headings(options.folder, options.count)
    times: dict[str, list[float]] = {profile: [] for profile in profiles}
    with (
        tempfile.TemporaryDirectory(prefix="kb-profiles-") as scratch,
        app.open(options.store or Path(scratch), settings=config.Settings()) as base,
    ):
        if not base.status().documents:
            base.add(options.folder)
        chunks = base.status().chunks
        for text in asked[:10]:
            for profile in profiles:
                base.search(text, profile=profile)
        for number, text in enumerate(asked):
            for profile in profiles if number % 2 else reversed(profiles):
                started = time.perf_counter()
                base.search(text, profile=profile)
                times[profile].append((time.perf_counter() - started) * 1000)
    first = times[profiles[0]]
    rows = {
        profile: {
            "p50_ms": round(median(values), 2),
            "p95_ms": round(common.percentile(values, 0.95), 2),
            "ratio": round(median(value / base for value, base in zip(values, first, strict=True)), 3),
        }
        for profile, values in times.items()
    }
    print(chunks, "chunks", rows)
    common.write(
        "profiles",
        {"folder": options.folder.name, "chunks": chunks, "queries": len(asked), "profiles": rows},
        options.out,
    )


if __name__ == "__main__":
    main()
