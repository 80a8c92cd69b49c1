"""Embedders for tests, shipped for users and backend authors: no model, no download, the same bytes everywhere.

HashingEmbedder is a real embedder of words and their three-letter pieces: texts that share words are near each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from kb.embed.vectors import unit
from kb.errors import EmbedderFailed, UsageError
from kb.types import ModelInfo, Vector

if TYPE_CHECKING:
    from kb.config import EmbedSettings
    from kb.protocols import Embedder

DIMENSION = 64
LARGEST = 4096
WORD_WEIGHT = 4  # a whole word counts as much as its pieces do together, more or less

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Each word and each of its trigrams adds to one component that its hash picks."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        if not 1 <= dimension <= LARGEST:
            raise UsageError(f"a dimension of {dimension} is outside 1..{LARGEST}", fix=f"use 'hashing:{DIMENSION}'")
        self._info = ModelInfo(f"hashing:{dimension}", f"{crc32(b'hashing-1'):012x}", dimension)

    @property
    def info(self) -> ModelInfo:
        return self._info

    def embed_query(self, text: str) -> Vector:
        return self._embed(text)

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> Vector:
        components = [0] * self._info.dimension
        for word in _WORD.findall(text.lower()):
            self._add(components, word, WORD_WEIGHT)
            framed = f"<{word}>"
            for start in range(len(framed) - 2):
                self._add(components, framed[start : start + 3], 1)
        return unit(components)

    def _add(self, components: list[int], feature: str, weight: int) -> None:
        digest = crc32(feature.encode("utf-8", "surrogatepass"))
        components[(digest >> 1) % len(components)] += weight if digest & 1 else -weight


class CountingEmbedder:
    """Passes everything on and remembers what it was asked for."""

    def __init__(self, inner: Embedder | None = None) -> None:
        self._inner: Embedder = inner or HashingEmbedder()
        self.queries: list[str] = []
        self.passages: list[str] = []

    @property
    def info(self) -> ModelInfo:
        return self._inner.info

    def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        return self._inner.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.passages.extend(texts)
        return self._inner.embed_passages(texts)


class FailingEmbedder:
    """Raises EmbedderFailed whenever it is called. `info` is given, so that it can stand in for a model in use."""

    def __init__(self, info: ModelInfo | None = None, *, message: str = "the embedder was made to fail") -> None:
        self._info = info or HashingEmbedder().info
        self._message = message

    @property
    def info(self) -> ModelInfo:
        return self._info

    def embed_query(self, text: str) -> Vector:
        raise EmbedderFailed(self._message)

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbedderFailed(self._message)


def create(argument: str, settings: EmbedSettings) -> HashingEmbedder:
    if not argument:
        return HashingEmbedder(settings.dimension or DIMENSION)
    if not (argument.isascii() and argument.isdigit()):
        raise UsageError(f"{argument!r} is not a number of dimensions", fix=f"use 'hashing:{DIMENSION}'")
    return HashingEmbedder(int(argument))
