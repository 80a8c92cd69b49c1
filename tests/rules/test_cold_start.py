"""The command line imports nothing that it does not use: a cold `kb search` is the time a person waits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules import sources

HEAVY = {
    "asyncio",
    "charset_normalizer",
    "concurrent.futures",
    "email",
    "hashlib.blake3",
    "http",
    "importlib.metadata",
    "markdown_it",
    "multiprocessing",
    "numpy",
    "onnxruntime",
    "pathspec",
    "pypdfium2",
    "rich",
    "semble_grammars",
    "ssl",
    "tokenizers",
    "tree_sitter",
    "unittest",
    "urllib.request",
    "xml",
}
OF_KB = {
    "kb.ingest",
    "kb.evaluate",
    "kb.serve",
    "kb.testing",
    "kb.embed.http",
    "kb.embed.minilm",
    "kb.pack",
    "kb.whynot.study",
}
PROGRAM = """
import sys
from kb.cli import main
code = main(sys.argv[1:])
sys.stdout.flush()
print("\\n".join(["loaded:", *sorted(sys.modules)]))
sys.exit(code)
"""


def loaded_by(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(sources.ROOT / "src"), "HOME": "/nonexistent"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stdout.split("loaded:\n")[1].split())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cold") / "store"
    loaded_by("add", str(sources.ROOT / "sample" / "notes"), "--store", str(place), "--quiet")
    return place


@pytest.mark.parametrize(
    "words",
    [
        ("search", "install git"),
        ("search", "회의 일정"),
        ("search", "git", "--fts-only"),
        ("search", "git", "--json", "--explain"),
        ("status",),
        ("list",),
    ],
)
def test_reading_commands_import_nothing_heavy(store: Path, words: tuple[str, ...]) -> None:
    loaded = loaded_by(*words, "--store", str(store))
    assert not loaded & HEAVY
    assert not loaded & OF_KB


def test_a_keyword_search_does_not_open_the_model(store: Path) -> None:
    loaded = loaded_by("search", "git", "--fts-only", "--store", str(store))
    assert not {"kb.embed.static", "kb.embed.staticfile"} & loaded
