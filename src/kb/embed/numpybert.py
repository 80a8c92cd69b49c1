"""BERT's forward pass in numpy: the fallback of minilm where ONNX Runtime has no wheel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kb.embed.onnxweights import Array, read

HEADS = 12
EPSILON = 1e-12


class Bert:
    """Callable on the token ids of one text; gives its hidden states."""

    def __init__(self, path: Path) -> None:
        self._weights = read(path)
        self._layers = 1 + max(int(name.split(".")[2]) for name in self._weights if name.startswith("encoder.layer."))

    def __call__(self, ids: Sequence[int]) -> Array:
        weights = self._weights
        state = weights["embeddings.word_embeddings.weight"][list(ids)]
        state = state + weights["embeddings.position_embeddings.weight"][: len(ids)]
        state = self._norm(state + weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for index in range(self._layers):
            layer = f"encoder.layer.{index}"
            state = self._project(self._attention(state, layer), state, f"{layer}.attention.output")
            wide = gelu(self._linear(state, f"{layer}.intermediate.dense"))
            state = self._project(wide, state, f"{layer}.output")
        return state

    def _linear(self, state: Array, name: str) -> Array:
        product: Array = state @ self._weights[f"{name}.weight"]
        return product + self._weights[f"{name}.bias"]

    def _project(self, state: Array, skip: Array, name: str) -> Array:
        return self._norm(self._linear(state, f"{name}.dense") + skip, name)

    def _norm(self, state: Array, name: str) -> Array:
        centred = state - state.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        normed: Array = scaled * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]
        return normed

    def _attention(self, state: Array, layer: str) -> Array:
        tokens, width = state.shape
        merged = self._linear(state, f"{layer}.qkv").reshape(tokens, 3, HEADS, width // HEADS)
        query, key, value = merged.transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // HEADS)
        chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
        chances /= chances.sum(axis=-1, keepdims=True)
        context: Array = (chances @ value).transpose(1, 0, 2).reshape(tokens, width)
        return context


def gelu(values: Array) -> Array:
    """x * normal CDF(x), with erf after Abramowitz and Stegun 7.1.26 (error 1.5e-7): numpy has none."""
    size = np.abs(values) / math.sqrt(2)
    slope = 1 / (1 + 0.3275911 * size)
    series = slope * (
        0.254829592 + slope * (-0.284496736 + slope * (1.421413741 + slope * (-1.453152027 + slope * 1.061405429)))
    )
    erf = np.sign(values) * (1 - series * np.exp(-size * size))
    result: Array = values * 0.5 * (1 + erf)
    return result
