"""Rules on the files themselves: nothing of one machine in them, no broken links, complete locks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules import sources

BINARY = {".bin", ".onnx", ".pdf", ".png", ".gz", ".db", ".whl"}
# Put together here so that this file does not hold what it looks for.
PATHS = re.compile(
    "(?<![A-Za-z0-9_.~-])/(" + "|".join(("work", "ro" + "ot", "t" + "mp", "opt/py" + "pi")) + r")(?=/|\b)"
)
HOSTS = re.compile("|".join(("py" + r"pi\.org", "python" + "hosted", "npm" + r"js\.(org|com)", r"deb\.deb" + "ian")))
PATHS_ALLOWED = {"NOTICE"}


def texts() -> list[Path]:
    return [path for path in sources.tracked() if path.suffix not in BINARY]


def test_no_machine_paths_and_no_registry_hosts() -> None:
    wrong = []
    for path in texts():
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix in (".json", ".jsonl") and len(text) > 200_000:
            continue  # vocabularies
        for number, line in enumerate(text.splitlines(), start=1):
            if HOSTS.search(line) or (path.name not in PATHS_ALLOWED and PATHS.search(line)):
                wrong.append(f"{sources.where(path, number)}: {line.strip()[:100]}")
    assert wrong == []


def test_nothing_large_slips_in() -> None:
    big = [str(path.relative_to(sources.ROOT)) for path in sources.tracked() if path.stat().st_size > 500_000]
    assert set(big) <= {"src/kb/embed/data/static.bin", "src/kb/embed/data/minilm/model.onnx"}


def test_the_locks_are_exact_and_hashed() -> None:
    for name in ("run", "dev"):
        text = (sources.ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
        packages = re.findall(r"^([a-z0-9][a-z0-9._-]*)(\S*)", text, flags=re.MULTILINE)
        assert packages
        assert all(pin.startswith("==") for _, pin in packages), name
        blocks = re.split(r"\n(?=[a-z0-9])", text.strip())
        assert all("--hash=sha256:" in block for block in blocks), name
        assert "://" not in text
        assert "--index" not in text
        assert "--find-links" not in text


def test_the_two_locks_agree() -> None:
    def pins(name: str) -> dict[str, str]:
        text = (sources.ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
        return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", text, flags=re.MULTILINE))

    run, dev = pins("run"), pins("dev")
    assert {name: dev.get(name) for name in run} == run


def test_the_readme_is_short() -> None:
    assert len((sources.ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("path", [p for p in sources.tracked() if p.suffix == ".md"], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    if "sample" in path.parts or "data" in path.parts:
        return
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith(("#", "mailto:")):
            continue
        assert (path.parent / target.split("#")[0]).exists(), f"{path.name} links to {target}"
