"""Turn pairs of texts into token rows once, and choose the whole words that join the vocabulary.

PYTHONPATH=src python models/prepare.py PAIRS START.bin OUT.npz [--words N]

PAIRS is the folder that pairs.py wrote. A word that START's tokens have no row for starts as the sum of its pieces,
which is what it was before: only training tells the two apart.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from kb.embed.staticfile import ZERO, StaticFile, read
from kb.embed.wordpiece import MAX_TOKENS, pieces, words

WORDS = 9000  # what fits into ten megabytes beside the teacher's tokens
LEAST = 12  # texts that hold a word before it may join
_WORD = re.compile(r"[a-z][a-z0-9]{2,24}")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

Pairs = dict[str, list[tuple[str, str]]]


def read_pairs(folder: Path) -> Pairs:
    found: Pairs = {}
    for path in sorted(folder.glob("*.jsonl")):
        found[path.stem] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return found


def candidates(text: str) -> set[str]:
    """The words of a text as the tokeniser could look them up: whole, or the parts of a name."""
    found: set[str] = set()
    for word in words(text):
        found.add(word.lower())
        if not (word.islower() or word.isupper()):
            found.update(part.lower() for part in _CAMEL.findall(word))
    return found


def new_words(pairs: Pairs, known: dict[str, int], most: int) -> list[str]:
    """Words in most texts that are not one token yet. Kinds count by the square root of their size."""
    score: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    for listed in pairs.values():
        seen: Counter[str] = Counter()
        for pair in listed:
            seen.update(candidates(f"{pair[0]}\n{pair[1]}"))
        texts.update(seen)
        for word, count in seen.items():
            score[word] += count / math.sqrt(len(listed))
    wanted = [
        word for word, _ in score.most_common() if word not in known and texts[word] >= LEAST and _WORD.fullmatch(word)
    ]
    return sorted(wanted[:most])


def table(file: StaticFile) -> tuple[list[str], np.ndarray]:
    """The tokens and float vectors of a model file, of mean length 1."""
    tokens = [file.token(row).decode() for row in range(file.count)]
    rows = np.frombuffer(file.rows, dtype=np.uint8).reshape(file.count, file.dimension)
    vectors = np.asarray(file.weights, dtype=np.float32)[:, None] * (rows.astype(np.float32) - ZERO)
    return tokens, (vectors / np.linalg.norm(vectors, axis=1).mean()).astype(np.float32)


def grown(tokens: list[str], vectors: np.ndarray, added: list[str]) -> tuple[list[str], np.ndarray]:
    known = {token: row for row, token in enumerate(tokens)}
    find: Callable[[str], int] = lambda token: known.get(token, -1)  # noqa: E731
    sums = [vectors[list(pieces(word, find))].sum(axis=0) for word in added]
    return tokens + added, np.concatenate([vectors, np.array(sums, dtype=np.float32).reshape(-1, vectors.shape[1])])


def token_rows(texts: Iterator[str], known: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all texts end to end, and where each text starts."""
    cache: dict[str, tuple[int, ...]] = {}
    rows, lengths = [], [0]
    for text in texts:
        for word in (listed := words(text)):
            if word not in cache:
                cache[word] = pieces(word, lambda token: known.get(token, -1))
        found = list(chain.from_iterable(map(cache.__getitem__, listed)))[:MAX_TOKENS]
        rows.append(np.array(found, dtype=np.int32))
        lengths.append(len(found))
    return np.concatenate(rows), np.cumsum(lengths)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("pairs", "start", "target"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--words", type=int, default=WORDS)
    options = parser.parse_args()
    pairs = read_pairs(options.pairs)
    tokens, vectors = table(read(options.start))
    added = new_words(pairs, {token: row for row, token in enumerate(tokens)}, options.words)
    tokens, vectors = grown(tokens, vectors, added)
    known = {token: row for row, token in enumerate(tokens)}
    kinds = np.repeat(np.arange(len(pairs)), [len(listed) for listed in pairs.values()])
    sides = [token_rows((pair[side] for listed in pairs.values() for pair in listed), known) for side in (0, 1)]
    np.savez(
        options.target,
        names=list(pairs),
        tokens=tokens,
        vectors=vectors,
        kinds=kinds,
        **{
            f"{part}{side}": array
            for side in (0, 1)
            for part, array in zip(("rows", "starts"), sides[side], strict=True)
        },
    )
    print(len(added), "words added,", len(kinds), "pairs,", len(sides[1][0]), "tokens in the longer texts", flush=True)


if __name__ == "__main__":
    main()
