"""Just enough protobuf to read the weights out of an ONNX file, for machines without ONNX Runtime.

ModelProto.graph is field 7, GraphProto.initializer field 5; a TensorProto has dims 1, data_type 2, name 8, raw_data 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

GRAPH, INITIALIZER = 7, 5
DIMS, DATA_TYPE, NAME, RAW_DATA = 1, 2, 8, 9
DTYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8"}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Array = np.ndarray[Any, np.dtype[Any]]


def read(path: Path) -> dict[str, Array]:
    """Weights by name, with the quantised ones turned back into float32."""
    raw = dict(_tensors(memoryview(path.read_bytes())))
    suffix = "_quantized"
    weights = {name: array for name, array in raw.items() if array.dtype == np.float32}
    for name, array in raw.items():
        if name.endswith(suffix):
            plain = name.removesuffix(suffix)
            zero = raw[f"{plain}_zero_point"].astype(np.float32)
            weights[plain] = (array.astype(np.float32) - zero) * raw[f"{plain}_scale"]
    return weights


def _tensors(model: memoryview) -> Iterator[tuple[str, Array]]:
    for field, graph in _fields(model):
        if field == GRAPH and isinstance(graph, memoryview):
            for inner, tensor in _fields(graph):
                if inner == INITIALIZER and isinstance(tensor, memoryview):
                    yield _tensor(tensor)


def _tensor(message: memoryview) -> tuple[str, Array]:
    shape: list[int] = []
    name, dtype, data = "", "<f4", memoryview(b"")
    for field, value in _fields(message):
        if field == DIMS:
            shape.extend(_packed(value) if isinstance(value, memoryview) else [value])
        elif field == DATA_TYPE and isinstance(value, int):
            dtype = DTYPES[value]
        elif field == NAME and isinstance(value, memoryview):
            name = bytes(value).decode()
        elif field == RAW_DATA and isinstance(value, memoryview):
            data = value
    return name, np.frombuffer(data, dtype=dtype).reshape(shape)


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        kind = key & 7
        if kind == VARINT:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, position = _varint(message, position)
        else:
            size = {FIXED64: 8, FIXED32: 4}[kind]
        yield key >> 3, message[position : position + size]
        position += size


def _packed(values: memoryview) -> Iterator[int]:
    position = 0
    while position < len(values):
        value, position = _varint(values, position)
        yield value


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        value |= (byte & 127) << shift
        position += 1
        if byte < 128:
            return value, position
        shift += 7
