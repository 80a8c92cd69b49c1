"""The default embedder: a sum of token vectors, no network, no dependency.

Every sum is made of integers, so it is the same on every path and in every order: with numpy or without, one text or a
thousand. Bounds: |byte - 128| <= 128, weight < 2**11 and at most 2**9 tokens keep a component under 2**27, and a sum
of 256 squares under 2**62.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from kb.embed.staticfile import ZERO, StaticFile, read
from kb.embed.vectors import unit
from kb.embed.wordpiece import MAX_TOKENS, pieces, words
from kb.errors import EmbedderFailed
from kb.types import ModelInfo, Vector

if TYPE_CHECKING:
    from kb.config import EmbedSettings
    from kb.embed.staticbatch import Batch

MODEL = Path(__file__).parent / "data" / "static.bin"
LANE = 4  # bytes per component when a row is one long integer
CACHED_WORDS = 200_000  # about 30 MB; emptied when full
DICT_PAYS = 8  # texts: before that, looking the vocabulary up is quicker than reading it into a dict (10 ms)
NUMPY_PAYS = 200  # texts: before that, importing numpy (120 ms) costs more than it saves (0.5 ms a text)


class WordRows(dict[str, tuple[int, ...]]):
    """word -> rows of its pieces, worked out at first sight."""

    def __init__(self, file: StaticFile, most: int = CACHED_WORDS) -> None:
        super().__init__()
        self._file, self._most = file, most
        self._tokens: dict[str, int] | None = None

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= self._most:
            self.clear()
        if self._tokens is None:
            rows = pieces(word, self._file.find)
        else:
            known = self._tokens
            rows = pieces(word, lambda token: known.get(token, -1))
        self[word] = rows
        return rows

    def expect_many(self) -> None:
        """Read the vocabulary into a dict."""
        if self._tokens is None:
            file = self._file
            self._tokens = {file.token(row).decode(): row for row in range(file.count)}


class StaticEmbedder:
    """`load()`ed from a model file; safe to share between threads."""

    def __init__(self, path: Path = MODEL, *, use_numpy: bool | None = None) -> None:
        self._file = read(path)
        self._rows = WordRows(self._file)
        self._use_numpy = use_numpy
        self._passages = 0
        self._info = ModelInfo("static", self._file.revision, self._file.dimension, ("latin",))

    @property
    def info(self) -> ModelInfo:
        return self._info

    def embed_query(self, text: str) -> Vector:
        return self._embed(self._token_rows(text))

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self._passages += len(texts)
        if self._passages >= DICT_PAYS:
            self._rows.expect_many()
        token_rows = [self._token_rows(text) for text in texts]
        numpy_wanted = self._passages >= NUMPY_PAYS if self._use_numpy is None else self._use_numpy
        if numpy_wanted and self._batch is not None:
            return self._batch.embed(token_rows)
        return [self._embed(rows) for rows in token_rows]

    def _token_rows(self, text: str) -> list[int]:
        found = words(text)[:MAX_TOKENS]
        return list(chain.from_iterable(map(self._rows.__getitem__, found)))[:MAX_TOKENS]

    @cached_property
    def _batch(self) -> Batch | None:
        try:
            from kb.embed.staticbatch import Batch
        except ImportError:
            return None
        return Batch(self._file)

    def _embed(self, rows: list[int]) -> Vector:
        """All components at once: a row is one long integer with a lane of 4 bytes per component."""
        file, size = self._file, LANE * self._file.dimension
        lanes = bytearray(size)
        total = weight_sum = 0
        for row in rows:
            lanes[::LANE] = file.row(row)
            weight = file.weights[row]
            total += weight * int.from_bytes(lanes, "little")
            weight_sum += weight
        shifted = struct.unpack(f"<{file.dimension}I", total.to_bytes(size, "little"))
        return unit([component - ZERO * weight_sum for component in shifted])


def create(argument: str, settings: EmbedSettings) -> StaticEmbedder:
    try:
        return StaticEmbedder()
    except (OSError, ValueError) as cause:
        message = f"cannot read the static model: {cause}"
        raise EmbedderFailed(message, fix="pip install --force-reinstall kb-search") from cause
