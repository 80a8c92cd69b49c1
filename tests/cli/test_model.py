"""``kb model`` as a user meets it: in processes of its own, killed and resumed, and on the screen."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run


def until(run: Run, wanted: str, seconds: float = 60.0) -> Any:
    """The status as soon as this model answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status = run("model", "status", "--json").document
        if status["answering"] and status["answering"].startswith(wanted):
            return status
        time.sleep(0.1)
    raise AssertionError(status)


def test_a_model_is_built_in_the_background_and_takes_over(run: Run, filled: Path) -> None:
    before = run("search", "install git", "--json").document["hits"][0]["embedding_model"]
    told = run("model", "set", "hashing:32", "--json").document
    assert told["answering"] == before
    assert told["building"].startswith("hashing:32")
    assert told["builder"]
    until(run, "hashing:32")
    answer = run("search", "install git", "--json").document
    assert answer["hits"][0]["embedding_model"].startswith("hashing:32")
    assert answer["warnings"] == []
    back = run("model", "back", "--json").document
    assert back["answering"] == before
    assert run("model", "drop", "--json").document["freed_bytes"] > 0
    assert run("check").code == 0


def test_a_killed_builder_is_gone_on_with(run: Run, filled: Path) -> None:
    told = run("model", "set", "hashing:32", "--json").document
    os.kill(told["builder"], signal.SIGKILL)
    time.sleep(0.2)
    assert run("check").code == 0
    status = run("model", "status", "--json").document
    assert status["builder"] is None
    assert status["answering"].startswith("hashing:64")
    assert "kb model run" in run("model").text
    assert run("model", "run", "--json").document["answering"].startswith("hashing:32")


def test_wait_embeds_here(run: Run, filled: Path) -> None:
    done = run("model", "set", "hashing:32", "--wait")
    assert done.code == 0
    assert "answered by hashing:32" in done.text
    assert "kept  hashing:64" in done.text


def test_what_can_be_had_is_listed(run: Run, filled: Path) -> None:
    found = {item["name"]: item for item in run("model", "list", "--json").document["models"]}
    assert found["static"]["ok"]
    assert set(found) == {"static", "minilm", "onnx-dir:PATH", "openai:MODEL"}
    assert "static" in run("model", "list").text


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("set",), "kb model set NAME"),
        (("set", "no-such"), "static"),
        (("paint",), "kb model status"),
        (("back", "x"), "kb model back"),
        (("back",), "kb model set NAME"),
        (("set", "none"), "embed.model none"),
    ],
)
def test_mistakes_say_what_to_type(run: Run, filled: Path, words: tuple[str, ...], fix: str) -> None:
    done = run("model", *words, "--json")
    assert done.code == 2
    assert fix in done.error["hint"]


def test_nothing_kept_is_nothing_dropped(run: Run, filled: Path) -> None:
    assert "nothing to drop" in run("model", "drop").text


def test_settings_that_name_another_model_are_a_warning_with_the_fix(
    run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KB_EMBED_MODEL", "hashing:32")
    answer = run("search", "install git", "--json").document
    assert answer["legs"]["vector"]["ran"]
    assert "kb model set hashing:32" in answer["warnings"][0]
