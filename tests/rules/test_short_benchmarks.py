"""Short runs of the long benchmarks, so that they stay right and their promises are checked on every change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.rules import sources

sys.path.insert(0, str(sources.ROOT / "benchmarks"))

import fuzz_queries
import kill


def test_N03_two_thousand_random_queries_are_answered_or_refused_politely() -> None:
    ends, broken, longest = fuzz_queries.fuzz(2_000)
    assert broken == []
    assert ends["hits"] > 100  # or it would prove nothing
    assert ends["invalid_query"] > 20
    assert longest < 5.0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_nothing_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    source = tmp_path / "notes"
    source.mkdir()
    for number in range(120):
        text = f"# Note {number}\n\n" + "\n\n".join(f"Paragraph {part} of note {number}." * 12 for part in range(12))
        (source / f"{number:03}.md").write_text(text)
    ends, problems = kill.run(source, times=6, count=120)
    assert problems == []
    assert ends["killed"] >= 3
