"""Each filter of a search on its own: does the document pass it, and what has it instead?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kb.protocols import Snapshot
from kb.types import Filters
from kb.whynot.target import Target
from kb.whynot.values import FilterCheck

FLAGS = {
    "tags": "--tags", "tags_any": "--tags-any", "types": "--type", "kind": "--kind", "lang": "--lang", "path": "--path",
    "collection": "--collection", "repo": "--repo", "version": "--version", "since": "--since", "before": "--before",
    "trust_min": "--trust-min",
}  # fmt: skip


def checks(snapshot: Snapshot, target: Target, where: Filters) -> dict[str, FilterCheck]:
    """By the name of the field, in order, for those that are set."""
    given = {field: getattr(where, field) for field in FLAGS if getattr(where, field) not in (None, ())}
    found = {
        field: FilterCheck(
            flag, _text(given[field]), _passes(snapshot, target, field, given[field]), _has(target, field)
        )
        for field, flag in FLAGS.items()
        if field in given
    }
    if all(found[field].passes for field in ("kind", "lang") if field in found) and not _together(target, where):
        for field in ("kind", "lang"):  # some chunk passes the one, and some chunk the other
            found |= {field: replace(found[field], passes=False)} if field in found else {}
    return found


def without(where: Filters, fields: Sequence[str]) -> Filters:
    """The filters without these."""
    free: dict[str, Any] = {field: getattr(Filters(), field) for field in fields}
    return replace(where, **free)


def _passes(snapshot: Snapshot, target: Target, field: str, value: Any) -> bool:
    """As the store decides it."""
    document = target.document
    if field == "collection":
        return bool(value == document.collection)
    among = target.only
    if field == "path":  # of documents that are like this one in all else, as there is no other name to ask by
        among = Filters(
            types=(document.type,), collection=document.collection, tags=document.tags, repo=document.repo,
            version=document.version, since=document.date, trust_min=document.trust,
        )  # fmt: skip
    changed: dict[str, Any] = {field: value}
    return any(found.doc_id == document.doc_id for found in snapshot.find(replace(among, **changed)))


def _together(target: Target, where: Filters) -> bool:
    """Kind and language are those of chunks: one of the chunks must have both."""
    lang = target.document.lang
    return any(
        where.kind in (None, chunk.chunk.kind) and where.lang in (None, chunk.chunk.lang, lang)
        for chunk in target.texts
    )


def _has(target: Target, field: str) -> str:
    document = target.document
    values: dict[str, Any] = {
        "tags": document.tags,
        "tags_any": document.tags,
        "types": document.type,
        "kind": dict.fromkeys(chunk.chunk.kind for chunk in target.texts),
        "lang": dict.fromkeys(lang for chunk in target.texts if (lang := chunk.chunk.lang or document.lang)),
        "path": document.path,
        "collection": document.collection,
        "repo": document.repo,
        "version": document.version,
        "since": document.date,
        "before": document.date,
        "trust_min": document.trust,
    }
    return _text(values[field])


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else ",".join(value)
