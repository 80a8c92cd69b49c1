"""Train a static model further: every short text should find its own longer text among those of its batch.

    python models/refine.py PREPARED.npz OUT.npy [--epochs N] [--rate R] [--seed N]

PREPARED is what prepare.py wrote. No teacher is needed. The last pairs of every kind are held out. OUT is for blend.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

BATCH = 1024
RATE = 0.1  # of Adam, in average components of the start; falls to zero along a cosine
HEAT = 0.05  # softmax temperature of the contrast
DROPPED = 0.1  # share of tokens left out at random
HELD_OUT = 500  # pairs of each kind
EVENED = 0.75  # a kind is drawn by this power of its size,
FAVOURED = {"medical": 2.0}  # times this


@dataclass(frozen=True, slots=True)
class Side:
    rows: np.ndarray
    starts: np.ndarray

    def bags(
        self, chosen: np.ndarray, chance: np.random.Generator, dropped: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Token rows of the chosen texts, and where each begins."""
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        begins = np.cumsum(lengths) - lengths
        rows = self.rows[np.repeat(self.starts[chosen] - begins, lengths) + np.arange(lengths.sum())]
        if dropped:
            kept = chance.random(len(rows)) >= dropped
            kept[np.minimum(begins, len(rows) - 1)] = True
            begins = np.concatenate([[0], np.cumsum(kept)])[begins]
            rows = rows[kept]
        return torch.from_numpy(rows), torch.from_numpy(begins.astype(rows.dtype))


@dataclass(frozen=True, slots=True)
class Material:
    sides: tuple[Side, Side]
    kinds: np.ndarray
    names: list[str]

    def of_kind(self, kind: int) -> np.ndarray:
        """Pairs of one kind with words on both sides."""
        chosen = np.flatnonzero(self.kinds == kind)
        for side in self.sides:
            chosen = chosen[side.starts[chosen + 1] > side.starts[chosen]]
        return chosen


def load(source: Path) -> tuple[Material, np.ndarray]:
    data = np.load(source)
    sides = (Side(data["rows0"], data["starts0"]), Side(data["rows1"], data["starts1"]))
    return Material(sides, data["kinds"], [str(name) for name in data["names"]]), data["vectors"]


def batches(
    pools: list[np.ndarray], shares: np.ndarray, steps: int, size: int, chance: np.random.Generator
) -> Iterator[np.ndarray]:
    """Half of the batches are of one kind, where the others are hard to tell apart; half are mixed."""
    for step in range(steps):
        if step % 2:
            pool = pools[chance.choice(len(pools), p=shares)]
            yield chance.choice(pool, min(size, len(pool)), replace=False)
        else:
            counts = chance.multinomial(size, shares)
            yield np.concatenate(
                [
                    chance.choice(pool, min(count, len(pool)), replace=False)
                    for pool, count in zip(pools, counts, strict=True)
                ]
            )


def contrast(scores: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of finding one's own partner, both ways; `same` marks others that are just as right."""
    logits = (scores / HEAT).masked_fill(same, -1e4)
    own = torch.arange(len(logits))
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)) / 2


def alike(vectors: torch.Tensor) -> torch.Tensor:
    """Pairs of texts with the same words, the diagonal apart."""
    same = vectors.detach() @ vectors.detach().T > 0.999
    return same.fill_diagonal_(False)


class Student(torch.nn.Module):
    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__()
        self.table = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(vectors.copy()), freeze=False, mode="sum")

    def forward(self, bags: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return functional.normalize(self.table(*bags), dim=-1)


def loss_of(student: Student, data: Material, chosen: np.ndarray, chance: np.random.Generator) -> torch.Tensor:
    with torch.no_grad():
        same = alike(student(data.sides[0].bags(chosen, chance, 0)))
    short, long = (student(side.bags(chosen, chance, DROPPED)) for side in data.sides)
    return contrast(short @ long.T, same)


@torch.no_grad()
def held_out(
    student: Student, data: Material, spare: list[np.ndarray], chance: np.random.Generator
) -> dict[str, float]:
    """Mean reciprocal rank of each held-out short text's own partner, by kind."""
    found = {}
    for name, chosen in zip(data.names, spare, strict=True):
        short, long = (student(side.bags(chosen, chance, 0)) for side in data.sides)
        scores = short @ long.T
        found[name] = round(float((1 / (scores >= scores.diagonal()[:, None]).sum(-1)).mean()), 3)
    return found


def refine(student: Student, data: Material, epochs: float, rate: float, seed: int, size: int) -> None:
    chance = np.random.default_rng(seed)
    pools = [data.of_kind(kind) for kind in range(len(data.names))]
    spare, pools = [pool[-HELD_OUT:] for pool in pools], [pool[:-HELD_OUT] for pool in pools]
    steps = int(epochs * sum(map(len, pools)) / size)
    shares = np.array(
        [FAVOURED.get(name, 1) * len(pool) ** EVENED for name, pool in zip(data.names, pools, strict=True)]
    )
    shares /= shares.sum()
    size_of = float(student.table.weight.detach().abs().mean())
    optimiser = torch.optim.Adam(student.parameters(), lr=rate * size_of, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    total = 0.0
    print(steps, "steps", held_out(student, data, spare, chance), flush=True)
    for step, chosen in enumerate(batches(pools, shares, steps, size, chance), start=1):
        optimiser.zero_grad()
        loss = loss_of(student, data, chosen, chance)
        loss.backward()
        optimiser.step()
        schedule.step()
        total += float(loss.detach())
        if step % 200 == 0:
            print(step, round(total / 200, 4), held_out(student, data, spare, chance), flush=True)
            total = 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--epochs", type=float, default=1.6)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    data, vectors = load(options.source)
    student = Student(vectors)
    refine(student, data, options.epochs, options.rate, options.seed, options.batch)
    np.save(options.target, student.table.weight.detach().numpy())


if __name__ == "__main__":
    main()
