"""Names of embedders to embedders. A new one is a file and a line here, never a branch elsewhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kb.errors import UsageError

if TYPE_CHECKING:
    from kb.config import EmbedSettings
    from kb.protocols import Embedder

NONE = "none"

# What stands before the first colon of a spec -> module:factory; the factory gets what stands after it, and settings.
EMBEDDERS = {
    "static": "kb.embed.static:create",
    "minilm": "kb.embed.minilm:create",
    "onnx-dir": "kb.embed.onnx:create",
    "openai": "kb.embed.http:create",
    "hashing": "kb.embed.hashing:create",
}
TAKES_NOTHING = ("static", "minilm", NONE)
NEEDS_ARGUMENT = {"openai": "MODEL", "onnx-dir": "PATH"}


def load(spec: str, settings: EmbedSettings | None = None) -> Embedder | None:
    """The embedder of a spec such as `static`, `openai:text-embedding-3-small` or `onnx-dir:PATH`; None for `none`.

    Raises UsageError for a spec that means nothing, MissingExtra when its packages are not installed and
    EmbedderFailed when its model cannot be read.
    """
    name, _, argument = spec.partition(":")
    check(name, argument)
    if name == NONE:
        return None
    if settings is None:
        from kb.config import EmbedSettings

        settings = EmbedSettings()
    module, _, factory = EMBEDDERS[name].partition(":")
    embedder: Embedder = getattr(import_module(module), factory)(argument, settings)
    return embedder


def check(name: str, argument: str) -> None:
    """Raise UsageError unless the two halves of a spec make one."""
    if name != NONE and name not in EMBEDDERS:
        known = ", ".join([*EMBEDDERS, NONE])
        raise UsageError(f"no embedding model is called {name!r}", fix=f"use one of: {known}")
    if argument and name in TAKES_NOTHING:
        raise UsageError(f"{name!r} takes nothing after it, got {argument!r}", fix=f"use {name!r}")
    if not argument and name in NEEDS_ARGUMENT:
        form = f"{name}:{NEEDS_ARGUMENT[name]}"
        raise UsageError(f"{name!r} alone names no model", fix=f"use {form!r}")
