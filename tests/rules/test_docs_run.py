"""What the documentation shows is what happens: its commands and its Python are run, on a copy of the sample."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kb.config import SECTIONS, Settings
from tests.rules import sources

PAGES = ("README.md", "docs/tutorial.md", "docs/search.md", "docs/configuration.md", "docs/models.md", "docs/tune.md")


def blocks(page: str, language: str) -> list[str]:
    text = (sources.ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def environment(home: Path) -> dict[str, str]:
    """An empty home, and `kb` as this checkout has it."""
    tools = home / "bin"
    tools.mkdir(parents=True)
    script = tools / "kb"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kb "$@"\n')
    script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_", "PYTEST_"))}
    path = f"{tools}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"HOME": str(home), "PATH": path, "PYTHONPATH": str(sources.ROOT / "src")}


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    copy = tmp_path / "files"
    shutil.copytree(sources.ROOT / "sample", copy)
    return copy


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work(page: str, sample: Path, tmp_path: Path) -> None:
    """All `$ ` lines of a page's console blocks, one after the other, in one folder."""
    env = environment(tmp_path / "home")
    for block in blocks(page, "console"):
        for command in re.findall(r"^\$ (.+)$", block, flags=re.MULTILINE):
            done = subprocess.run(
                ["sh", "-c", command], cwd=sample, env=env, capture_output=True, text=True, check=False, timeout=120
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_works(page: str, sample: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    if not code:
        return
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=sample,
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_setting_is_documented() -> None:
    text = (sources.ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for section, kind in SECTIONS.items():
        for name in kind.__dataclass_fields__:
            row = re.search(rf"^\| `{section}\.{name}` \| `(\S+)` \| (.+?) \|", text, flags=re.MULTILINE)
            assert row, f"{section}.{name} is not in docs/configuration.md"
            assert row[1] == f"KB_{section}_{name}".upper()
            default = getattr(getattr(Settings(), section), name)
            shown = str(default).lower() if isinstance(default, bool) else str(default)
            assert row[2] == ("–" if default is None else f"`{shown}`"), f"{section}.{name}: {row[2]}"
    named = set(re.findall(r"^\| `(\w+)\.(\w+)` \| `KB_", text, flags=re.MULTILINE))
    real = {(section, name) for section, kind in SECTIONS.items() for name in kind.__dataclass_fields__}
    assert named == real


def copy_of_the_checkout(target: Path) -> Path:
    for path in sources.tracked():
        place = target / path.relative_to(sources.ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return target


@pytest.mark.slow
def test_the_demo_works_from_a_clean_checkout(tmp_path: Path) -> None:
    """The first command of the README, with an empty home and nothing installed; and again, quickly, on a folder."""
    checkout = copy_of_the_checkout(tmp_path / "a checkout")
    home = tmp_path / "empty"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "XDG_", "PYTHON"))}
    env = kept | {"HOME": str(home)}
    done = subprocess.run(
        ["./demo"],
        cwd=checkout,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "git-install.md#L" in done.stdout
    assert "page-size.pdf#p=" in done.stdout
    assert "회의록.md#L" in done.stdout
    assert not [path for path in home.rglob("*") if "kb" in path.parts]  # neither settings nor a store outside
    again = subprocess.run(
        ["./demo", "sample/notes", "sourdough"],
        cwd=checkout,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert "bread.txt#L" in again.stdout


def test_the_readme_names_the_two_commands() -> None:
    text = (sources.ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("./demo", "./test"):
        assert command in text
        assert os.access(sources.ROOT / command, os.X_OK)
