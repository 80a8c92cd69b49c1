"""Transformers: the shipped one on both runtimes, and folders that users bring."""

from __future__ import annotations

import json
import math
import shutil
import struct
from pathlib import Path

import pytest

from kb.config import EmbedSettings
from kb.embed import registry
from kb.embed.onnx import Recipe, TransformerEmbedder, read_recipe
from kb.errors import EmbedderFailed, UsageError

np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from kb.embed.minilm import FOLDER, numpy_runner  # noqa: E402

if not (FOLDER / "model.onnx").exists():
    pytest.skip("this build ships without minilm", allow_module_level=True)

TEXTS = [
    "How do I install git on Ubuntu?",
    "def add(left, right):\n    return left + right",
    "Kubernetes schedules pods onto nodes. " * 8,
    "naïve café, 한국어",
    "",
    "\ud800 lone surrogate",
]


@pytest.fixture(scope="module")
def minilm() -> TransformerEmbedder:
    embedder = registry.load("minilm", EmbedSettings())
    assert isinstance(embedder, TransformerEmbedder)
    return embedder


def cosine(left: bytes, right: bytes) -> float:
    pairs = zip(struct.iter_unpack("<f", left), struct.iter_unpack("<f", right), strict=True)
    return sum(a * b for (a,), (b,) in pairs)


def test_it_says_what_it_is(minilm: TransformerEmbedder) -> None:
    info = minilm.info
    assert (info.id, info.dimension, info.scripts) == ("minilm", 384, ("latin",))
    assert len(info.revision) == 12


def test_vectors_are_of_unit_length_or_zero(minilm: TransformerEmbedder) -> None:
    for text, vector in zip(TEXTS, minilm.embed_passages(TEXTS), strict=True):
        assert math.sqrt(cosine(vector, vector)) == pytest.approx(1.0 if text else 0.0, abs=1e-5)


def test_a_text_alone_and_among_others_is_the_same(minilm: TransformerEmbedder) -> None:
    assert minilm.embed_passages(TEXTS) == [minilm.embed_query(text) for text in TEXTS]


def test_it_knows_what_belongs_together(minilm: TransformerEmbedder) -> None:
    query = minilm.embed_query("how to install git")
    near, far = minilm.embed_passages(["Setting up version control on your computer", "The chemistry of ocean water"])
    assert cosine(query, near) > cosine(query, far) + 0.2


def test_long_texts_are_cut_at_the_models_limit(minilm: TransformerEmbedder) -> None:
    assert minilm.embed_query("git " * 400) == minilm.embed_query("git " * 4000)


def test_numpy_alone_gives_nearly_the_same_vectors(minilm: TransformerEmbedder) -> None:
    """The fallback skips the rounding of activations to int8, hence not the same bytes."""
    fallback = TransformerEmbedder("minilm", FOLDER, numpy_runner(FOLDER / "model.onnx"), read_recipe(FOLDER))
    assert fallback.info == minilm.info
    cosines = [
        cosine(ours, theirs)
        for ours, theirs in zip(fallback.embed_passages(TEXTS[:4]), minilm.embed_passages(TEXTS[:4]), strict=True)
    ]
    assert min(cosines) >= 0.99


def test_a_users_folder(tmp_path: Path, minilm: TransformerEmbedder) -> None:
    folder = copy_of_minilm(tmp_path)
    (folder / "kb.json").write_text(json.dumps({"query_prefix": "query: ", "passage_prefix": "passage: "}))
    embedder = registry.load(f"onnx-dir:{folder}", EmbedSettings())
    assert embedder is not None
    assert (embedder.info.id, embedder.info.dimension) == ("onnx-dir:mine", 384)
    assert embedder.info.revision != minilm.info.revision
    assert embedder.embed_query("git") == minilm.embed_query("query: git")
    assert embedder.embed_passages(["git"]) == [minilm.embed_query("passage: git")]
    assert not any(embedder.embed_query(" "))


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"model\.onnx and no tokenizer\.json"):
        registry.load(f"onnx-dir:{tmp_path}", EmbedSettings())


def test_a_broken_model_is_one_error(tmp_path: Path) -> None:
    folder = copy_of_minilm(tmp_path)
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbedderFailed, match="cannot load"):
        registry.load(f"onnx-dir:{folder}", EmbedSettings())


def test_a_broken_tokenizer_is_one_error(tmp_path: Path) -> None:
    folder = copy_of_minilm(tmp_path)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderFailed, match="tokenizer"):
        registry.load(f"onnx-dir:{folder}", EmbedSettings())


@pytest.mark.parametrize(
    "text", ["not json", "[]", '{"pooling": "magic"}', '{"max_tokens": "many"}', '{"max_tokens": 0}', '{"scripts": 1}']
)
def test_a_broken_recipe_is_one_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "kb.json").write_text(text)
    with pytest.raises(EmbedderFailed):
        read_recipe(tmp_path)


def test_a_recipe_is_optional(tmp_path: Path) -> None:
    assert read_recipe(tmp_path) == Recipe()


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_poolings(tmp_path: Path, pooling: str) -> None:
    folder = copy_of_minilm(tmp_path)
    (folder / "kb.json").write_text(json.dumps({"pooling": pooling}))

    def rows(ids: object) -> object:
        return np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])

    vector = struct.unpack("<2f", TransformerEmbedder("x", folder, rows, read_recipe(folder)).embed_query("a"))
    expected = {"mean": (0.5**0.5, 0.5**0.5), "cls": (1.0, 0.0), "last": (0.0, 1.0)}[pooling]
    assert vector == pytest.approx(expected)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(EmbedderFailed, match="finite"):
        TransformerEmbedder("x", FOLDER, lambda ids: np.array([value, 1.0]), Recipe())


def copy_of_minilm(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(FOLDER / "model.onnx")
    shutil.copy(FOLDER / "tokenizer.json", folder)
    return folder
