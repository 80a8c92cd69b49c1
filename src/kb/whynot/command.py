"""A query as the command that asks it, and what one query has otherwise than another. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kb.types import Query
from kb.whynot.narrowing import FLAGS

OWN = {  # fields of a query and its shape that are flags with a value
    "top": "--top", "mode": "--mode", "profile": "--profile", "threshold": "--threshold", "min_score": "--min-score",
    "alpha": "--alpha", "cursor": "--cursor", "budget": "--budget", "per_doc": "--per-doc", "mmr": "--mmr",
}  # fmt: skip


def argv(query: Query, default: str) -> tuple[str, ...]:
    """``default`` is the mode of a search that names none."""
    words = ["kb", "search", *([] if query.text.startswith("-") else [query.text])]
    for flag, value in _flags(query):
        if flag == "--mode" and value == default:
            continue
        glued = not value or value.startswith("-")
        words += [f"{flag}={value}"] if glued else [flag, value]
    words += [flag for flag, given in _switches(query) if given]
    return (*words, "--", query.text) if query.text.startswith("-") else tuple(words)


def told(before: Query, after: Query) -> tuple[str, ...]:
    """What a reader is told of the difference, one entry for each thing to change."""
    old, new = dict(_joined(before)), dict(_joined(after))
    found = [] if before.text == after.text else [f"with the words {after.text}"]
    for flag in dict.fromkeys((*old, *new)):
        if old.get(flag) != new.get(flag):
            found.append(f"with {flag} {new[flag]}" if flag in new else f"without {flag} {old[flag]}")
    switches = dict(_switches(after))
    found += [f"without {flag}" for flag, given in _switches(before) if given and not switches[flag]]
    return tuple(found)


def _joined(query: Query) -> Iterator[tuple[str, str]]:
    """Each flag once."""
    values: dict[str, list[str]] = {}
    for flag, value in _flags(query):
        values.setdefault(flag, []).append(value)
    return ((flag, ",".join(given)) for flag, given in values.items())


def _flags(query: Query) -> Iterator[tuple[str, str]]:
    for field, flag in FLAGS.items():
        value = getattr(query.filters, field)
        if field == "types":
            yield from ((flag, each) for each in value)
        elif value not in (None, ()):
            yield flag, value if isinstance(value, str) else ",".join(value)
    for field, flag in OWN.items():
        value = getattr(query.shape if field in ("per_doc", "mmr") else query, field)
        if value is not None:
            yield flag, value if isinstance(value, str) else repr(value)


def _switches(query: Query) -> tuple[tuple[str, bool], ...]:
    shape = query.shape
    return (
        ("--merge", shape.merge),
        ("--parent", shape.parent),
        ("--rerank", shape.rerank is True),
        ("--no-rerank", shape.rerank is False),
    )
