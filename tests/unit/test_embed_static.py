"""The static model: the same bytes on every path, and a tokenizer that agrees with BERT's where it means to."""

from __future__ import annotations

import hashlib
import math
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kb.embed import static, staticfile
from kb.embed.static import MODEL, StaticEmbedder, WordRows
from kb.embed.wordpiece import LONGEST_WORD, MAX_TOKENS, pieces, words

TEXTS = [
    "How do I install git on Ubuntu?",
    "def writeBoolean(self, n): return self.stream.write(n)",
    "",
    "  \n\t ",
    "naïve café — Straße, Ωmega",
    "설치 방법 안내",
    "word " * 2000,
    "a",
    "\ud800 lone surrogate",
    "x" * 500,
    "PostgreSQL JavaScript GitHub HTTPServer2Go",
]


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder(use_numpy=False)


def floats(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(left: bytes, right: bytes) -> float:
    return sum(a * b for a, b in zip(floats(left), floats(right), strict=True))


def test_numpy_and_pure_python_give_the_same_bytes(embedder: StaticEmbedder) -> None:
    pytest.importorskip("numpy")
    expected = embedder.embed_passages(TEXTS * 30)
    assert StaticEmbedder(use_numpy=True).embed_passages(TEXTS * 30) == expected
    assert StaticEmbedder().embed_passages(TEXTS * 30) == expected


def test_a_text_alone_and_among_others_is_the_same(embedder: StaticEmbedder) -> None:
    together = embedder.embed_passages(TEXTS)
    assert together == [embedder.embed_query(text) for text in TEXTS]
    assert together == [StaticEmbedder().embed_passages([text])[0] for text in TEXTS]


def test_vectors_are_of_unit_length_or_zero(embedder: StaticEmbedder) -> None:
    for text, vector in zip(TEXTS, embedder.embed_passages(TEXTS), strict=True):
        length = math.sqrt(sum(component**2 for component in floats(vector)))
        known = any(char.isascii() and char.isalnum() for char in text) and len(text) != 500
        assert length == pytest.approx(1.0 if known else 0.0, abs=1e-5), text


def test_same_bytes_in_every_process() -> None:
    code = (
        "import sys; from kb.embed.static import StaticEmbedder;"
        "v = StaticEmbedder().embed_query('how to install git');"
        "assert 'numpy' not in sys.modules; print(v.hex())"
    )
    source = str(Path(static.__file__).parents[2])
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": source, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(answers) == 1


def test_it_knows_what_belongs_together(embedder: StaticEmbedder) -> None:
    query = embedder.embed_query("how to install git")
    near, far = embedder.embed_passages(["Setting up git on your computer", "The chemistry of ocean water"])
    assert cosine(query, near) > cosine(query, far) + 0.2


def test_case_and_accents_do_not_matter(embedder: StaticEmbedder) -> None:
    assert embedder.embed_query("CAFÉ Installation") == embedder.embed_query("cafe installation")


def test_word_order_and_punctuation_do_not_matter(embedder: StaticEmbedder) -> None:
    assert embedder.embed_query("git, install!") == embedder.embed_query("install git")


def test_texts_beyond_the_limit_are_cut(embedder: StaticEmbedder) -> None:
    start = "git " * MAX_TOKENS
    assert embedder.embed_query(start + "ocean " * 500) == embedder.embed_query(start)


def test_the_model_says_what_it_is(embedder: StaticEmbedder) -> None:
    info = embedder.info
    assert (info.id, info.dimension, info.scripts, info.remote) == ("static", 256, ("latin",), False)
    assert len(info.revision) == 12


def test_the_revision_is_the_hash_of_the_file(embedder: StaticEmbedder) -> None:
    blob = bytearray(MODEL.read_bytes())
    assert len(blob) <= 10_000_000
    blob[8:40] = bytes(32)
    assert hashlib.sha256(blob).hexdigest()[:12] == embedder.info.revision


def test_the_vocabulary_is_sorted_and_found() -> None:
    file = staticfile.read(MODEL)
    tokens = [file.token(row) for row in range(file.count)]
    assert tokens == sorted(set(tokens))
    assert [file.find(token.decode()) for token in tokens[::97]] == list(range(file.count))[::97]
    assert file.find("") == file.find("zzzzzz") == file.find("\uffff") == -1


@pytest.mark.parametrize("blob", [b"", b"kbstatic", b"x" * 4096], ids=["empty", "short", "other"])
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, blob: bytes) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(blob)
    with pytest.raises(ValueError):
        staticfile.read(path)


def test_a_model_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(MODEL.read_bytes()[:-1])
    with pytest.raises(ValueError, match="not a static model"):
        staticfile.read(path)


def test_pieces_agree_with_bert_on_plain_words() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = MODEL.parent / "minilm" / "tokenizer.json"
    if not path.exists():
        pytest.skip("this build has no minilm")
    bert = tokenizers.Tokenizer.from_file(str(path))
    bert.no_padding()
    file = staticfile.read(MODEL)
    text = "installing kubernetes unbelievably tokenization naïve café postgresql 2026 utf8 zürich ångström"
    shared = bert.get_vocab()  # the model's own whole words left out
    found = [pieces(word, lambda token: file.find(token) if token in shared else -1) for word in words(text)]
    ours = [file.token(row).decode() for rows in found for row in rows]
    assert ours == bert.encode(text, add_special_tokens=False).tokens


def test_frequent_words_are_one_token() -> None:
    file = staticfile.read(MODEL)
    for word in ("kubernetes", "json", "Async", "DataFrame"):
        assert len(pieces(word, file.find)) == 1, word


@pytest.mark.parametrize(
    ("word", "parts"),
    [("writeBoolean", ["write", "boolean"]), ("JavaScript", ["javascript"]), ("HTTPServer", ["http", "server"])],
)
def test_names_fall_into_their_words(word: str, parts: list[str]) -> None:
    known = {"write": 0, "boolean": 1, "javascript": 2, "java": 3, "script": 4, "http": 5, "server": 6}
    assert pieces(word, lambda token: known.get(token, -1)) == tuple(known[part] for part in parts)


def test_endless_words_are_left_out() -> None:
    assert pieces("a" * (LONGEST_WORD + 1), lambda token: 0) == ()


def test_the_word_cache_is_bounded() -> None:
    rows = WordRows(staticfile.read(MODEL), most=10)
    found = {word: rows[word] for word in (f"word{number}" for number in range(50))}
    assert len(rows) <= 10
    assert found == {word: rows[word] for word in found}
    rows.expect_many()
    rows.clear()
    assert found == {word: rows[word] for word in found}
