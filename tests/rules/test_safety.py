"""Things that no module of kb does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.rules import sources

FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "telnetlib"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
BOUNDARY = ("types", "config", "search", "evaluate", "doctor", "app", "lookup", "pack", "embed")
FORBIDDEN_ARGUMENTS = {"allow_pickle", "trust_remote_code", "shell"}


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_no_unsafe_loading(path: Path) -> None:
    for node in ast.walk(sources.tree(path)):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_MODULES
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN_MODULES
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_CALLS, sources.where(path, node.lineno)
            for keyword in node.keywords:
                is_off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                assert keyword.arg not in FORBIDDEN_ARGUMENTS or is_off, sources.where(path, node.lineno)


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_no_catch_all_arguments(path: Path) -> None:
    """``**kwargs`` hides what a function takes; one frozen value says it."""
    for function in sources.functions(path):
        assert function.args.kwarg is None, f"{sources.where(path, function.lineno)} {function.name} takes **kwargs"


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_no_swallowed_errors(path: Path) -> None:
    """A bare ``except:`` or an ``except BaseException`` that does not raise again hides Ctrl-C."""
    for node in ast.walk(sources.tree(path)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        base = node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "BaseException")
        again = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
        assert not base or again, sources.where(path, node.lineno)


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_values_are_frozen(path: Path) -> None:
    """What crosses a boundary is frozen. Stages that build something up may do so in a value of their own."""
    if sources.name_of(path).split(".")[1:2] not in [[part] for part in BOUNDARY]:
        return
    for node in ast.walk(sources.tree(path)):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        for decorator in node.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(name, ast.Name) and name.id == "dataclass":
                keywords = {k.arg for k in decorator.keywords} if isinstance(decorator, ast.Call) else set()
                assert "frozen" in keywords, f"{sources.where(path, node.lineno)} {node.name} can be changed"
