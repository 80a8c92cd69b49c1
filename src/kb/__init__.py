"""kb: hybrid search for everything a person or an agent keeps.

>>> import kb
>>> with kb.open("store/") as base:          # doctest: +SKIP
...     base.add("~/notes")
...     for hit in base.search("install git", top=5).hits:
...         print(hit.score, hit.citation.uri, hit.snippet)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.app import KB, open
    from kb.asking import filters
    from kb.config import Settings
    from kb.errors import KBError
    from kb.protocols import Embedder, Retriever, Store
    from kb.types import (
        AddReport,
        Citation,
        Document,
        Filters,
        Hit,
        Passage,
        Progress,
        Query,
        SearchResult,
        Status,
    )
    from kb.whynot.values import WhyNot

__version__ = "0.1.0"

__all__ = [
    "KB",
    "AddReport",
    "Citation",
    "Document",
    "Embedder",
    "Filters",
    "Hit",
    "KBError",
    "Passage",
    "Progress",
    "Query",
    "Retriever",
    "SearchResult",
    "Settings",
    "Status",
    "Store",
    "WhyNot",
    "filters",
    "open",
]

# Where each name lives. They load when first used: `import kb` and `kb --help` cost next to nothing.
_HOMES = {"KB": "kb.app", "open": "kb.app", "filters": "kb.asking", "WhyNot": "kb.whynot.values"}
_HOMES |= {"Settings": "kb.config", "KBError": "kb.errors"}
_HOMES |= dict.fromkeys(("Embedder", "Retriever", "Store"), "kb.protocols")


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'kb' has no attribute '{name}'")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES.get(name, "kb.types")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
