"""A cross-encoder of the user's own, run by ONNX Runtime."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from kb.config import RerankSettings
from kb.errors import RerankFailed, UsageError
from kb.protocols import Reranker
from kb.rerank import registry

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from tests import crossencoder

LATER = 10.0


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return crossencoder.write(tmp_path / "mine")


def load(folder: Path) -> Reranker:
    return registry.load(RerankSettings(model=f"onnx-dir:{folder}"))


def test_query_and_text_are_read_together(folder: Path) -> None:
    texts = ["apple pie and cream", "the history of git", "", "pear pie"]
    found = load(folder).rerank("apple pie", texts, time.monotonic() + LATER)
    assert found == pytest.approx([sigmoid(shared - 2.5) for shared in (2, 0, 0, 1)])


def test_a_pair_alone_and_among_others_is_the_same(folder: Path) -> None:
    reranker = load(folder)
    texts = [f"apple {'pie ' * n}" for n in range(9)] + ["\ud800 odd \x00 signs"]
    together = reranker.rerank("apple pie", texts, time.monotonic() + LATER)
    assert together == [reranker.rerank("apple pie", [text], time.monotonic() + LATER)[0] for text in texts]


def test_past_the_deadline_the_rest_is_left(folder: Path) -> None:
    assert load(folder).rerank("apple", ["apple"] * 5, time.monotonic() - 1) == []
    some = load(folder).rerank("apple", ["apple " * 400] * 4000, time.monotonic() + 0.05)
    assert len(some) < 4000


def test_long_pairs_are_cut_at_the_models_limit(folder: Path) -> None:
    (folder / "kb.json").write_text('{"max_tokens": 16}')
    long, longer = load(folder).rerank("apple", ["pear " * 40 + "apple", "pear " * 50], time.monotonic() + LATER)
    assert long == longer


def test_it_says_what_it_is(folder: Path) -> None:
    label = load(folder).label
    (folder / "kb.json").write_text('{"max_tokens": 64}')
    assert label.startswith("onnx-dir:mine@")
    assert load(folder).label != label


@pytest.mark.parametrize("model", ["onnx-dir", "cohere:x", "http", "onnx-dir:"])
def test_a_name_that_means_nothing(model: str) -> None:
    with pytest.raises(UsageError, match="no reranker") as caught:
        registry.load(RerankSettings(model=model))
    assert "onnx-dir:PATH" in caught.value.fix


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"model\.onnx and no tokenizer\.json"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.onnx", b"not a model"),
        ("tokenizer.json", b"{}"),
        ("kb.json", b"[]"),
        ("kb.json", b'{"max_tokens": "many"}'),
        ("kb.json", b'{"max_tokens": 2}'),
    ],
)
def test_broken_files_are_one_error(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(RerankFailed):
        load(folder)


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    from kb.embed.minilm import FOLDER

    if not (FOLDER / "model.onnx").exists():
        pytest.skip("this build ships without minilm")
    with pytest.raises(RerankFailed, match="numbers"):
        load(FOLDER).rerank("apple", ["apple pie"], time.monotonic() + LATER)
