"""kb: hybrid search for everything a person or an agent keeps.

>>> import kb
>>> with kb.open("store/") as base:          # doctest: +SKIP
...     base.add("~/notes")
...     for hit in base.search("install git", top=5).hits:
...         print(hit.score, hit.citation.uri, hit.snippet)
"""

from kb.app import KB, filters, open
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
    "filters",
    "open",
]
