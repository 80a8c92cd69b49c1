"""Random queries of every nasty kind: each must give an answer or a typed error, within its deadline.

    python benchmarks/fuzz_queries.py [--count 100000] [--seed 20]

Exits 1 and prints the query when anything else comes out.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common

SYNTAX = (
    '"',
    "'",
    "^",
    "*",
    ":",
    "(",
    ")",
    "-",
    "+",
    "{",
    "}",
    "\x00",
    " AND ",
    " OR ",
    " NOT ",
    " NEAR ",
    "NEAR(",
    "\\",
)
WORDS = (
    "install",
    "git",
    "서버",
    "日本語",
    "京都",
    "データベース",
    "ทดสอบ",
    "база",
    "ελληνικά",
    "שלום",
    "سلام",
    "naïve",
    "🦊",
    "a",
    "x1",
)
RANGES = (
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x370, 0x52F),
    (0x590, 0x6FF),
    (0xE00, 0xE7F),
    (0x3040, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xD800, 0xDFFF),
    (0x1F300, 0x1FAFF),
    (0x0, 0x1F),
    (0x300, 0x36F),
    (0x200B, 0x206F),
)
DOCUMENTS = (
    "Installing git on Debian: apt-get install git. Then set user.name.",
    "서버 점검과 데이터베이스 백업 일정. git 설치 안내서.",
    "京都へ行く。データベースの設定とバックアップ。",
    "ทดสอบ ระบบ ค้นหา ภาษาไทย",
    "def parse_config(path): return tomllib.loads(path.read_text())",
)


def bytes_query(draw: random.Random) -> str:
    return draw.randbytes(draw.randint(0, 60)).decode(draw.choice(("utf-8", "latin-1", "utf-16-le")), "replace")


def syntax_query(draw: random.Random) -> str:
    return "".join(draw.choice((*SYNTAX, *WORDS, " ")) for _ in range(draw.randint(1, 25)))


def raw_query(draw: random.Random) -> str:
    return "'" + syntax_query(draw) + "'"


def script_query(draw: random.Random) -> str:
    low, high = draw.choice(RANGES)
    return "".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 30)))


def words_query(draw: random.Random) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 12)))


def long_query(draw: random.Random) -> str:
    return draw.choice((*WORDS, *SYNTAX)) * draw.randint(50, 3000)


KINDS: tuple[Callable[[random.Random], str], ...] = (
    bytes_query,
    syntax_query,
    raw_query,
    script_query,
    words_query,
    syntax_query,
    script_query,
)


def fuzz(count: int, seed: int = common.SEED) -> tuple[Counter[str], list[str], float]:
    """How the queries ended, those that broke the promise, and the longest time that one took, in seconds."""
    import kb

    draw = random.Random(seed)
    ends: Counter[str] = Counter()
    broken: list[str] = []
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="kb-fuzz-") as scratch, kb.open(Path(scratch) / "store") as base:
        base.put([kb.Document(path=f"{number}.md", text=text) for number, text in enumerate(DOCUMENTS)])
        for number in range(count):
            make = long_query if number % 500 == 0 else KINDS[number % len(KINDS)]
            query = make(draw)
            settings: dict[str, Any] = {
                "mode": draw.choice(("hybrid", "lexical", "lexical")),
                "profile": draw.choice(("notes", "strict", "memory", "snippets")),
            }
            started = time.perf_counter()
            try:
                result = base.search(query, **settings)
                ends["hits" if result.hits else "no hits"] += 1
                if any(len(hit.snippet) > 220 for hit in result.hits):
                    broken.append(f"{query!r} {settings}: a snippet is too long")
            except kb.KBError as error:
                ends[error.code] += 1
                if error.code not in ("invalid_query", "timeout", "usage"):
                    broken.append(f"{query!r} {settings}: {error!r}")
            except Exception as error:
                ends["broken"] += 1
                broken.append(f"{query!r} {settings}: {error!r}")
            longest = max(longest, time.perf_counter() - started)
    return ends, broken, longest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=common.SEED)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(common.ROOT / "src"))
    started = time.perf_counter()
    ends, broken, longest = fuzz(options.count, options.seed)
    seconds = round(time.perf_counter() - started, 1)
    print(f"{options.count} queries in {seconds} s, longest {longest:.2f} s: {dict(ends.most_common())}")
    print("\n".join(broken[:20]))
    result = {"queries": options.count, "seed": options.seed, "seconds": seconds, "longest_s": round(longest, 3)}
    common.write("fuzz", result | {"ends": dict(ends.most_common()), "broken": len(broken)}, options.out)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
