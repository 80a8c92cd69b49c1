"""Readers of source code: (what it does, the function) pairs, the first worded as a search half of the time."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

from corpus_prose import Pair, tidy

LONGEST = 480  # characters of source
SEARCHES = ("{}", "{}", "python {}", "{} python", "how to {} in python", "python how to {}", "python function to {}")

_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_FIELD = re.compile(r":\w+:`~?([^`]*)`|``?|\*\*?")


def functions(folder: Path, files: int, chance: random.Random) -> Iterator[Pair]:
    paths = [path for path in sorted(folder.rglob("*.py")) if 500 < path.stat().st_size < 150_000]
    for path in chance.sample(paths, min(files, len(paths))):
        source = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        yield from module(tree, source.splitlines(), chance)


def module(tree: ast.Module, lines: list[str], chance: random.Random) -> Iterator[Pair]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        summary = first_sentence(ast.get_docstring(node) or "")
        if not 12 < len(summary) < 160 or not summary.isascii():
            continue
        yield search_for(summary, node.name, chance), code(node, lines, keep_docstring=chance.random() < 0.5)


def first_sentence(docstring: str) -> str:
    paragraph = tidy(docstring.split("\n\n")[0])
    return _FIELD.sub(r"\1", re.split(r"\. |: |\.$|;", paragraph)[0])


def search_for(summary: str, name: str, chance: random.Random) -> str:
    if chance.random() < 0.5:
        return summary
    words = " ".join(_NAME_PART.findall(name)).lower() if chance.random() < 0.3 else summary.lower()
    return chance.choice(SEARCHES).format(words)


def code(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], *, keep_docstring: bool) -> str:
    """The function's source, at most LONGEST characters of it."""
    start, stop = node.lineno - 1, node.end_lineno or node.lineno
    kept = lines[start:stop]
    first = node.body[0]
    if not keep_docstring and first.end_lineno:
        kept = lines[start : first.lineno - 1] + lines[first.end_lineno : stop]
    indent = len(kept[0]) - len(kept[0].lstrip()) if kept else 0
    return "\n".join(line[indent:] for line in kept)[:LONGEST]
