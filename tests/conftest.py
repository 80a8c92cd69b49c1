"""Shared fixtures: real stores in temporary folders, the shipped hashing embedder, no network, no patching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kb
from kb.config import Settings
from kb.embed.hashing import HashingEmbedder

MakeBase = Callable[..., kb.KB]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has an empty HOME, so that no setting of the machine's user reaches it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("KB_STORE", "KB_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_base(tmp_path: Path) -> Iterator[MakeBase]:
    """``make_base({path: text}, embedder=..., settings=...)``: an open knowledge base that holds these records."""
    opened: list[kb.KB] = []

    def make(
        texts: dict[str, str] | list[kb.Document] | None = None,
        *,
        embedder: object = "default",
        settings: Settings | None = None,
        name: str = "store",
    ) -> kb.KB:
        chosen = HashingEmbedder(64) if embedder == "default" else embedder
        base = kb.open(tmp_path / name, settings=settings or Settings(), embedder=chosen)  # type: ignore[arg-type]
        opened.append(base)
        records = [kb.Document(path=p, text=t) for p, t in texts.items()] if isinstance(texts, dict) else texts
        if records:
            report = base.put(records)
            assert report.ok, report
        return base

    yield make
    for base in opened:
        base.close()


@pytest.fixture
def fruit() -> dict[str, str]:
    """A small corpus in which a few words tell documents apart, and enough others to give bm25 a scale."""
    texts = {f"filler/{n:02d}.md": f"# Filler {n}\n\nNothing to see here, number {n} of many." for n in range(30)}
    return texts | {
        "a.md": "# Apples\n\nApples are red. Apples keep well in a cool cellar.",
        "b.md": "# Pears\n\nPears are green. One pear and one apple make a pie.",
        "c.md": "# Installation\n\nInstalling git on Debian: run apt install git.",
        "d.md": "# Version control\n\nGit keeps the history of a project.",
        "e.md": "# Kitchen\n\nThe installation of a new oven takes a day.",
    }
