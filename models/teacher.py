"""The teacher: all-MiniLM-L6-v2, run on one core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

FOLDER = Path(__file__).parent.parent / "src" / "kb" / "embed" / "data" / "minilm"


class Teacher:
    """Unit vectors of texts, as float32 rows."""

    def __init__(self, folder: Path = FOLDER, *, max_tokens: int = 96) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(folder / "model.onnx", options)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_tokens)

    def of_ids(self, ids: Sequence[int]) -> np.ndarray:
        hidden = self._session.run(None, {"input_ids": np.array([ids], dtype=np.int32)})[0]
        pooled: np.ndarray = hidden[0].mean(axis=0)
        return pooled / np.linalg.norm(pooled)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.of_ids(item.ids) for item in self.tokenizer.encode_batch(list(texts))])
