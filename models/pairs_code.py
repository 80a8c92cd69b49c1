"""Readers of source code: (what it does, the function) pairs, the first often worded as a search."""

from __future__ import annotations

import ast
import random
import re
import warnings
from collections.abc import Iterator

from pairs_prose import Pair, tidy

LENGTHS = (300, 480, 480, 900)  # characters of source
SEARCHES = (
    "{}",
    "{}",
    "python {}",
    "python {}",
    "{} python",
    "{} in python",
    "how to {} in python",
    "how to {} python",
    "python how to {}",
    "python function to {}",
    "{} using python",
)

_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_FIELD = re.compile(r":\w+:`~?([^`]*)`|``?|\*\*?")
_THIRD_PERSON = re.compile(r"^(\w{3,}?)(?<!s)s (?=\w)")


def functions(source: bytes, chance: random.Random) -> Iterator[Pair]:
    text = source.decode("utf-8", "replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from module(tree, text.splitlines(), chance)


def module(tree: ast.Module, lines: list[str], chance: random.Random) -> Iterator[Pair]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        summary = first_sentence(ast.get_docstring(node) or "")
        if 12 < len(summary) < 160 and summary.isascii():
            yield search_for(summary, node.name, chance), code(node, lines, chance)


def first_sentence(docstring: str) -> str:
    paragraph = tidy(docstring.split("\n\n")[0])
    return _FIELD.sub(r"\1", re.split(r"\. |: |\.$|;", paragraph)[0])


def search_for(summary: str, name: str, chance: random.Random) -> str:
    """The summary itself for a third, else its imperative or the function's name as somebody would type it."""
    if chance.random() < 0.33:
        return summary
    words = " ".join(_NAME_PART.findall(name)) if chance.random() < 0.25 else _THIRD_PERSON.sub(r"\1 ", summary)
    return chance.choice(SEARCHES).format(words.lower())


def code(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], chance: random.Random) -> str:
    """The beginning of the function's source; its docstring is left out half of the time."""
    start, stop = node.lineno - 1, node.end_lineno or node.lineno
    kept = lines[start:stop]
    first = node.body[0]
    if chance.random() < 0.5 and first.end_lineno:
        kept = lines[start : first.lineno - 1] + lines[first.end_lineno : stop]
    indent = len(kept[0]) - len(kept[0].lstrip()) if kept else 0
    return "\n".join(line[indent:] for line in kept)[: chance.choice(LENGTHS)]
