"""From the arguments of a call to checked values: what is valid, and what to say when something is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TypeVar

from kb.errors import UsageError
from kb.types import DOC_TYPES, TRUST_LEVELS, DocType, Filters, Kind, Trust

T = TypeVar("T", bound=str)


def filters(
    *,
    tags: Iterable[str] = (),
    tags_any: Iterable[str] = (),
    type: DocType | Sequence[DocType] = (),
    kind: Kind | None = None,
    lang: str | None = None,
    path: str | None = None,
    collection: str | None = None,
    repo: str | None = None,
    version: str | None = None,
    since: str | date | None = None,
    before: str | date | None = None,
    trust_min: Trust | None = None,
) -> Filters:
    """Checked filters, or a UsageError that lists what is valid."""
    types: Sequence[DocType] = (type,) if isinstance(type, str) else tuple(type)
    for name in types:
        one_of("type", name, DOC_TYPES)
    return Filters(
        tags=words(tags),
        tags_any=words(tags_any),
        types=tuple(types),
        kind=one_of("kind", kind, ("code", "info")),
        lang=lang,
        path=path,
        collection=collection,
        repo=repo,
        version=version,
        since=_day("since", since),
        before=_day("before", before),
        trust_min=one_of("trust", trust_min, TRUST_LEVELS),
    )


def words(values: Iterable[str]) -> tuple[str, ...]:
    given = values.split(",") if isinstance(values, str) else values
    return tuple(dict.fromkeys(word.strip() for word in given if word.strip()))


def one_of(name: str, value: T | None, valid: Sequence[str]) -> T | None:
    if value is not None and value not in valid:
        raise UsageError(
            f"unknown {name} '{value}'", fix=f"use one of: {', '.join(valid)}", details={"valid": [*valid]}
        )
    return value


def _day(name: str, value: str | date | None) -> str | None:
    if value is None or isinstance(value, date):
        return value.isoformat()[:10] if value else None
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise UsageError(f"{name} must be a day like 2026-03-31, not '{value}'", fix=f"--{name} 2026-03-31") from None
