"""Transformers in ONNX form: a folder with model.onnx and tokenizer.json, and kb.json where the defaults do not fit.

    kb.json   {"pooling": "mean" | "cls" | "last", "max_tokens": 256, "scripts": ["latin"],
               "query_prefix": "query: ", "passage_prefix": "passage: "}

One text at a time: on CPUs that beat every batch size, and it makes a vector independent of its neighbours. Passages
are spread over threads instead.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kb.errors import EmbedderFailed, UsageError
from kb.transformer import MOST_THREADS, cores, open_model, open_tokenizer, revision
from kb.types import ModelInfo, Vector

if TYPE_CHECKING:
    from kb.config import EmbedSettings


@dataclass(frozen=True, slots=True)
class Recipe:
    """kb.json: how a folder's model wants its texts, and what its output means."""

    pooling: str = "mean"
    max_tokens: int = 256
    scripts: tuple[str, ...] = ()
    query_prefix: str = ""
    passage_prefix: str = ""


class Runner(Protocol):
    """Token ids of one text to its hidden states (tokens x width), or straight to its vector (width)."""

    def __call__(self, ids: Sequence[int]) -> Any: ...


class TransformerEmbedder:
    """A tokenizer, a runner and a recipe. Safe to share between threads."""

    def __init__(self, id_: str, folder: Path, runner: Runner, recipe: Recipe) -> None:
        self._runner, self._recipe = runner, recipe
        self._tokenizer = open_tokenizer(folder, recipe.max_tokens, EmbedderFailed)
        dimension = len(self._vector("dimension")) // 4
        self._info = ModelInfo(
            id_, revision(folder), dimension, recipe.scripts, recipe.query_prefix, recipe.passage_prefix
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    def embed_query(self, text: str) -> Vector:
        return self._embed(self._recipe.query_prefix, text)

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        embed = partial(self._embed, self._recipe.passage_prefix)
        threads = min(len(texts), cores(), MOST_THREADS)
        if threads < 2:
            return [embed(text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as workers:
            return list(workers.map(embed, texts))

    def _embed(self, prefix: str, text: str) -> Vector:
        return self._vector(prefix + text) if text.strip() else bytes(4 * self._info.dimension)

    def _vector(self, text: str) -> Vector:
        import numpy as np

        ids = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        try:
            output = self._runner(ids)
        except Exception as cause:  # a native runtime raises its own kinds
            raise EmbedderFailed(f"the model could not embed a text of {len(ids)} tokens: {cause}") from cause
        pooled = pool(np.asarray(output, dtype=np.float64), self._recipe.pooling)
        norm = float(np.linalg.norm(pooled))
        if not np.isfinite(norm):
            raise EmbedderFailed("the model answered with a number that is not finite", fix="kb doctor")
        vector: Vector = (pooled / (norm or 1.0)).astype("<f4").tobytes()
        return vector


def pool(output: Any, pooling: str) -> Any:
    """One vector of a text's hidden states; a vector stays as it is."""
    if output.ndim == 1:
        return output
    return {"mean": output.mean(axis=0), "cls": output[0], "last": output[-1]}[pooling]


def session_runner(path: Path) -> Runner:
    """Run a model file with ONNX Runtime, one thread per text."""
    return open_model(path, EmbedderFailed)


def read_recipe(folder: Path) -> Recipe:
    path = folder / "kb.json"
    if not path.exists():
        return Recipe()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        recipe = Recipe(
            str(found.get("pooling", "mean")),
            int(found.get("max_tokens", 256)),
            tuple(str(script) for script in found.get("scripts", ())),
            str(found.get("query_prefix", "")),
            str(found.get("passage_prefix", "")),
        )
    except (ValueError, TypeError, AttributeError, OSError) as cause:
        raise EmbedderFailed(f"cannot read {path}: {cause}", fix="see docs: onnx-dir") from cause
    if recipe.pooling not in ("mean", "cls", "last") or recipe.max_tokens < 3:
        raise EmbedderFailed(f"{path} has a setting that means nothing", fix="pooling: mean, cls or last")
    return recipe


def create(argument: str, settings: EmbedSettings) -> TransformerEmbedder:
    folder = Path(argument).expanduser()
    missing = [name for name in ("model.onnx", "tokenizer.json") if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{folder} has no {' and no '.join(missing)}", fix="give a folder with both")
    runner = session_runner(folder / "model.onnx")
    return TransformerEmbedder(f"onnx-dir:{folder.name}", folder, runner, read_recipe(folder))
