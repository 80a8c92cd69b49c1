"""Hybrid search over 100,000 snippets."""

from __future__ import annotations

import random
import time
from pathlib import Path
from statistics import median

import pytest

import kb

SNIPPETS = 100_000
LIMIT_MS = 300
WORDS = [f"name{number:04}" for number in range(3000)] + (
    "install config server socket parse json request retry timeout client stream buffer token cache index query".split()
)


@pytest.mark.slow
def test_S08_hybrid_search_over_100_000_snippets_takes_less_than_300_ms(tmp_path: Path) -> None:
    draw = random.Random(8)

    def text(count: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(count))

    documents = (
        kb.Document(path=f"lib{number % 50}/s{number}.md", text=text(30), repo=f"lib{number % 50}", version="1")
        for number in range(SNIPPETS)
    )
    with kb.open(tmp_path / "store") as base:
        assert base.put(documents).added == SNIPPETS
        base.search(text(3), profile="snippets")
        times = []
        for _ in range(25):
            question = text(3)
            started = time.perf_counter()
            result = base.search(question, profile="snippets")
            times.append((time.perf_counter() - started) * 1000)
            assert result.lexical.ran
            assert result.vector.ran
            assert result.returned == 20
        assert median(times) < LIMIT_MS, sorted(times)
