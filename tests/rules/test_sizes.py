"""One screen per recipe: limits on files, functions and classes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.rules import sources

FILE_LINES = 500
FUNCTION_LINES = 60
FUNCTION_GOAL = 40
PUBLIC_METHODS = 12


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring and, for the command line's own help text, nothing else."""
    whole = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        whole -= (first.end_lineno or first.lineno) - first.lineno + 1
    return whole


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= FILE_LINES, f"{path} has {lines} lines"
    long = [
        f"{sources.where(path, f.lineno)} {f.name}: {length(f)}"
        for f in sources.functions(path)
        if length(f) > FUNCTION_LINES
    ]
    assert long == []


def test_nearly_all_functions_reach_the_goal() -> None:
    sizes = [length(function) for path in sources.modules() for function in sources.functions(path)]
    within = sum(size <= FUNCTION_GOAL for size in sizes)
    assert within / len(sizes) >= 0.97


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_classes_have_few_public_methods(path: Path) -> None:
    if sources.name_of(path).startswith("kb.testing"):
        return  # suites of tests: each public method is one test
    for node in ast.walk(sources.tree(path)):
        if not isinstance(node, ast.ClassDef):
            continue
        public = [
            item.name
            for item in node.body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_")
        ]
        assert len(public) <= PUBLIC_METHODS, f"{node.name} has {len(public)} public methods: {public}"
