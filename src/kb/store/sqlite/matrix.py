"""All vectors as one matrix in memory: a product, then the best of it. Only here is numpy needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


class Matrix:
    """The vectors of one revision, by ascending row number."""

    def __init__(self, blocks: Iterable[tuple[bytes, bytes, bytes]], dimension: int) -> None:
        numbers, rows = [np.empty(0, np.int64)], [np.empty((0, dimension), np.float32)]
        for validity, rowids, vectors in blocks:
            used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little").view(np.bool_)
            numbers.append(np.frombuffer(rowids, "<i8")[used])
            rows.append(np.frombuffer(vectors, "<f4").reshape(-1, dimension)[used])
        self._numbers = np.concatenate(numbers)
        self._rows = np.concatenate(rows)
        if np.any(np.diff(self._numbers) < 0):
            order = np.argsort(self._numbers)
            self._numbers, self._rows = self._numbers[order], self._rows[order]

    def nearest(self, query: bytes, rows: int, allowed: Sequence[int] | None) -> list[tuple[int, float]]:
        """Row numbers and cosines, best first, of those allowed (None: all)."""
        wanted = np.frombuffer(query, "<f4")
        numbers = self._numbers
        if allowed is None:
            scores = self._rows @ wanted
        else:
            places = self._places(allowed)
            numbers = numbers[places]
            few = len(places) * 4 < len(self._rows)  # copying a quarter of the rows costs as much as all products
            scores = self._rows[places] @ wanted if few else (self._rows @ wanted)[places]
        rows = min(rows, len(scores))
        if rows < len(scores):
            best = np.argpartition(-scores, rows - 1)[:rows] if rows else np.empty(0, np.int64)
            numbers, scores = numbers[best], scores[best]
        order = np.argsort(-scores, kind="stable")
        return list(zip(numbers[order].tolist(), scores[order].tolist(), strict=True))

    def _places(self, allowed: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        wanted = np.array(sorted(allowed), np.int64)
        places = np.searchsorted(self._numbers, wanted)
        inside = places < len(self._numbers)
        places, wanted = places[inside], wanted[inside]
        return places[self._numbers[places] == wanted]
