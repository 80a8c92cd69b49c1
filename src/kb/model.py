"""The configured embedding model, loaded when first needed: a keyword search never pays for it."""

from __future__ import annotations

import threading
from dataclasses import replace

from kb.config import RerankSettings, Settings
from kb.embed import registry as embedders
from kb.errors import KBError, UsageError
from kb.protocols import Embedder, Reranker


class LazyEmbedder:
    """A model, or the problem that kept it from loading."""

    def __init__(self, settings: Settings, given: str | Embedder | None) -> None:
        self._settings = settings.embed
        self._given = None if isinstance(given, str) else given
        self._loaded = self._given is not None
        self._problem: KBError | None = None
        self._lock = threading.Lock()

    def get(self) -> Embedder | None:
        with self._lock:
            if not self._loaded:
                try:
                    self._given = embedders.load(self._settings.model, self._settings)
                except UsageError:
                    raise
                except KBError as error:  # a missing extra, a model that does not load: words still find
                    self._problem = error
                self._loaded = True
            return self._given

    def problem(self) -> KBError | None:
        return self._problem


class LazyReranker:
    """The reranker, loaded by the first search that wants one. What keeps it from loading is told each time."""

    def __init__(self, settings: RerankSettings, given: Reranker | None = None) -> None:
        self._settings = settings
        self._loaded = given
        self._lock = threading.Lock()

    def get(self) -> Reranker:
        with self._lock:
            if self._loaded is None:
                from kb.rerank import registry as rerankers

                self._loaded = rerankers.load(self._settings)
            return self._loaded


def with_model(settings: Settings, embedder: str | Embedder | None) -> Settings:
    """The settings, with a model that the caller named instead of the configured one."""
    if isinstance(embedder, str):
        return replace(settings, embed=replace(settings.embed, model=embedder))
    return settings
