"""Cross-encoders in ONNX form: a folder with model.onnx (one logit) and tokenizer.json, and kb.json {"max_tokens": 512}.

The query and a text go through the model as one pair, so that each word sees the other's. One pair at a time, spread over
threads; when the time is up, those that were read count and the others are left.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kb.errors import RerankFailed, UsageError
from kb.transformer import MOST_THREADS, cores, open_model, open_tokenizer, revision

if TYPE_CHECKING:
    from kb.config import RerankSettings

MAX_TOKENS = 512  # of query and text together: what cross-encoders are trained with


class CrossEncoder:
    """Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._model = open_model(folder / "model.onnx", RerankFailed)
        self._tokenizer = open_tokenizer(folder, max_tokens(folder), RerankFailed)
        self._label = f"onnx-dir:{folder.name}@{revision(folder)}"

    @property
    def label(self) -> str:
        return self._label

    def rerank(self, query: str, texts: Sequence[str], deadline: float) -> list[float]:
        from concurrent.futures import ThreadPoolExecutor

        threads = max(1, min(len(texts), cores(), MOST_THREADS))
        found: list[float] = []
        with ThreadPoolExecutor(threads) as workers:
            for start in range(0, len(texts), threads):
                if time.monotonic() >= deadline:
                    break
                found += workers.map(lambda text: self._opinion(query, text), texts[start : start + threads])
        return found

    def _opinion(self, query: str, text: str) -> float:
        encoded = self._tokenizer.encode(_clean(query), _clean(text))
        try:
            output = self._model(encoded.ids, encoded.type_ids).reshape(-1)
        except Exception as cause:  # a native runtime raises its own kinds
            raise RerankFailed(f"the reranker could not read a pair of {len(encoded.ids)} tokens: {cause}") from cause
        if len(output) != 1 or not math.isfinite(float(output[0])):
            raise RerankFailed(f"the reranker gave {len(output)} numbers or one that is not finite", fix="one logit")
        return sigmoid(float(output[0]))


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def max_tokens(folder: Path) -> int:
    path = folder / "kb.json"
    if not path.exists():
        return MAX_TOKENS
    try:
        found = int(json.loads(path.read_text(encoding="utf-8")).get("max_tokens", MAX_TOKENS))
    except (ValueError, TypeError, AttributeError, OSError) as cause:
        raise RerankFailed(f"cannot read {path}: {cause}", fix="see docs: onnx-dir") from cause
    if found < 8:
        raise RerankFailed(f"{path} leaves {found} tokens for query and text", fix='{"max_tokens": 512}')
    return found


def create(argument: str, settings: RerankSettings) -> CrossEncoder:
    folder = Path(argument).expanduser()
    missing = [name for name in ("model.onnx", "tokenizer.json") if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{folder} has no {' and no '.join(missing)}", fix="give a folder with both")
    return CrossEncoder(folder)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
