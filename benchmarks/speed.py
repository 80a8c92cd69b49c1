"""Speed and size on a folder of files: from files on disk to acknowledged, and from a question to its answer.

    python benchmarks/speed.py FOLDER [--queries 200] [--runs 15] [--rounds 3]

Questions are headings of the folder's Markdown files. Modes take turns within every round, so that a busy moment of the
machine hits all of them; figures are medians over rounds. Cold runs start a process each, and take turns with an
interpreter that does nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import common

MODES = ("hybrid", "lexical", "vector")


def ingest(folder: Path, store: Path, home: Path) -> dict[str, Any]:
    """One `kb add` in a process of its own: time, and the largest resident set of it and its workers."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [*common.KB, "add", "--store", str(store), "--quiet", str(folder)], env=common.environment(home)
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if child.returncode not in (0, 1):
        raise SystemExit(f"kb add failed with {child.returncode}")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        "files": len(files),
        "source_bytes": sum(path.stat().st_size for path in files),
        "seconds": round(seconds, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_rss_mb": round(usage.ru_maxrss / 1024, 1),
        "exit_code": child.returncode,
    }


def again(folder: Path, store: Path, home: Path) -> float:
    """A second `kb add` of a folder that has not changed."""
    started = time.perf_counter()
    subprocess.run(
        [*common.KB, "add", "--store", str(store), "--quiet", str(folder)], env=common.environment(home), check=False
    )
    return round(time.perf_counter() - started, 2)


def warm(store: Path, questions: list[str], rounds: int) -> dict[str, Any]:
    import kb

    times: dict[str, list[list[float]]] = {mode: [] for mode in MODES}
    with kb.open(store, create=False, read_only=True) as base:
        for mode in MODES:
            base.search(questions[0], mode=mode)
        for _ in range(rounds):
            this_round: dict[str, list[float]] = {mode: [] for mode in MODES}
            for number, question in enumerate(questions):
                for turn in range(len(MODES)):
                    mode = MODES[(number + turn) % len(MODES)]
                    started = time.perf_counter()
                    base.search(question, mode=mode)
                    this_round[mode].append((time.perf_counter() - started) * 1000)
            for mode in MODES:
                times[mode].append(this_round[mode])
    return {
        mode: {
            "p50_ms": round(median(common.percentile(each, 0.5) for each in times[mode]), 2),
            "p95_ms": round(median(common.percentile(each, 0.95) for each in times[mode]), 2),
        }
        for mode in MODES
    }


def cold(store: Path, questions: list[str], runs: int, home: Path) -> dict[str, Any]:
    """A process per question, hybrid and lexical taking turns with a bare interpreter."""
    commands = {
        "hybrid": [*common.KB, "search", "--store", str(store)],
        "lexical": [*common.KB, "search", "--fts-only", "--store", str(store)],
        "interpreter": [sys.executable, "-c", "pass"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    rss: list[float] = []
    for number in range(runs + 1):  # the first warms the file cache and is not counted
        for name, command in commands.items():
            argv = command if name == "interpreter" else [*command, questions[number % len(questions)]]
            started = time.perf_counter()
            child = subprocess.Popen(
                argv, env=common.environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                raise SystemExit(f"{name} failed with {child.returncode}")
            if number:
                times[name].append((time.perf_counter() - started) * 1000)
                cpu[name].append((usage.ru_utime + usage.ru_stime) * 1000)
                if name == "hybrid":
                    rss.append(usage.ru_maxrss / 1024)
    return {
        name: {"p50_ms": round(median(times[name]), 1), "cpu_p50_ms": round(median(cpu[name]), 1)} for name in commands
    } | {"hybrid_peak_rss_mb": round(median(rss), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(common.ROOT / "src"))
    import kb

    questions = common.headings(options.folder, options.queries)
    with tempfile.TemporaryDirectory(prefix="kb-speed-") as scratch:
        home, store = Path(scratch) / "home", Path(scratch) / "store"
        home.mkdir()
        result: dict[str, Any] = {"folder": options.folder.name, "queries": len(questions)}
        result["ingest"] = ingest(options.folder, store, home)
        with kb.open(store, create=False) as base:
            status = base.status()
        result["ingest"] |= {
            "documents": status.documents,
            "chunks": status.chunks,
            "chunks_per_s": round(status.chunks / result["ingest"]["seconds"], 1),
            "store_bytes": sum(path.stat().st_size for path in store.rglob("*") if path.is_file()),
            "unchanged_again_s": again(options.folder, store, home),
        }
        print(result["ingest"])
        result["cold"] = cold(store, questions, options.runs, home)
        print(result["cold"])
        result["warm"] = warm(store, questions, options.rounds)
        print(result["warm"])
    common.write("speed", result, options.out)


if __name__ == "__main__":
    main()
