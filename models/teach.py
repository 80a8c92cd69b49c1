"""Embed a corpus with the teacher, in numbered shards, so that it can be stopped and resumed.

PYTHONPATH=src python models/teach.py CORPUS.jsonl SHARDS_DIR
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from teacher import Teacher

SHARD = 2000  # pairs


def main(corpus: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    records = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    teacher = Teacher()
    for start in range(0, len(records), SHARD):
        path = target / f"{start // SHARD:04d}.npz"
        if path.exists():
            continue
        part, began = records[start : start + SHARD], time.monotonic()
        short = teacher.embed([record["short"] or record["long"] for record in part])
        long = teacher.embed([record["long"] for record in part])
        partial = path.with_suffix(".part.npz")
        np.savez(partial, short=short.astype(np.float16), long=long.astype(np.float16))
        partial.rename(path)
        print(path.name, round(2 * len(part) / (time.monotonic() - began)), "texts/s", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
