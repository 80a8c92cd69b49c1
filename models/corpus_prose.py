"""Readers of English prose: (short text, longer text) pairs out of dictionaries, ontologies and documentation."""

from __future__ import annotations

import gzip
import html
import random
import re
from collections.abc import Iterator
from pathlib import Path

Pair = tuple[str, str]
LONGEST = 360  # characters: what a teacher reads in a few milliseconds

_SPACE = re.compile(r"\s+")
_BLOCK = re.compile(r"<(h[1-4]|p|dd|li)\b[^>]*>(.*?)</\1>", re.S | re.I)
_TAG = re.compile(r"<[^>]+>")
_FOREIGN = re.compile(r"\.(de|fr|es|ja|ko|tr|pt-br|zh-cn)\.|/(?!en)[a-z]{2}-[A-Z]{2}/")
_LINK = re.compile(r"[{}]|\(https?:[^)]*\)")
_NAME = re.compile(r'^\.SH "?NAME"?\n(.+?) \\-+ (.+)$', re.M)


def tidy(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, limit: int = LONGEST) -> str:
    """The beginning of a text, up to a sentence's end where there is one."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    stop = cut.rfind(". ")
    return cut[: stop + 1] if stop > limit // 3 else cut.rsplit(" ", 1)[0]


def wordnet(folder: Path) -> Iterator[Pair]:
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith(" ") or "|" not in line:
                continue
            head, gloss = line.split("|", 1)
            fields = head.split()
            lemmas = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            yield tidy(", ".join(lemmas[:3]).replace("_", " ")), shorten(tidy(gloss))


def dictionary(path: Path) -> Iterator[Pair]:
    """A dictd text: headwords at the margin, definitions indented."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = entry.partition("\n")
        body = tidy(_LINK.sub("", re.sub(r"\[1913 Webster\]|\[PJC\]|^ *\d+\. ", "", body, flags=re.M)))
        head = re.split(r" \\| \\\\|\\", head)[0].strip()
        if len(body) > 40 and 1 < len(head) < 60:
            yield head, shorten(body)


def obo(path: Path) -> Iterator[Pair]:
    for term in path.read_text(encoding="utf-8").split("\n\n[Term]\n")[1:]:
        name = re.search(r"^name: (.+)$", term, re.M)
        meaning = re.search(r'^def: "(.+?)" \[', term, re.M)
        if name and meaning:
            yield name[1], shorten(tidy(meaning[1]))


def tagged(path: Path) -> Iterator[Pair]:
    """Neighbouring sentences of a tagged corpus: a token and its tag a line, an empty line between sentences."""
    blocks = path.read_text(encoding="utf-8", errors="replace").split("\n\n")
    sentences = [" ".join(line.split("\t")[0] for line in block.splitlines() if line) for block in blocks]
    kept = [shorten(sentence) for sentence in sentences if len(sentence) > 30]
    yield from zip(kept[::2], kept[1::2], strict=False)


def manual_names(folder: Path) -> Iterator[Pair]:
    for path in sorted(folder.rglob("*.gz")):
        if "/man/man" in str(path):
            found = _NAME.search(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
            if found:
                yield found[1].replace("\\", ""), found[2].replace("\\", "")


def pages(folder: Path, limit: int, chance: random.Random) -> Iterator[Pair]:
    """(heading, paragraph) of a sample of the HTML pages in a folder."""
    paths = sorted(path for path in folder.rglob("*.html") if path.is_file() and path.stat().st_size < 400_000)
    english = [path for path in paths if not _FOREIGN.search(str(path))]
    for path in chance.sample(english, min(limit, len(english))):
        yield from page(path.read_text(encoding="utf-8", errors="replace"))


def page(source: str) -> Iterator[Pair]:
    heading = ""
    for tag, inner in _BLOCK.findall(source):
        text = tidy(html.unescape(_TAG.sub("", inner))).replace("¶", "")
        if tag.lower().startswith("h"):
            heading = text[:100]
        elif len(text) > 60 and text.isascii():
            yield heading, shorten(text)
