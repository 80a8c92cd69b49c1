"""Write docs/cli.md from the definition of the flags. ``--check`` only says whether it is current."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from kb.cli.docs import markdown  # noqa: E402

TARGET = ROOT / "docs" / "cli.md"

if __name__ == "__main__":
    current = TARGET.exists() and TARGET.read_text(encoding="utf-8") == markdown()
    if "--check" in sys.argv[1:]:
        sys.exit(0 if current else f"{TARGET} is not current: run {sys.argv[0]}")
    TARGET.write_text(markdown(), encoding="utf-8")
