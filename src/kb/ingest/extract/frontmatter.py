"""The flat part of YAML that notes use in their front matter. It never raises: what it cannot read it leaves out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb.ingest.source import Source

MAX_LINES = 400
_KEY = re.compile(r"^([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|)$")
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*)$")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


@dataclass(frozen=True, slots=True)
class Meta:
    title: str | None = None
    tags: tuple[str, ...] = ()
    date: str | None = None
    lang: str | None = None
    trust: str | None = None
    type: str | None = None


def front_matter(source: Source) -> tuple[Meta, int]:
    """What the front matter says, and how many lines it takes; 0 without one."""
    first = 0
    while first < min(source.lines, 5) and source.blank(first):
        first += 1
    fence = source.line(first).rstrip() if first < source.lines else ""
    if fence not in ("---", "+++"):
        return Meta(), 0
    closing = ("---", "...") if fence == "---" else ("+++",)
    for number in range(first + 1, min(source.lines, MAX_LINES)):
        if source.line(number).rstrip() in closing:
            body = [source.text[source.starts[n] : source.line_end(n)] for n in range(first + 1, number)]
            if fence == "---" and not any(_KEY.match(line) or line.startswith("#") for line in body if line.strip()):
                return Meta(), 0  # two thematic breaks, not front matter
            values = _yaml(body) if fence == "---" else _toml(body)
            return _meta(values), number + 1
    return Meta(), 0


def _meta(values: dict[str, list[str]]) -> Meta:
    def first(*keys: str) -> str | None:
        return next((values[key][0] for key in keys if values.get(key) and values[key][0]), None)

    found = _DATE.search(first("date", "created") or "")
    return Meta(
        title=first("title"),
        tags=clean_tags([*values.get("tags", ()), *values.get("tag", ()), *values.get("keywords", ())]),
        date=valid_day(found[0]) if found else None,
        lang=first("lang", "language"),
        trust=first("trust"),
        type=first("type"),
    )


def clean_tags(raw: list[str]) -> tuple[str, ...]:
    """Tags in the order given, each once, without `#`; a single string may hold several, with commas between."""
    parts = (part for item in raw for part in item.split(","))
    return tuple(dict.fromkeys(tag for tag in (part.strip().lstrip("#").strip() for part in parts) if tag))


def valid_day(text: str) -> str | None:
    from datetime import date

    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return None


def _yaml(body: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    key = ""
    folded = False
    for line in body:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = _ITEM.match(line)
        top = _KEY.match(line)
        if top:
            key, rest = top[1].strip().lower(), (top[2] or "").strip()
            folded = rest[:1] in ("|", ">")
            values[key] = [] if folded or not rest else _scalars(rest)
        elif item and key and not folded:
            values[key].append(_scalar(item[1]))
        elif key and line[:1] in " \t" and ":" not in line and (folded or not values[key]):
            values[key] = [f"{values[key][0]} {line.strip()}" if values[key] else line.strip()]
    return values


def _scalars(text: str) -> list[str]:
    if text.startswith("["):
        inner = text[1:].split("]", 1)[0]
        return [_scalar(part) for part in inner.split(",") if part.strip()]
    return [_scalar(text)]


def _scalar(text: str) -> str:
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text[1:]
    return text.split(" #", 1)[0].strip()


def _toml(body: list[str]) -> dict[str, list[str]]:
    import tomllib

    try:
        table = tomllib.loads("\n".join(body))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    values: dict[str, list[str]] = {}
    for key, value in table.items():
        items = value if isinstance(value, list) else [value]
        values[key.lower()] = [str(item) for item in items if not isinstance(item, dict | list)]
    return values
