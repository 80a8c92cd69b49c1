"""A real, tiny cross-encoder: a folder with model.onnx and tokenizer.json, written without any package for ONNX.

Its logit is the number of words that query and text share, less 2.5: no part of it can be known from either alone.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

VOCABULARY = (
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"apple pear plum cherry pie cream sugar git install history of the a and".split(),
)
FLOAT, INT64 = 1, 7


def write(folder: Path) -> Path:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(VOCABULARY)}, "[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(model())
    return folder


def model() -> bytes:
    """Each token of the text counts how many tokens of the query are the same; [UNK] counts for nothing."""
    nodes = (
        _node("Transpose", ["input_ids"], "column"),
        _node("Equal", ["input_ids", "column"], "same"),
        _node("Cast", ["same"], "same_f", _attribute("to", FLOAT)),
        _node("Cast", ["token_type_ids"], "types", _attribute("to", FLOAT)),
        _node("Cast", ["attention_mask"], "mask", _attribute("to", FLOAT)),
        _node("Cast", ["input_ids"], "ids_f", _attribute("to", FLOAT)),
        _node("Min", ["ids_f", "one"], "known"),  # [UNK] is 0
        _node("Sub", ["one", "types"], "query"),
        _node("MatMul", ["query", "same_f"], "counts"),
        _node("Mul", ["counts", "types"], "of_text"),
        _node("Mul", ["of_text", "mask"], "seen"),
        _node("Mul", ["seen", "known"], "words"),
        _node("ReduceSum", ["words", "axis"], "total"),
        _node("Sub", ["total", "least"], "logits"),
    )
    graph = b"".join(_part(1, node) for node in nodes) + _part(2, b"shared words")
    graph += _part(5, _tensor("one", FLOAT, [], struct.pack("<f", 1.0)))
    graph += _part(5, _tensor("least", FLOAT, [], struct.pack("<f", 3.5)))  # the last [SEP] is one that is shared
    graph += _part(5, _tensor("axis", INT64, [1], struct.pack("<q", 1)))
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph += _part(11, _value(name, INT64, [_number(1, 1), _part(2, b"n")]))
    graph += _part(12, _value("logits", FLOAT, [_number(1, 1), _number(1, 1)]))
    return _number(1, 8) + _part(8, _number(2, 13)) + _part(7, graph)


def _node(operator: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> bytes:
    named = b"".join(_part(1, name.encode()) for name in inputs) + _part(2, output.encode())
    return named + _part(4, operator.encode()) + (_part(5, attribute) if attribute else b"")


def _attribute(name: str, number: int) -> bytes:
    return _part(1, name.encode()) + _number(3, number) + _number(20, 2)


def _tensor(name: str, kind: int, shape: Sequence[int], raw: bytes) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _part(8, name.encode()) + _part(9, raw)


def _value(name: str, kind: int, sizes: Sequence[bytes]) -> bytes:
    shape = b"".join(_part(1, size) for size in sizes)
    return _part(1, name.encode()) + _part(2, _part(1, _number(1, kind) + _part(2, shape)))


def _part(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
