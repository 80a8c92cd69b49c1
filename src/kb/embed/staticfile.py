"""The static model's file: a sorted vocabulary, a weight and a row of bytes per token.

    magic 8 · sha256 of the rest 32 · count, dimension, text size, zero (u32 each) · u32 offsets[count + 1]
    · tokens, UTF-8, sorted by byte · u16 weights[count] · u8 rows[count][dimension]

Each part starts at a multiple of 64. A component is `weight * (byte - 128)`; only directions matter, so there is no
scale. The file is mapped, never read whole: a query touches its own rows and a few pages of the vocabulary.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"kbstatic"
HEADER = struct.Struct("<8s32s4I")
ALIGN = 64
ZERO = 128  # the byte that stands for 0


@dataclass(frozen=True, slots=True)
class StaticFile:
    count: int
    dimension: int
    revision: str
    offsets: memoryview  # of u32
    tokens: memoryview
    weights: memoryview  # of u16
    rows: memoryview

    def token(self, row: int) -> bytes:
        return bytes(self.tokens[self.offsets[row] : self.offsets[row + 1]])

    def find(self, token: str) -> int:
        """The token's row, or -1: a bisection, which for one query beats filling a dict with the vocabulary."""
        wanted = token.encode("utf-8", "surrogatepass")
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.token(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < self.count and self.token(low) == wanted else -1

    def row(self, row: int) -> memoryview:
        start = row * self.dimension
        return self.rows[start : start + self.dimension]


def aligned(position: int) -> int:
    return -(-position // ALIGN) * ALIGN


def read(path: Path) -> StaticFile:
    """Map a model file. Raises ValueError when it is not one, or is cut short."""
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if len(view) < HEADER.size:
        raise ValueError(f"{path.name} is too short to be a static model")
    magic, digest, count, dimension, text_size, _ = HEADER.unpack_from(view)
    offsets = aligned(HEADER.size)
    tokens = aligned(offsets + 4 * (count + 1))
    weights = aligned(tokens + text_size)
    rows = aligned(weights + 2 * count)
    end = rows + count * dimension
    if magic != MAGIC or len(view) != end:
        raise ValueError(f"{path.name} is not a static model of this version")
    return StaticFile(
        count,
        dimension,
        digest.hex()[:12],
        view[offsets : offsets + 4 * (count + 1)].cast("I"),
        view[tokens : tokens + text_size],
        view[weights : weights + 2 * count].cast("H"),
        view[rows:end],
    )
