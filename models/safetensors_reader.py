"""Read float32 tensors from a .safetensors file with numpy alone."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

Tensors = dict[str, np.ndarray]


def read(path: Path) -> Tensors:
    """All the float32 tensors of the file, by name."""
    blob = path.read_bytes()
    (header_size,) = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8 : 8 + header_size])
    base = 8 + header_size
    tensors: Tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, stop = entry["data_offsets"]
        flat = np.frombuffer(blob, dtype="<f4", count=(stop - start) // 4, offset=base + start)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
