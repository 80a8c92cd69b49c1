"""Readers of English prose: (short text, longer text) pairs out of dictionaries, ontologies and documentation."""

from __future__ import annotations

import gzip
import html
import json
import random
import re
import zlib
from collections.abc import Iterator

Pair = tuple[str, str]
LENGTHS = (360, 360, 600, 1000)  # characters

_SPACE = re.compile(r"\s+")
_BLOCK = re.compile(r"<(h[1-4]|p|dd|li|pre)\b[^>]*>(.*?)</\1>", re.S | re.I)
_TAG = re.compile(r"<[^>]+>")
_LINK = re.compile(r"[{}]|\(https?:[^)]*\)")
_NAME = re.compile(r'^\.SH "?NAME"?\n(.+?) \\-+ (.+)$', re.M)
_SENTENCE = re.compile(r"(?<=[a-z)][.?!]) (?=[A-Z])")
_ROFF = re.compile(r"\\f.|\\[&|^]|\\\(..|\\")
_QUESTIONS = ("what is {}", "how does {} work", "{} explained", "about {}", "how to use {}", "{} documentation")


def tidy(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, limit: int = 0) -> str:
    """The beginning of a text, up to a sentence's end where there is one. The limit varies from text to text."""
    limit = limit or LENGTHS[zlib.crc32(text[:80].encode()) % len(LENGTHS)]
    if len(text) <= limit:
        return text
    cut = text[:limit]
    stop = cut.rfind(". ")
    return cut[: stop + 1] if stop > limit // 3 else cut.rsplit(" ", 1)[0]


def is_prose(text: str, least: int = 60) -> bool:
    letters = sum(map(str.isalpha, text))
    return len(text) > least and text.isascii() and letters > 0.7 * len(text)


def asked(heading: str, chance: random.Random) -> str:
    return chance.choice(_QUESTIONS).format(heading.lower()) if chance.random() < 0.1 else heading


def apart(text: str, chance: random.Random) -> Pair | None:
    """One sentence of a paragraph, and the others."""
    sentences = _SENTENCE.split(text)
    if len(sentences) < 3:
        return None
    picked = chance.randrange(len(sentences))
    short = sentences[picked]
    return (short, " ".join(sentences[:picked] + sentences[picked + 1 :])) if 30 < len(short) < 250 else None


def sections(parts: list[tuple[str, str]], chance: random.Random) -> Iterator[Pair]:
    """Pairs out of the (heading, text) sections of one page."""
    title = next((heading for heading, _ in parts if heading), "")
    for heading, body in parts:
        text = shorten(body)
        if not is_prose(text):
            continue
        if chance.random() < 0.3 and (split := apart(text, chance)):
            yield split
        elif len(heading) > 2 and heading.isascii():
            named = heading if heading == title or chance.random() < 0.6 else f"{title} {heading}"
            yield asked(named[:120], chance), text


def page(source: bytes, chance: random.Random) -> Iterator[Pair]:
    """The sections of an HTML page."""
    parts: list[tuple[str, str]] = []
    heading: str = ""
    texts: list[str] = []
    for tag, inner in _BLOCK.findall(source.decode("utf-8", "replace")):
        text = tidy(html.unescape(_TAG.sub("", inner))).replace("¶", "")
        if tag.lower().startswith("h"):
            parts.append((heading, " ".join(texts)))
            heading, texts = text[:100], []
        elif len(text) > 20:
            texts.append(text)
    parts.append((heading, " ".join(texts)))
    yield from sections([part for part in parts if part[1]], chance)


def wordnet(source: bytes) -> Iterator[Pair]:
    for line in source.decode("utf-8").splitlines():
        if line.startswith(" ") or "|" not in line:
            continue
        head, gloss = line.split("|", 1)
        fields = head.split()
        lemmas = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        yield tidy(", ".join(lemmas[:3]).replace("_", " ")), shorten(tidy(gloss))


def dictionary(source: bytes) -> Iterator[Pair]:
    """A dictd text: headwords at the margin, definitions indented."""
    text = gzip.decompress(source).decode("utf-8", "replace")
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = entry.partition("\n")
        body = tidy(_LINK.sub("", re.sub(r"\[1913 Webster\]|\[PJC\]|^ *\d+\. ", "", body, flags=re.M)))
        head = re.split(r" \\| \\\\|\\", head)[0].strip()
        if len(body) > 40 and 1 < len(head) < 60:
            yield head, shorten(body)


def obo(source: bytes) -> Iterator[Pair]:
    for term in source.decode("utf-8").split("\n\n[Term]\n")[1:]:
        name = re.search(r"^name: (.+)$", term, re.M)
        meaning = re.search(r'^def: "(.+?)" \[', term, re.M)
        if name and meaning:
            yield name[1], shorten(tidy(meaning[1]))


def ontology(terms: dict[str, dict[str, object]], chance: random.Random) -> Iterator[Pair]:
    """Names and synonyms of terms, and their definitions."""
    for term in terms.values():
        synonyms, meaning = term.get("synonyms"), term.get("description")
        names = [str(term.get("label", ""))]
        names += [str(name) for name in synonyms] if isinstance(synonyms, list) else []
        if meaning and len(str(meaning)) > 25:
            yield chance.choice(names), shorten(tidy(str(meaning)))


def manual(source: bytes, chance: random.Random) -> Iterator[Pair]:
    """A manual page: its NAME line, and its sections."""
    text = gzip.decompress(source).decode("utf-8", "replace")
    if found := _NAME.search(text):
        name = found[1].replace("\\", "")
        yield name, found[2].replace("\\", "")
        for block in re.split(r"^\.S[HS] ", text, flags=re.M)[2:]:
            heading, _, body = block.partition("\n")
            body = tidy(
                _ROFF.sub("", re.sub(r"^\.(?:[BI]|[BI]R|RB|RI|IP|TP|PP|P|nf|fi|sp|RS|RE)\b", "", body, flags=re.M))
            )
            if is_prose(body) and '.\\"' not in body:
                yield asked(f"{name.split(',')[0]} {heading.strip().strip(chr(34)).lower()}", chance), shorten(body)


def service(source: bytes) -> Iterator[Pair]:
    """A description of a cloud service (botocore): names of operations and fields, and what is said of them."""
    model = json.loads(source)
    for group in ("operations", "shapes"):
        for name, entry in model.get(group, {}).items():
            fields = {name: entry, **{f"{name} {key}": value for key, value in entry.get("members", {}).items()}}
            for key, value in fields.items():
                text = tidy(html.unescape(_TAG.sub(" ", value.get("documentation", ""))))
                if is_prose(text, 80):
                    yield key, shorten(text)


def modules(source: bytes) -> Iterator[Pair]:
    """An Ansible module: what it does, in short and at length, and its options."""
    text = source.decode("utf-8", "replace")
    short = re.search(r"^short_description: (.+)$", text, re.M)
    long = re.search(r"^description:\n((?:  ?.*\n)+)", text, re.M)
    if short and long:
        yield short[1].strip("\"'"), shorten(tidy(re.sub(r"^ *- ", "", long[1], flags=re.M)))
    for name, body in re.findall(r"^ {2,8}(\w+):\n +description:\n((?: +- .*\n(?:      +[^-:\n]+\n)*)+)", text, re.M):
        meaning = tidy(re.sub(r"^ *- ", "", body, flags=re.M))
        if short and is_prose(meaning, 80):
            yield f"{short[1].strip(chr(34))} {name}", shorten(meaning)
