"""Opening a transformer in ONNX form: its tokenizer, its weights, its identity. For embedders and rerankers alike."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from kb.errors import KBError, MissingExtra

EXTRA = "minilm"
MOST_THREADS = 4
SAMPLE = 1 << 20  # bytes at either end of a weight file that go into the revision: whole files can be gigabytes


class Model(Protocol):
    """Token ids of one text, or of a pair with the second one's marked by 1 in ``types``, to the model's first output."""

    def __call__(self, ids: Sequence[int], types: Sequence[int] = ()) -> Any: ...


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_tokenizer(folder: Path, max_tokens: int, error: type[KBError]) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as cause:
        raise MissingExtra(EXTRA) from cause
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as cause:  # the library raises plain Exception
        raise error(f"cannot read the tokenizer of {folder}: {cause}", fix="see docs: onnx-dir") from cause
    tokenizer.no_padding()  # published files often pad and cut at 128
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def open_model(path: Path, error: type[KBError]) -> Model:
    """Run a model file with ONNX Runtime, one thread per text."""
    try:
        import numpy as np
        import onnxruntime
    except ImportError as cause:
        raise MissingExtra(EXTRA) from cause
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as cause:  # onnxruntime's exceptions share no base
        raise error(f"cannot load {path}: {cause}", fix="check that it is an ONNX text encoder") from cause
    kinds = {item.name: np.int32 if "int32" in item.type else np.int64 for item in session.get_inputs()}
    if not kinds.keys() <= {"input_ids", "attention_mask", "token_type_ids"} or "input_ids" not in kinds:
        raise error(f"{path} wants the inputs {sorted(kinds)}", fix="export it as a plain text encoder")

    def run(ids: Sequence[int], types: Sequence[int] = ()) -> Any:
        fill = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types or [0] * len(ids)}
        feed = {name: np.array([fill[name]], dtype=kind) for name, kind in kinds.items()}
        return session.run(None, feed)[0][0]

    return run


def revision(folder: Path) -> str:
    """A hash of the folder's files; of long ones, their size and both ends."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.name.startswith("model.onnx") or path.name in ("tokenizer.json", "kb.json"):
            size = path.stat().st_size
            digest.update(f"{path.name}:{size}:".encode())
            with path.open("rb") as file:
                digest.update(file.read(SAMPLE))
                file.seek(max(size - SAMPLE, 0))
                digest.update(file.read(SAMPLE))
    return digest.hexdigest()[:12]
