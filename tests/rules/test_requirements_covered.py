"""Every numbered promise has at least one test named after it."""

from __future__ import annotations

import re

import pytest

from tests.rules import sources

COUNTS = {"N": 13, "L": 12, "H": 10, "M": 8, "S": 9, "I": 6}
PROMISES = [f"{group}{number:02d}" for group, count in COUNTS.items() for number in range(1, count + 1)]


@pytest.fixture(scope="module")
def tested() -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (sources.ROOT / "tests").rglob("test_*.py"))
    suites = (sources.PACKAGE / "testing.py", *(sources.PACKAGE / "testing").rglob("*.py"))
    text += "\n".join(path.read_text(encoding="utf-8") for path in suites if path.is_file())
    return set(re.findall(r"^\s*(?:async )?def test_([NLHMSI]\d\d)_", text, flags=re.MULTILINE))


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_has_a_test(promise: str, tested: set[str]) -> None:
    assert promise in tested, f"no test_{promise}_… anywhere"


def test_no_test_names_a_promise_that_does_not_exist(tested: set[str]) -> None:
    assert tested <= set(PROMISES)
