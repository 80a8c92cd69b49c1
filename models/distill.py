"""The plain static model: every token through the teacher, PCA to 256, weighted by rarity.

PYTHONPATH=src python models/distill.py OUT.npz [OUT.bin]
"""

from __future__ import annotations

import sys
from pathlib import Path

import export_static
import numpy as np
import vocabulary
from teacher import Teacher

DIMENSION = 256
RARITY = 1e-4  # the `a` of SIF: a / (a + p)


def token_vectors(teacher: Teacher, tokens: list[str]) -> np.ndarray:
    ids = [teacher.tokenizer.token_to_id(token) for token in tokens]
    start, end = teacher.tokenizer.token_to_id("[CLS]"), teacher.tokenizer.token_to_id("[SEP]")
    return np.stack([teacher.of_ids([start, id_, end]) for id_ in ids])


def reduce(vectors: np.ndarray, dimension: int = DIMENSION) -> tuple[np.ndarray, np.ndarray]:
    """Centred vectors on their principal axes, and the axes."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    basis = axes[:, ::-1][:, :dimension]
    return centred @ basis, basis


def zipf_weights(teacher: Teacher, tokens: list[str]) -> np.ndarray:
    """SIF weights, with a token's probability guessed from its place in the vocabulary (sorted by frequency)."""
    ranks = np.array([teacher.tokenizer.token_to_id(token) for token in tokens], dtype=float)
    ranks -= ranks.min() - 1
    probability = 1 / ranks
    probability /= probability.sum()
    weights: np.ndarray = RARITY / (RARITY + probability)
    return weights


def main(target: Path, binary: Path | None) -> None:
    teacher, tokens = Teacher(), vocabulary.tokens()
    raw = token_vectors(teacher, tokens)
    vectors, basis = reduce(raw)
    vectors *= zipf_weights(teacher, tokens)[:, None]
    np.savez(target, vectors=vectors.astype(np.float32), basis=basis, mean=raw.mean(axis=0), raw=raw)
    if binary:
        export_static.write(binary, tokens, vectors)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
