"""The public names: few, documented, typed."""

from __future__ import annotations

import ast
import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

import kb
from tests.rules import sources

MOST_PUBLIC_NAMES = 20


def test_the_surface_is_curated() -> None:
    assert len(kb.__all__) <= MOST_PUBLIC_NAMES
    assert len(set(kb.__all__)) == len(kb.__all__)
    for name in kb.__all__:
        assert getattr(kb, name) is not None
    assert {"open", "KB", "Document", "Query", "KBError"} <= set(kb.__all__)


def test_the_surface_is_documented() -> None:
    for name in kb.__all__:
        thing = getattr(kb, name)
        if callable(thing):
            text = inspect.getdoc(thing) or ""
            automatic = f"{name}(" if inspect.isclass(thing) else "\0"
            assert text and not text.startswith(automatic), f"kb.{name} has no docstring"
    public = [item for item in vars(kb.KB).items() if not item[0].startswith("_") and callable(item[1])]
    for name, method in public:
        assert inspect.getdoc(method), f"kb.KB.{name} has no docstring"


def test_every_module_says_what_it_is() -> None:
    missing = [sources.name_of(path) for path in sources.modules() if not ast.get_docstring(sources.tree(path))]
    assert missing == []


def test_every_public_class_and_function_is_typed() -> None:
    untyped = [
        f"{sources.where(path, function.lineno)} {function.name}"
        for path in sources.modules()
        for function in sources.functions(path)
        if function.returns is None
    ]
    assert untyped == []
    assert (sources.PACKAGE / "py.typed").is_file()


def test_the_version_is_one() -> None:
    project = tomllib.loads((sources.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert kb.__version__ == project["version"]
    assert f"## {project['version']}" in (sources.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_imports_are_free(path: Path) -> None:
    """No module does work when it is imported: no loops, no opened files, no calls for effect at top level."""
    allowed = (
        ast.Import
        | ast.ImportFrom
        | ast.Assign
        | ast.AnnAssign
        | ast.AugAssign
        | ast.FunctionDef
        | ast.AsyncFunctionDef
        | ast.ClassDef
    )
    for node in sources.tree(path).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_guard = isinstance(node, ast.If)  # TYPE_CHECKING, __name__ == "__main__", sys.platform
        is_optional = isinstance(node, ast.Try)  # an optional import
        assert isinstance(node, allowed) or is_docstring or is_guard or is_optional, sources.where(path, node.lineno)


def test_every_module_can_be_imported_alone() -> None:
    optional = {"onnxruntime", "tokenizers", "numpy"}
    for path in sources.modules():
        name = sources.name_of(path)
        if name == "kb.__main__":
            continue
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            assert missing.name in optional, f"{name} needs {missing.name}"
