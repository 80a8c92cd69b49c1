"""What the benchmarks share: the machine they ran on, the commit, medians, and where results go."""

from __future__ import annotations

import json
import os
import platform
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SEED = 20
KB = (sys.executable, "-m", "kb")
_HEADING = re.compile(r"^#{1,4}\s+(.+?)\s*(?:\{#.*\})?$", re.MULTILINE)


def environment(home: Path) -> dict[str, str]:
    """The environment of a child: this checkout, an empty home, none of the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_"))}
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT / "src")}


def commit() -> str:
    """The short commit, with a plus sign when files differ from it; "none" outside git."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=9", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return found.stdout.strip() or "none"
    except (OSError, subprocess.CalledProcessError):
        return "none"


def machine() -> dict[str, Any]:
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        match = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text())
        model = match[1] if match else ""
    import apsw

    return {
        "cpu": model or platform.processor(),
        "cores": os.cpu_count(),
        "load_1m": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def headings(folder: Path, count: int) -> list[str]:
    """Headings of Markdown files, drawn without repetition; the same ones every time."""
    found: dict[str, None] = {}
    for path in sorted(path for path in folder.rglob("*.md") if path.is_file()):
        for text in _HEADING.findall(path.read_text(encoding="utf-8", errors="replace")):
            if 3 <= len(text) <= 80:
                found[text] = None
    return random.Random(SEED).sample(list(found), min(count, len(found)))


def write(kind: str, result: dict[str, Any], out: Path | None = None) -> Path:
    """Save a result under the commit it was measured on, and print where."""
    path = out or RESULTS / f"{commit()}-{kind}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"kind": kind, "commit": commit(), "when": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine()}
    path.write_text(json.dumps(document | result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"-> {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return path
