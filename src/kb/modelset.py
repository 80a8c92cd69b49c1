"""``kb model``: which model answers, another one without a pause, and back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from kb.config import EmbedSettings
from kb.embed import registry
from kb.errors import EmbedderFailed, KBError, NotFound, UsageError
from kb.model import Embedders, name_of
from kb.models import ModelStatus
from kb.protocols import Embedder, Store
from kb.types import ModelInfo, Value

NOTE = "is not here any more"
OnStatus = Callable[[Callable[[], ModelStatus]], None]  # given a way to look, as looking has its price


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Offer(Value):
    """A model that can be had here, or what to do about it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


class ModelVerbs:
    """``base.model.set("minilm")`` is ``kb model set minilm``: the same verbs by the same names."""

    def __init__(self, store: Store, embedders: Embedders) -> None:
        self._store = store
        self._embedders = embedders

    def status(self) -> ModelStatus:
        """Which model answers in which collection, which is being built and how far it is."""
        return self._store.models.status()

    def list(self) -> tuple[Offer, ...]:
        """The models that can be had here, and what is in the way of the others."""
        return offers(self._embedders.settings)

    def set(self, name: str, *, collection: str | None = None, wait: bool = False,
            on_status: OnStatus | None = None, stop: threading.Event | None = None) -> ModelStatus:  # fmt: skip
        """Change to another model: the old one answers until the vectors of the new one are all there.

        It returns at once; ``wait`` embeds here and now, else :meth:`run` does it, in this process or another.
        """
        registry.check(*name.partition(":")[::2])
        if refusal := self._embedders.refusal(name):
            raise refusal
        embedder = registry.load(name, self._embedders.settings)
        if embedder is None:
            raise UsageError("a store cannot be without a model", fix="kb config set embed.model none: keywords only")
        info = embedder.info
        if info.id != name:
            info = replace(info, spec=name)
        self._want(info, collection)
        self._embedders.free(name if collection is None else None)
        return self.run(on_status=on_status, stop=stop) if wait else self.status()

    def back(self, *, collection: str | None = None, wait: bool = False,
             on_status: OnStatus | None = None, stop: threading.Event | None = None) -> ModelStatus:  # fmt: skip
        """Return to the model that answered before: at once, unless chunks have come that it does not know."""
        from kb.store.choice import earlier

        label = earlier(self._store.models.choice(), collection)
        info = self._store.models.held().get(label or "")
        if info is None:
            raise NotFound("no former model is kept", fix="kb model set NAME      (names: kb model list)")
        self._want(info, collection)
        self._embedders.free(name_of(info) if collection is None else None)
        return self.run(on_status=on_status, stop=stop) if wait else self.status()

    def drop(self) -> int:
        """Forget the vectors of models that are no longer used; how many bytes they took."""
        return self._store.models.drop()

    def run(self, *, on_status: OnStatus | None = None, stop: threading.Event | None = None) -> ModelStatus:
        """Embed what is missing for the models that are wanted, here and now; StoreBusy where another process does."""
        from kb.ingest.embedding import Makers, Stopped

        models = self._store.models
        with models.building():
            makers = Makers(self._store, stop or threading.Event())
            for label in self._building():
                info = models.held()[label]
                try:
                    makers.use(self._needed(info))
                    models.note(label, None)
                    makers.fill([label], lambda _count: on_status(models.status) if on_status else None)
                    problem = "; ".join(makers.warnings)
                except Stopped:
                    problem = "stopped"
                except KBError as cause:
                    models.note(label, str(cause))
                    raise
                if problem:
                    models.note(label, problem)
            models.switch()
            models.calibrate()
        return self.status()

    # ------------------------------------------------------------ inside

    @property
    def chosen(self) -> bool:
        """Whether this store has a model of its own choice, so that the settings do not decide."""
        return self._store.models.choice().store.chosen

    def embedder(self) -> Embedder | None:
        """The one that ``add`` embeds with: of the store's own choice, else as configured."""
        choice = self._store.models.choice()
        model = self._store.models.held().get(choice.store.answering or "") if choice.store.chosen else None
        return self._embedders.get(model)

    def _want(self, info: ModelInfo, collection: str | None) -> None:
        models = self._store.models
        if models.choice().label() is None:
            self._store.set_model(info)  # the first model of an empty store, which needs nothing to be built
        models.want(info, collection)
        models.note(info.label, None)

    def _building(self) -> tuple[str, ...]:
        choice = self._store.models.choice()
        wanted = (choice.store.wanted, *(seat.wanted for _, seat in choice.collections))
        return tuple(dict.fromkeys(label for label in wanted if label))

    def _needed(self, info: ModelInfo) -> Embedder:
        found = self._embedders.of(info)
        if found is None:
            problem = self._embedders.problem(info)
            raise problem or EmbedderFailed(f"the model {info.label} {NOTE}", fix=f"kb model set {name_of(info)}")
        return found


def offers(settings: EmbedSettings) -> tuple[Offer, ...]:
    """Every model but the one for tests."""
    return tuple(_offer(name, settings) for name in registry.EMBEDDERS if name != "hashing")


def _offer(name: str, settings: EmbedSettings) -> Offer:
    if name in registry.NEEDS_ARGUMENT:
        return Offer(f"{name}:{registry.NEEDS_ARGUMENT[name]}", True, WHAT[name])
    try:
        embedder = registry.load(name, settings)
    except KBError as error:
        return Offer(name, False, error.message, error.fix)
    detail = f"{embedder.info.label}, {embedder.info.dimension} dimensions: " if embedder else ""
    return Offer(name, True, detail + WHAT.get(name, ""))


WHAT = {
    "static": "English, needs nothing, thousands of chunks a second",
    "minilm": "English, better, tens of chunks a second",
    "openai": "any server that speaks /v1/embeddings: embed.base_url",
    "onnx-dir": "a folder with model.onnx and tokenizer.json",
}
