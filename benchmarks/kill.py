"""kill -9 during `kb add` at random moments; then every acknowledged document must be there and the store sound.

    python benchmarks/kill.py FOLDER [--times 200] [--files 150]

Runs take turns between a new store and one that is brought up to date after a third of its files changed. What was
acknowledged is what `kb add --json` had said before it died.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import common


def sample(source: Path, target: Path, count: int) -> list[Path]:
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and path.stat().st_size < 200_000]
    chosen = random.Random(common.SEED).sample(files, min(count, len(files)))
    for path in chosen:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return sorted(path for path in target.rglob("*") if path.is_file())


class Trial:
    """One store, one folder, and the commands on them."""

    def __init__(self, scratch: Path, folder: Path) -> None:
        self.store, self.folder = scratch / "store", folder
        self.env = common.environment(scratch)

    def kb(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*common.KB, *words, "--store", str(self.store)], env=self.env, capture_output=True, text=True, check=False
        )

    def add(self, kill_at: int | None = None, delay: float = 0.0) -> tuple[set[str], bool, float]:
        """The paths that were acknowledged, whether it was killed, and how long it ran.

        It is killed ``delay`` seconds after it said its ``kill_at``-th word, a moment of its own work however fast the
        machine is; without ``kill_at`` that long after its start; without either not at all.
        """
        started = time.perf_counter()
        acknowledged: set[str] = set()
        killed = False
        with subprocess.Popen(
            [*common.KB, "add", "--json", "--store", str(self.store), str(self.folder)],
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stderr is not None
            timer = threading.Timer(delay, child.kill)
            if kill_at is None and delay:
                timer.start()
            for number, line in enumerate(child.stderr):
                acknowledged |= _acknowledged(line)
                if number == kill_at:
                    time.sleep(delay)
                    child.send_signal(signal.SIGKILL)
            killed = child.wait() == -signal.SIGKILL
            timer.cancel()
        return acknowledged, killed, time.perf_counter() - started

    def known(self) -> dict[str, str]:
        """Path to content hash, or to nothing where the listing has none."""
        listed = self.kb("list", "--json")
        if listed.returncode:
            return {}
        return {entry["path"]: entry.get("content_hash", "") for entry in json.loads(listed.stdout)["documents"]}


def _acknowledged(line: str) -> set[str]:
    try:
        event = json.loads(line)
    except ValueError:
        return set()  # the line it was writing when it died
    return {event["path"]} if event.get("event") == "document" and event.get("path") else set()


def change(files: list[Path], draw: random.Random, number: int) -> None:
    for path in draw.sample(files, max(1, len(files) // 3)):
        with path.open("a", encoding="utf-8") as out:
            out.write(f"\n\nchanged in round {number}\n")


def judge(trial: Trial, acknowledged: set[str]) -> list[str]:
    """What is wrong after a kill; nothing, if the promise holds."""
    problems = []
    if trial.store.exists():
        check = trial.kb("check", "--json")
        if check.returncode and (acknowledged or "store_not_found" not in check.stderr):
            problems.append(f"check exits {check.returncode}: {(check.stdout + check.stderr)[:300]}")
        lost = acknowledged - set(trial.known())
        if lost:
            problems.append(f"{len(lost)} acknowledged and gone: {sorted(lost)[:3]}")
    elif acknowledged:
        problems.append("acknowledged, and no store")
    return problems


def run(source: Path, *, times: int, count: int, seed: int = common.SEED) -> tuple[Counter[str], list[str]]:
    draw = random.Random(seed)
    ends: Counter[str] = Counter()
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="kb-kill-") as name:
        scratch = Path(name)
        files = sample(source, scratch / "files", count)
        trial = Trial(scratch, scratch / "files")
        everything, _, full = trial.add()
        print(f"{len(files)} files, {len(everything)} acknowledged, undisturbed in {full:.2f} s")
        for number in range(times):
            new = number % 2 == 0
            if new:
                shutil.rmtree(trial.store, ignore_errors=True)
            else:
                trial.add()
                change(files, draw, number)
            if new:
                acknowledged, killed, _ = trial.add(draw.randrange(len(files) // 2), draw.choice((0.0, 0.01, 0.05)))
            else:
                acknowledged, killed, _ = trial.add(None, draw.uniform(0.1, full * 0.7))
            ends["killed" if killed else "finished"] += 1
            ends["acknowledged before the end"] += len(acknowledged)
            wrong = judge(trial, acknowledged)
            trial.add()
            missing = everything - set(trial.known())
            if missing:
                wrong.append(f"the next run left out {len(missing)}: {sorted(missing)[:3]}")
            problems += [f"round {number} ({'new' if new else 'update'}): {text}" for text in wrong]
    return ends, problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--files", type=int, default=150)
    parser.add_argument("--seed", type=int, default=common.SEED)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    ends, problems = run(options.folder, times=options.times, count=options.files, seed=options.seed)
    print(dict(ends))
    print("\n".join(problems[:20]))
    common.write("kill", {"rounds": options.times, "ends": dict(ends), "problems": len(problems)}, options.out)
    sys.exit(1 if problems or ends["killed"] < options.times * 0.5 else 0)


if __name__ == "__main__":
    main()
