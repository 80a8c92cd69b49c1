"""What becomes of every PDF in a folder: indexed, empty, refused; and none may take the program down.

    python benchmarks/pdfs.py FOLDER [--limit N]

A `manifest*.tsv` in the folder (path, bytes, pages, characters, cjk, status) tells what another reader found.
"""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import common

MUCH_LESS = 0.8  # of the characters that the other reader found


def manifest(folder: Path) -> dict[str, dict[str, str]]:
    found = sorted(folder.glob("manifest*.tsv"))
    if not found:
        return {}
    with found[0].open(encoding="utf-8") as lines:
        return {row["path"]: row for row in csv.DictReader(lines, delimiter="\t")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(common.ROOT / "src"))
    import kb

    known = manifest(options.folder)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kb-pdfs-") as scratch, kb.open(Path(scratch) / "store") as base:
        report = base.add(options.folder, type="pdf")
        seconds = time.perf_counter() - started
        characters = {
            document.path: sum(len(passage.text) for passage in base.get(document.doc_id)) for document in base.list()
        }
    problems = {issue.path: f"{issue.code}: {issue.reason}" for issue in (*report.skipped, *report.failed)}
    ends: Counter[str] = Counter()
    outcome: dict[str, str] = {}
    for path in sorted(options.folder.rglob("*.pdf")):
        name = path.relative_to(options.folder).as_posix()
        code = next((text.split(":")[0] for key, text in problems.items() if key.endswith(name)), "")
        outcome[name] = code or ("text" if characters.get(name) else "no text" if name in characters else "missing")
        ends[f"{known.get(name, {}).get('mupdf_status', '?')} -> {outcome[name]}"] += 1
    less = [
        (name, characters[name], int(row["text_chars_first50p"]))
        for name, row in known.items()
        if name in characters and characters[name] < MUCH_LESS * int(row["text_chars_first50p"] or 0) - 20
    ]
    for line, count in ends.most_common():
        print(f"{count:5} {line}")
    print(f"{len(less)} with much less text than the other reader found:", *less[:15], sep="\n  ")
    print(f"{seconds:.1f} s")
    for name, text in sorted(problems.items()):
        print(f"  {name}: {text[:150]}")
    result: dict[str, Any] = {
        "pdfs": len(outcome),
        "seconds": round(seconds, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "worker_peak_rss_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1),
        "outcomes": dict(ends.most_common()),
        "much_less_text": len(less),
        "missing": [name for name, end in outcome.items() if end == "missing"],
    }
    common.write("pdfs", result, options.out)


if __name__ == "__main__":
    main()
