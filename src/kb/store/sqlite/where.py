"""Filters as SQL: compiled once here, obeyed by both legs and by ``find``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kb.store.sqlite.rows import pack
from kb.types import TRUST_LEVELS, Filters

if TYPE_CHECKING:
    import apsw


@dataclass(slots=True)
class Conditions:
    """Conditions on ``documents d`` and on ``chunks c``, all of which must hold, with their bindings."""

    documents: list[str] = field(default_factory=list)
    chunks: list[str] = field(default_factory=list)
    bindings: dict[str, Any] = field(default_factory=dict)

    def bind(self, value: Any) -> str:
        name = f"f{len(self.bindings)}"
        self.bindings[name] = value
        return f":{name}"


def conditions(where: Filters) -> Conditions:
    found = Conditions()
    bind, documents = found.bind, found.documents
    for tag in where.tags:
        documents.append(f"d.id IN (SELECT t.document FROM tags t WHERE t.tag = {bind(tag)})")
    if where.tags_any:
        names = ", ".join(bind(tag) for tag in where.tags_any)
        documents.append(f"d.id IN (SELECT t.document FROM tags t WHERE t.tag IN ({names}))")
    if where.types:
        documents.append(f"d.type IN ({', '.join(bind(kind) for kind in where.types)})")
    for column in ("collection", "repo", "version"):
        value = getattr(where, column)
        if value is not None:
            documents.append(f"d.{column} = {bind(pack(value))}")
    if where.since is not None:
        documents.append(f"d.date >= {bind(where.since)}")
    if where.before is not None:
        documents.append(f"d.date < {bind(where.before)}")
    if where.trust_min is not None:
        documents.append(f"d.trust >= {bind(TRUST_LEVELS.index(where.trust_min))}")
    if where.path is not None:
        name = literal(where.path)
        documents.append(
            f"kb_glob({bind(pack(where.path))}, d.path)" if name is None else f"d.path = {bind(pack(name))}"
        )
    if where.kind is not None:
        found.chunks.append(f"c.kind = {bind(where.kind)}")
    if where.lang is not None:
        name = bind(pack(where.lang))
        found.chunks.append(f"(c.lang = {name} OR d.lang = {name})")
    return found


def chunk_numbers(where: Filters, *, cjk: bool = False) -> tuple[str, dict[str, Any]]:
    """A query for the numbers of the chunks that pass, and its bindings. It reads indexes only, never a text."""
    found = conditions(where)
    tests = [*found.documents, *found.chunks, *(["+c.cjk = 1"] if cjk else [])]  # the plus: not by the index of scripts
    # CROSS JOIN fixes the order: first the documents, each tested once, then their chunks by index.
    joined = "SELECT c.id FROM documents d CROSS JOIN chunks c ON c.document = d.id"
    return f"{joined} WHERE {' AND '.join(tests) or '1'}", found.bindings


def restriction(where: Filters, column: str) -> tuple[str, dict[str, Any]]:
    """`` AND +column IN (…)``, or nothing. The plus keeps SQLite from running one MATCH per chunk (seconds)."""
    if where.empty:
        return "", {}
    query, bindings = chunk_numbers(where)
    return f" AND +{column} IN ({query})", bindings


def document_test(where: Filters) -> tuple[str, dict[str, Any]]:
    """A condition on ``documents d``: it passes itself and, where chunks are asked for, has one that does."""
    found = conditions(where)
    tests = found.documents
    if found.chunks:
        has = f"EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.id AND {' AND '.join(found.chunks)})"
        tests = [*tests, has]
    return " AND ".join(tests) or "1", found.bindings


def register(connection: apsw.Connection) -> None:
    connection.create_scalar_function("kb_glob", _matches, 2, deterministic=True)
    connection.create_scalar_function("kb_lower", str.lower, 1, deterministic=True)


def _matches(pattern: str | bytes, path: str | bytes) -> bool:
    return glob(_text(pattern)).fullmatch(_text(path)) is not None


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


@lru_cache(maxsize=64)
def glob(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` stay within a folder, ``**`` does not, ``**/`` may be no folder at all, ``[a-z]`` and ``[!a]``."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2 + (pattern[at + 1 : at + 2] == "!"))) > 0:
            parts.append(_one_of(pattern[at + 1 : end]))
            at = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at]) or re.escape(pattern[at]))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


_LITERAL = re.compile(r"(?:[^*?\[]|\[[*?\[]\])*")


def literal(pattern: str) -> str | None:
    """The one path that a pattern matches, which an index finds; None where it may match several."""
    return re.sub(r"\[([*?\[])\]", r"\1", pattern) if _LITERAL.fullmatch(pattern) else None


def _one_of(inner: str) -> str:
    negated = inner.startswith("!")
    body = re.sub(r"([\\\[\]^&|~])", r"\\\1", inner[negated:])
    try:
        re.compile(f"[{body}]")
    except re.error:  # such as "z-a": no range, so the characters themselves
        body = body.replace("-", r"\-")
    return f"(?!/)[{'^' if negated else ''}{body}]"
