"""Train the static model to agree with its teacher, and write it.

    PYTHONPATH=src python models/train.py CORPUS.jsonl SHARDS_DIR PLAIN.npz OUT.bin [--epochs N]

Two aims per batch of pairs: every text's vector near the teacher's (on its principal axes), and the same preferences
as the teacher among the batch's long texts for each short one. The last shard is held out to watch the second.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import distill
import export_static
import numpy as np
import torch
import vocabulary
from teach import SHARD
from teacher import Teacher
from torch.nn import functional

from kb.embed.wordpiece import MAX_TOKENS, pieces, words

SEED = 20
Projection = tuple[torch.Tensor, torch.Tensor]  # the teacher's mean vector, and its principal axes

BATCH = 1024
RATE = 0.2  # of Adam, in average components of the first guess; falls to zero along a cosine
TEACHER_HEAT = 0.05  # softmax temperatures: the teacher's cosines spread wider than the student's need to
STUDENT_HEAT = 0.05
RANKING = 0.5  # the weight of the second aim
RARE = 10  # occurrences
DROPPED = 0.1  # share of tokens left out at random


@dataclass(frozen=True, slots=True)
class Texts:
    """Token rows of many texts, end to end, with the teacher's vectors for them."""

    rows: torch.Tensor
    starts: np.ndarray  # one more than there are texts
    taught: torch.Tensor

    def bags(self, chosen: np.ndarray, keep: float) -> tuple[torch.Tensor, torch.Tensor]:
        spans = [self.rows[self.starts[index] : self.starts[index + 1]] for index in chosen]
        if keep < 1:
            spans = [span[torch.rand(len(span)) < keep] if len(span) > 3 else span for span in spans]
        offsets = np.cumsum([0, *map(len, spans)])[:-1]
        return torch.cat(spans), torch.from_numpy(offsets)


class Student(torch.nn.Module):
    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__()
        self.table = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(vectors), freeze=False, mode="sum")

    def forward(self, rows: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return functional.normalize(self.table(rows, offsets), dim=-1)


def texts(lines: list[str], taught: np.ndarray, known: dict[str, int]) -> Texts:
    cache: dict[str, tuple[int, ...]] = {}
    found: list[list[int]] = []
    for line in lines:
        for word in (listed := words(line)):
            if word not in cache:
                cache[word] = pieces(word, lambda token: known.get(token, -1))
        found.append(list(chain.from_iterable(cache[word] for word in listed))[:MAX_TOKENS])
    starts = np.cumsum([0, *map(len, found)])
    rows = torch.from_numpy(np.fromiter(chain.from_iterable(found), dtype=np.int64, count=int(starts[-1])))
    return Texts(rows, starts, torch.from_numpy(taught.astype(np.float32)))


def taught_vectors(folder: Path, side: str) -> np.ndarray:
    return np.concatenate([np.load(path)[side] for path in sorted(folder.glob("[0-9]*[0-9].npz"))])


def agreement(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """How far the student's preferences are from the teacher's, both ways round."""
    given, wanted = logits / STUDENT_HEAT, target / TEACHER_HEAT
    losses = [
        functional.kl_div(ours.log_softmax(-1), theirs.softmax(-1), reduction="batchmean")
        for ours, theirs in ((given, wanted), (given.T, wanted.T))
    ]
    return (losses[0] + losses[1]) / 2


def step(student: Student, sides: tuple[Texts, Texts], chosen: np.ndarray, project: Projection) -> torch.Tensor:
    made = [student(*side.bags(chosen, 1 - DROPPED)) for side in sides]
    taught = [side.taught[torch.from_numpy(chosen)] for side in sides]
    mean, basis = project
    near = sum(
        (1 - (vector * functional.normalize((target - mean) @ basis, dim=-1)).sum(-1)).mean()
        for vector, target in zip(made, taught, strict=True)
    )
    return near + RANKING * agreement(made[0] @ made[1].T, taught[0] @ taught[1].T)


@torch.no_grad()
def held_out(student: Student, sides: tuple[Texts, Texts], chosen: np.ndarray) -> float:
    """Mean reciprocal rank of each short text's own long text."""
    short, long = (student(*side.bags(chosen, 1)) for side in sides)
    scores = short @ long.T
    ranks = (scores >= scores.diagonal()[:, None]).sum(-1)
    return float((1 / ranks).mean())


def train(student: Student, sides: tuple[Texts, Texts], project: Projection, epochs: int) -> None:
    count = len(sides[0].starts) - 1
    spare = np.arange(count - SHARD, count)
    chance = np.random.default_rng(SEED)
    optimiser = torch.optim.Adam(student.parameters(), lr=RATE * float(student.table.weight.detach().abs().mean()))
    steps = (count - SHARD) // BATCH
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps * epochs)
    print("start", round(held_out(student, sides, spare), 4), flush=True)
    for epoch in range(epochs):
        order, total = chance.permutation(count - SHARD), 0.0
        for start in range(0, steps * BATCH, BATCH):
            optimiser.zero_grad()
            loss = step(student, sides, order[start : start + BATCH], project)
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss)
        print(epoch, round(total / steps, 4), round(held_out(student, sides, spare), 4), flush=True)


def first_guess(plain: Path, basis: np.ndarray, tokens: list[str]) -> np.ndarray:
    raw = np.load(plain)["raw"]
    weights = distill.zipf_weights(Teacher(), tokens)
    return ((raw - raw.mean(axis=0)) @ basis * weights[:, None]).astype(np.float32)


def lift_strangers(vectors: np.ndarray, sides: tuple[Texts, Texts]) -> np.ndarray:
    """Tokens that no text held, names above all, keep their first direction and get a rare token's length."""
    met = sum(np.bincount(side.rows.numpy(), minlength=len(vectors)) for side in sides)
    lengths = np.linalg.norm(vectors, axis=1)
    rare, unmet = (met > 0) & (met < RARE), met == 0
    lifted = vectors.copy()
    lifted[unmet] *= lengths[rare].mean() / lengths[unmet].mean()
    return lifted


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("corpus", "shards", "plain", "target"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    tokens = vocabulary.tokens()
    known = {token: row for row, token in enumerate(tokens)}
    taught = [taught_vectors(options.shards, side) for side in ("short", "long")]
    records = [json.loads(line) for line in options.corpus.read_text(encoding="utf-8").splitlines()[: len(taught[0])]]
    lines = [[item["short"] or item["long"] for item in records], [item["long"] for item in records]]
    short, long = (texts(each, vectors, known) for each, vectors in zip(lines, taught, strict=True))
    everything = np.concatenate(taught).astype(np.float32)
    _, basis = distill.reduce(everything)
    project = (torch.from_numpy(everything.mean(axis=0)), torch.from_numpy(basis.astype(np.float32)))
    student = Student(first_guess(options.plain, basis, tokens))
    train(student, (short, long), project, options.epochs)
    vectors = lift_strangers(student.table.weight.detach().numpy(), (short, long))
    np.save(options.target.with_suffix(".npy"), vectors)
    export_static.write(options.target, tokens, vectors)


if __name__ == "__main__":
    main()
