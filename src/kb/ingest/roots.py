"""Which root each given path belongs to. Roots of one collection never lie within each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kb.errors import UsageError
from kb.ingest.names import printable
from kb.types import Issue, StoredDocument


@dataclass(frozen=True, slots=True)
class Target:
    """A folder or file to bring up to date, and the root whose paths name its documents."""

    root: str
    scope: str


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def targets(
    paths: Iterable[str | os.PathLike[str]], documents: Sequence[StoredDocument]
) -> tuple[list[Target], list[Issue]]:
    """The targets of the given paths, outer ones first, and the paths that never were."""
    known = {document.root for document in documents if document.root is not None}
    scopes = sorted({_absolute(path) for path in paths}, key=lambda scope: (scope.count(os.sep), os.fsencode(scope)))
    found: list[Target] = []
    missing: list[Issue] = []
    for scope in scopes:
        if not os.path.lexists(scope) and not _remembered(scope, known, documents):
            missing.append(Issue(printable(scope), "no_such_path", "there is no such file or folder"))
            continue
        if any(within(scope, target.scope) for target in found):
            continue
        roots = [root for root in (*known, *(target.root for target in found)) if within(scope, root)]
        inner = [root for root in roots if root != scope or not os.path.isfile(scope)]
        if inner:
            root = max(inner, key=len)
        elif os.path.isdir(scope) or not os.path.lexists(scope):
            root = scope
        else:
            root = os.path.dirname(scope)
        found.append(Target(root, scope))
    return found, missing


def _remembered(scope: str, known: set[str], documents: Sequence[StoredDocument]) -> bool:
    """A path that is gone, but that documents of the store came from."""
    if any(within(root, scope) for root in known):
        return True
    return any(document.source is not None and within(document.source, scope) for document in documents)


def _absolute(path: str | os.PathLike[str]) -> str:
    text = os.fsdecode(path)
    if not text or "\x00" in text:
        raise UsageError("an empty path, or one with NUL in it, names no file", fix="kb add PATH")
    return os.path.realpath(os.path.expanduser(text))
