"""Many static vectors at once, with numpy: the same integers, hence the same bytes, as one at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kb.embed.staticfile import ZERO, StaticFile

TEXTS_AT_ONCE = 256  # normalised together; the sums are made text by text, which the processor's cache likes best


class Batch:
    """Imported only when numpy is there. Holds the model's table as 32-bit integers, 30 MB."""

    def __init__(self, file: StaticFile) -> None:
        shape = (file.count, file.dimension)
        weights = np.frombuffer(file.weights, dtype="<u2").astype(np.int32)
        table = np.frombuffer(file.rows, dtype=np.uint8).reshape(shape).astype(np.int32)
        table -= ZERO
        table *= weights[:, None]
        self._table = table

    def embed(self, texts: Sequence[list[int]]) -> list[bytes]:
        vectors: list[bytes] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            vectors.extend(self._embed(texts[start : start + TEXTS_AT_ONCE]))
        return vectors

    def _embed(self, texts: Sequence[list[int]]) -> list[bytes]:
        sums = np.zeros((len(texts), self._table.shape[1]), dtype=np.int64)
        for index, rows in enumerate(texts):
            if not rows:
                continue
            sums[index] = np.add.reduce(self._table[rows], axis=0, dtype=np.int32)
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums).astype(np.float64))
        norms[norms == 0] = 1.0
        unit = (sums / norms[:, None]).astype("<f4")
        return [row.tobytes() for row in unit]
