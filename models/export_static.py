"""Write float token vectors as the static model's file (format: kb/embed/staticfile.py)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from kb.embed.staticfile import HEADER, MAGIC, ZERO, aligned

MAX_WEIGHT = 2**11 - 1  # the bound that keeps sums exact, see kb/embed/static.py
MAX_BYTE = 127


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (u16) and rows (u8) such that weight * (row - 128) is proportional to the vectors."""
    largest = np.abs(vectors).max(axis=1)
    step = largest.max() / (MAX_BYTE * MAX_WEIGHT)
    weights = np.maximum(np.ceil(largest / (MAX_BYTE * step)), 1).clip(max=MAX_WEIGHT)
    levels = np.rint(vectors / (weights[:, None] * step)).clip(-MAX_BYTE, MAX_BYTE)
    return weights.astype("<u2"), (levels + ZERO).astype(np.uint8)


def write(path: Path, tokens: list[str], vectors: np.ndarray) -> None:
    order = sorted(range(len(tokens)), key=lambda index: tokens[index].encode())
    names = [tokens[index].encode() for index in order]
    weights, rows = quantise(vectors[order])
    offsets = np.cumsum([0, *map(len, names)]).astype("<u4")
    body = bytearray(aligned(HEADER.size))
    for part in (offsets.tobytes(), b"".join(names), weights.tobytes(), rows.tobytes()):
        body.extend(bytes(aligned(len(body)) - len(body)))
        body.extend(part)
    sizes = (len(names), rows.shape[1], int(offsets[-1]), 0)
    HEADER.pack_into(body, 0, MAGIC, bytes(32), *sizes)
    digest = hashlib.sha256(bytes(body)).digest()
    HEADER.pack_into(body, 0, MAGIC, digest, *sizes)
    path.write_bytes(body)
