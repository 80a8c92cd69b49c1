"""Embedding models, loaded when first needed: a keyword search never pays for one.

A store is answered by the model that made its vectors, whatever the settings say: they decide what a new store begins
with, and what ``kb add`` changes to where nobody chose by ``kb model set``. What reaches beyond kb, a server or a
folder, is loaded only where the settings name it: a store or a pack may come from elsewhere, and must not send
anybody's queries anywhere.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from kb.config import RerankSettings, Settings
from kb.embed import registry as embedders
from kb.errors import KBError, UsageError
from kb.protocols import Embedder, Reranker, Snapshot
from kb.types import ModelInfo


class Embedders:
    """The configured or given embedder, and those of the models that a store holds; or what kept them from loading."""

    def __init__(self, settings: Settings, given: str | Embedder | None) -> None:
        self.settings = settings.embed
        self._given = None if isinstance(given, str) else given
        self._loaded: dict[str, Embedder | KBError | None] = {}  # by name
        self._lock = threading.Lock()

    def get(self, model: ModelInfo | None = None) -> Embedder | None:
        """That of a model, or the configured one. One that the caller gave as an object takes nobody beside it."""
        if self._given is not None:
            return self._given
        found = self._found(model)
        return None if isinstance(found, KBError) else found

    def problem(self, model: ModelInfo | None = None) -> KBError | None:
        """Why there is none."""
        if self._given is not None:
            return None
        found = self._found(model)
        return found if isinstance(found, KBError) else None

    def of(self, model: ModelInfo) -> Embedder | None:
        """For writing: that of exactly this model."""
        found = self.get(model)
        try:
            return found if found is not None and found.info.label == model.label else None
        except KBError:  # a remote one that cannot be asked for its dimension
            return None

    def notice(self, snapshot: Snapshot) -> str:
        """What to say where the store has another model than the settings, and nobody chose it."""
        model = snapshot.model
        if model is None or snapshot.chosen or self._given is not None or name_of(model) == self.settings.model:
            return ""
        wanted = self.settings.model
        if wanted == embedders.NONE:
            return ""
        if wanted.partition(":")[0] == model.id.partition(":")[0] and not model.remote:
            embedder = self.get()  # the same by another name, as `hashing` is `hashing:64`
            if embedder is not None and embedder.info.label == model.label:
                return ""
        return (
            f"answered by the store's model {model.label}, not by the configured {wanted} (try: kb model set {wanted})"
        )

    def free(self, name: str | None) -> None:
        """A model was chosen by name: from now on each is loaded by its name, and this one is as if configured."""
        self._given = None
        if name is not None:
            self.settings = replace(self.settings, model=name)

    def refusal(self, name: str) -> KBError | None:
        """Why a model is not loaded on the word of a store alone."""
        family, configured = name.partition(":")[0], self.settings.model
        named = name == configured or (family == "openai" and configured.startswith("openai:"))  # the server is trusted
        if family not in embedders.NEEDS_ARGUMENT or named:
            return None
        return UsageError(
            f"the settings do not name the model {name}, and what reaches beyond kb is used only where they do",
            fix=f"kb config set embed.model {name}",
        )

    def _found(self, model: ModelInfo | None) -> Embedder | KBError | None:
        name = self._name(model)
        return self.refusal(name) or self._load(name)

    def _name(self, model: ModelInfo | None) -> str:
        configured = self.settings.model
        if model is None or configured == embedders.NONE:
            return configured
        name = name_of(model)
        # Some names say more than the id that a model gives itself (a folder, a dimension): then they decide.
        same = configured.partition(":")[0] == name.partition(":")[0] and not model.spec and not _complete(model)
        return configured if same else name

    def _load(self, name: str) -> Embedder | KBError | None:
        with self._lock:
            if name not in self._loaded:
                try:
                    self._loaded[name] = embedders.load(name, self.settings)
                except UsageError as error:
                    if name == self.settings.model:
                        raise
                    self._loaded[name] = error
                except KBError as error:  # a missing extra, a model that does not load: words still find
                    self._loaded[name] = error
            return self._loaded[name]


def name_of(model: ModelInfo) -> str:
    """What a stored model is called in the settings."""
    return model.spec or model.id


def _complete(model: ModelInfo) -> bool:
    """Whether its id is all that is needed to load it again."""
    return not model.id.startswith("onnx-dir:")


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
