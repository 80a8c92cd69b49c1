"""What .gitignore, .kbignore and .git/info/exclude say, level by level, as git decides it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from kb.ingest.gitglob import Rule, decide, parse_rule

SOURCES = (os.path.join(".git", "info", "exclude"), ".gitignore", ".kbignore")  # a later one overrules
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one folder."""

    folder: str
    rules: tuple[Rule, ...]


def levels_above(root: str) -> tuple[Level, ...]:
    """The rules between the top of the repository and ``root``; none when they would hide the root itself."""
    chain: list[str] = []
    folder = root
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            break
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()
        chain.append(parent)
        folder = parent
    levels: tuple[Level, ...] = ()
    for folder in reversed(chain):
        levels = (*levels, *read_level(folder))
    # who names an ignored folder wants it
    inside = root
    while levels and inside != folder and len(inside) > len(levels[0].folder):
        if ignored(levels, inside, True):
            return ()
        inside = os.path.dirname(inside)
    return levels


def read_level(folder: str) -> tuple[Level, ...]:
    """The rules that lie in a folder, if any."""
    lines = [line for name in SOURCES for line in _lines(os.path.join(folder, name))]
    rules = tuple(rule for line in lines if (rule := parse_rule(line)) is not None)
    return (Level(folder, rules),) if rules else ()


def ignored(levels: tuple[Level, ...], path: str, is_folder: bool) -> bool:
    """The deepest folder with a rule that matches decides; within it, the last such rule."""
    for level in reversed(levels):
        relative = path[len(level.folder.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
        said = decide(level.rules, os.fsencode(relative), is_folder)
        if said is not None:
            return said
    return False


def _lines(path: str) -> list[bytes]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return []
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return []
        raw = file.read(MAX_BYTES)
    return raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
