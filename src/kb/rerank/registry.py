"""Names of rerankers to rerankers. A new one is a file and a line here, never a branch elsewhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kb.errors import UsageError

if TYPE_CHECKING:
    from kb.config import RerankSettings
    from kb.protocols import Reranker

# What stands before the first colon of a spec -> module:factory; the factory gets what stands after it, and settings.
RERANKERS = {
    "onnx-dir": "kb.rerank.onnx:create",
    "http": "kb.rerank.http:create",
    "tei": "kb.rerank.http:create_tei",
}


def load(settings: RerankSettings) -> Reranker:
    """The reranker of `rerank.model`.

    Raises UsageError for a spec that means nothing, MissingExtra when its packages are not installed and
    RerankFailed when its model cannot be read.
    """
    name, _, argument = (settings.model or "").partition(":")
    if not name:
        raise UsageError("no reranker is configured", fix="kb config set rerank.model onnx-dir:PATH")
    if name not in RERANKERS or not argument:
        raise UsageError(f"no reranker is called {settings.model!r}", fix="use onnx-dir:PATH, http:URL or tei:URL")
    module, _, factory = RERANKERS[name].partition(":")
    reranker: Reranker = getattr(import_module(module), factory)(argument, settings)
    return reranker
