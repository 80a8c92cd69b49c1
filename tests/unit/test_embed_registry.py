"""Specs to embedders, and the embedders that ship for tests."""

from __future__ import annotations

import struct
import sys

import pytest

from kb.config import EmbedSettings
from kb.embed import registry
from kb.embed.hashing import CountingEmbedder, FailingEmbedder, HashingEmbedder
from kb.errors import EmbedderFailed, MissingExtra, UsageError


def cosine(left: bytes, right: bytes) -> float:
    pairs = zip(struct.unpack("<64f", left), struct.unpack("<64f", right), strict=True)
    return sum(a * b for a, b in pairs)


def test_static_is_there_without_settings() -> None:
    embedder = registry.load("static")
    assert embedder is not None
    assert embedder.info.id == "static"


def test_none_is_no_embedder() -> None:
    assert registry.load("none") is None


@pytest.mark.parametrize(("spec", "dimension"), [("hashing", 64), ("hashing:32", 32)])
def test_hashing_by_spec(spec: str, dimension: int) -> None:
    embedder = registry.load(spec, EmbedSettings())
    assert embedder is not None
    assert embedder.info.dimension == dimension
    assert len(embedder.embed_query("hello")) == 4 * dimension


@pytest.mark.parametrize(
    "spec", ["", "magic", "static:x", "none:x", "openai", "openai:", "onnx-dir:", "hashing:x", "hashing:0"]
)
def test_a_spec_that_means_nothing_says_what_would(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.load(spec)
    assert caught.value.fix


def test_a_remote_model_is_not_called_by_loading_it() -> None:
    settings = EmbedSettings(base_url="http://127.0.0.1:9/v1", dimension=8)
    embedder = registry.load("openai:some-model", settings)
    assert embedder is not None
    assert (embedder.info.id, embedder.info.remote) == ("openai:some-model", True)


def test_missing_packages_name_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("onnxruntime", "tokenizers", "numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("kb.embed.numpybert", "kb.embed.onnxweights"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingExtra) as caught:
        registry.load("minilm")
    assert caught.value.fix == "pip install 'kb-search[minilm]'"


def test_static_works_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = registry.load("static").embed_passages(["one", "two"] * 200)  # type: ignore[union-attr]
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "kb.embed.staticbatch", raising=False)
    assert registry.load("static").embed_passages(["one", "two"] * 200) == expected  # type: ignore[union-attr]


def test_hashing_brings_shared_words_together() -> None:
    embedder = HashingEmbedder()
    install, other = embedder.embed_passages(["git installation", "ocean water"])
    query = embedder.embed_query("install git")
    assert cosine(query, install) > cosine(query, other)
    assert cosine(query, query) == pytest.approx(1.0, abs=1e-5)


def test_hashing_reads_every_script_and_gives_zeros_for_nothing() -> None:
    embedder = HashingEmbedder()
    assert any(embedder.embed_query("설치"))
    assert not any(embedder.embed_query(" ?! "))


def test_hashing_is_pinned() -> None:
    """The same in every release: stores made in tests of others depend on it."""
    components = struct.unpack("<4f", HashingEmbedder(4).embed_query("git install"))
    assert [round(component, 4) for component in components] == [0.5, -0.1667, -0.8333, 0.1667]


def test_counting_remembers_and_passes_on() -> None:
    counting = CountingEmbedder()
    assert counting.embed_query("a") == HashingEmbedder().embed_query("a")
    assert len(counting.embed_passages(["b", "c"])) == 2
    assert (counting.queries, counting.passages) == (["a"], ["b", "c"])
    assert counting.info == HashingEmbedder().info


def test_failing_fails_and_still_has_a_name() -> None:
    failing = FailingEmbedder(HashingEmbedder(8).info)
    assert failing.info.dimension == 8
    with pytest.raises(EmbedderFailed):
        failing.embed_query("a")
    with pytest.raises(EmbedderFailed):
        failing.embed_passages(["a"])
