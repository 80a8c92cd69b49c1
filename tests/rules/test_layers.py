"""Who may import whom: low to high, and never sideways between stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules import sources

LAYERS = (
    {"types", "errors"},
    {"models"},
    {"protocols", "config", "text"},
    {"wordtext"},
    {"languages", "remote", "transformer"},
    {"analysis"},
    {"ingest", "embed", "store", "search", "rerank"},
    {"lookup", "pack", "asking", "model", "known", "usual"},
    {"modelset", "marks", "whynot"},
    {"app"},
    {"render", "evaluate", "testing", "doctor"},
    {"testing_models", "testing_words", "tune"},
    {"cli", "serve"},
    {"__main__"},
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
STAGES = {"ingest", "embed", "store", "search", "rerank"}
# `types` and `errors` are used together; the others of a layer stand alone, except for these.
SIDEWAYS = {("config", "text"), ("protocols", "text"), ("evaluate", "render"), ("testing", "render")}


def part(module: str) -> str:
    """``kb.store.sqlite`` belongs to ``store``; the package itself is ''."""
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_a_module_imports_only_what_lies_below(path: Path) -> None:
    own = part(sources.name_of(path))
    if own == "":
        return  # the public surface names things of every layer
    assert own in RANK, f"kb.{own} has no place in the layers yet: add it to LAYERS and to ARCHITECTURE.md"
    for module in sources.imports(path):
        other = part(module)
        if other in ("", own, "__version__") or (own, other) in SIDEWAYS:
            continue
        assert other in RANK, f"{path.name} imports {module}, which has no place in the layers"
        assert RANK[other] < RANK[own], f"kb.{own} must not import {module}"


@pytest.mark.parametrize("path", sources.modules(), ids=sources.name_of)
def test_no_module_imports_the_public_surface(path: Path) -> None:
    """``import kb`` inside the package would make every part depend on all of it."""
    if sources.name_of(path) in ("kb", "kb.evaluate", "kb.testing"):
        return
    assert "kb" not in set(sources.imports(path)), f"{path} imports kb itself"


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_stages_never_import_each_other(stage: str) -> None:
    others = STAGES - {stage}
    wrong = [
        f"{sources.name_of(path)} -> {module}"
        for path in sources.modules()
        if part(sources.name_of(path)) == stage
        for module in sources.imports(path)
        if part(module) in others
    ]
    assert wrong == []


def test_values_and_errors_import_nothing_of_kb() -> None:
    for name in ("types.py", "errors.py"):
        assert list(sources.imports(sources.PACKAGE / name)) == []
