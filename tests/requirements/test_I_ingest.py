"""I01 to I06: what `kb add` promises, through the public door and the real store."""

from __future__ import annotations

import random
import re
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import kb
from kb.config import IngestSettings, Settings
from kb.types import Filters, Progress, StoredChunk
from tests.conftest import MakeBase
from tests.pdfs import pdf

WORDS = "harbor lantern meadow copper violet anchor thistle walnut ember glacier orchid saddle".split()


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def chunks_of(base: kb.KB, path: str) -> tuple[StoredChunk, ...]:
    with base.store.snapshot() as snapshot:
        found = {document.path: document.doc_id for document in snapshot.find(Filters())}
        return snapshot.read(found[path])[1]


def everything(base: kb.KB) -> dict[str, Any]:
    """All that a store holds and finds, apart from when and where it was made."""
    with base.store.snapshot() as snapshot:
        rows = [snapshot.read(document.doc_id) for document in snapshot.find(Filters())]
    hits = {
        word: [(hit.chunk_id, hit.score, hit.snippet) for hit in base.search(word, top=100, mode=mode).hits]
        for word in WORDS
        for mode in ("hybrid", "lexical", "vector")
    }
    status = base.status()
    return {
        "documents": {document.path: (replace(document, indexed_at=""), chunks) for document, chunks in rows},
        "hits": hits,
        "counts": (status.documents, status.chunks, status.vectors, status.pending, dict(status.by_type)),
    }


def change(root: Path, chance: random.Random, number: int) -> None:
    """One step of a user at work: add, change, rename, move, delete."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    text = f"# {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=40))}\n\n## {number}\n\nmore {chance.choice(WORDS)}\n"
    kind = chance.choice(["add", "change", "rename", "move", "delete", "copy", "touch"])
    victim = chance.choice(files)
    if kind == "add" or len(files) < 5:
        write(root, {f"{chance.choice(['x', 'y/z', 'w'])}/n{number}.{chance.choice(['md', 'txt', 'py'])}": text})
    elif kind == "change":
        victim.write_text(text)
    elif kind == "rename":
        victim.rename(victim.with_name(f"r{number}.md"))
    elif kind == "move":
        (root / f"moved{number}").mkdir()
        victim.rename(root / f"moved{number}" / victim.name)
    elif kind == "delete":
        victim.unlink()
    elif kind == "copy":
        shutil.copy(victim, root / f"copy{number}.md")
    else:
        victim.touch()


def test_I01_the_store_equals_one_built_from_scratch(make_base: MakeBase, tmp_path: Path) -> None:
    chance = random.Random(1)
    root = write(tmp_path / "notes", {f"{n}.md": f"# {WORDS[n]}\n\n{' '.join(WORDS[: n + 1])}\n" for n in range(10)})
    grown = make_base(name="grown")
    assert grown.add(root).added == 10
    for step in range(12):
        for number in range(chance.randint(1, 5)):
            change(root, chance, step * 10 + number)
        assert grown.add(root).ok
    fresh = make_base(name="fresh")
    fresh.add(root)
    assert everything(grown) == everything(fresh)
    assert grown.check().ok


def test_I01_a_second_run_changes_nothing(make_base: MakeBase, tmp_path: Path) -> None:
    root = write(tmp_path / "notes", {f"{n}.md": f"# {word}\n" for n, word in enumerate(WORDS)})
    base = make_base()
    base.add(root)
    before = everything(base)
    report = base.add(root)
    assert (report.added, report.updated, report.removed, report.unchanged) == (0, 0, 0, len(WORDS))
    assert everything(base) == before


SAMPLE = {
    "guide.md": "---\ntitle: Guide\ntags: [one]\n---\n\n# Install\n\n"
    "Run it.\n\n```sh\nkb add .\n\nkb search x\n```\n\n## Use\n\nText.\r\n\r\nEnd",
    "tool.py": "import os\n\n\nclass Tool:\n    def run(self):\n        return 1\n\n"
    "    def stop(self):\n        return 2\n\n\ndef main():\n    pass\n",
    "plain.txt": "first paragraph\nof text\n\nsecond\x0cparagraph\r\rthird\n",
    "long.txt": "word " * 5000,
    "wide.txt": "한국어 문장입니다. " * 800,
}  # fmt: skip


def test_I02_chunks_cover_the_document_and_their_lines_contain_them(make_base: MakeBase, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    for name, text in SAMPLE.items():
        (root / name).write_bytes(text.encode())
    base = make_base()
    base.add(root)
    for name, text in SAMPLE.items():
        raw = text.encode()
        lines = re.split("\r\n|\r|\n", text)
        covered = bytearray(len(raw))
        for stored in chunks_of(base, name):
            span = stored.chunk.span
            assert raw[span.offset_start : span.offset_end].decode() == stored.chunk.text
            cited = "\n".join(lines[span.start - 1 : span.end])
            assert "\n".join(re.split("\r\n|\r|\n", stored.chunk.text)) in cited
            covered[span.offset_start : span.offset_end] = b"x" * (span.offset_end - span.offset_start)
        rest = bytes(byte for byte, mark in zip(raw, covered, strict=True) if not mark)
        assert not rest.decode().strip(), name
    guide = [stored.chunk for stored in chunks_of(base, "guide.md")]
    assert [chunk.heading_path for chunk in guide] == [("Install",), ("Install", "Use")]
    assert "```sh\nkb add .\n\nkb search x\n```" in guide[0].text
    tool = [stored.chunk.symbol for stored in chunks_of(base, "tool.py")]
    assert tool == [None, "Tool.run", "Tool.stop", "main"]


def test_I02_a_pdf_is_cut_by_page(make_base: MakeBase, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("harbor on page one", "lantern on page two"))
    base = make_base()
    base.add(tmp_path / "a.pdf")
    hit = base.search("lantern", mode="lexical").hits[0]
    assert (hit.citation.kind, hit.citation.page, hit.citation.uri) == ("page", 2, "a.pdf#p=2")
    assert [stored.chunk.text for stored in chunks_of(base, "a.pdf")] == ["harbor on page one", "lantern on page two"]


def test_I03_titles_and_tags(make_base: MakeBase, tmp_path: Path) -> None:
    write(
        tmp_path / "notes",
        {
            "front.md": "---\ntitle: From the front matter\ntags:\n  - red\n  - blue\n---\n# Heading\n",
            "heading.md": "intro\n\n# Heading\n",
            "second.md": "intro\n\n## Only a second\n",
            "line.txt": "\n\n  The first line  \nmore\n",
            "empty.md": "",
            "code.py": "import os\n",
        },
    )
    base = make_base()
    base.add(tmp_path / "notes", tags=["given"])
    with base.store.snapshot() as snapshot:
        found = {document.path: document for document in snapshot.find(Filters())}
    assert {path: document.title for path, document in found.items()} == {
        "front.md": "From the front matter",
        "heading.md": "Heading",
        "second.md": "Only a second",
        "line.txt": "The first line",
        "empty.md": "empty.md",
        "code.py": "code.py",
    }
    assert set(found["front.md"].tags) == {"red", "blue", "given"}
    assert [hit.doc_path for hit in base.search("Heading", tags=["red", "given"], mode="lexical").hits] == ["front.md"]


def test_I04_a_bad_file_is_named_and_the_rest_goes_on(make_base: MakeBase, tmp_path: Path) -> None:
    root = write(tmp_path / "notes", {"a.md": "harbor", "z.md": "lantern"})
    (root / "broken.pdf").write_bytes(b"%PDF-1.7\nnot really")
    (root / "blank.pdf").write_bytes(pdf(""))
    base = make_base()
    report = base.add(root)
    assert report.added == 2
    assert not report.ok  # exit code 1
    assert {issue.path: issue.code for issue in report.failed} == {
        "broken.pdf": "pdf_damaged",
        "blank.pdf": "pdf_no_text",
    }
    assert all(issue.reason for issue in report.failed)
    assert len(base.search("harbor").hits) >= 1


def test_I05_stopping_keeps_what_was_acknowledged(make_base: MakeBase, tmp_path: Path) -> None:
    root = write(tmp_path / "notes", {f"{n}.md": f"# {n}\n\n{' '.join(WORDS)} {n}\n" for n in range(300)})
    base, stop = make_base(), threading.Event()
    acknowledged: list[str] = []
    asked = [0.0]

    def on_event(event: Progress) -> None:
        if event.event == "document" and event.path:
            acknowledged.append(event.path)
            if len(acknowledged) == 10:
                asked[0] = time.monotonic()
                stop.set()

    report = base.add(root, on_event=on_event, stop=stop)
    assert report.interrupted
    assert time.monotonic() - asked[0] < 2
    with base.store.snapshot() as snapshot:
        assert {document.path for document in snapshot.find(Filters())} == set(acknowledged)
    assert base.add(root).added == 300 - report.added


def test_I06_binary_huge_and_secret_files_are_skipped_with_reasons(make_base: MakeBase, tmp_path: Path) -> None:
    root = write(
        tmp_path / "notes",
        {"a.md": "harbor", ".env": "TOKEN=canary", "id_rsa": "canary", "server.pem": "canary", "big.txt": "x" * 30_000,
         "key.txt": "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n"},
    )  # fmt: skip
    (root / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00canary")
    base = make_base(settings=Settings(ingest=IngestSettings(max_file_mb=0.02)))
    report = base.add(root)
    assert report.added == 1
    assert report.ok
    assert {issue.path: issue.code for issue in report.skipped} == {
        ".env": "secret", "id_rsa": "secret", "server.pem": "secret", "key.txt": "secret", "big.txt": "too_large",
        "image.png": "binary",
    }  # fmt: skip
    assert all(issue.reason for issue in report.skipped)
    assert base.search("canary", mode="lexical").hits == ()
    assert [issue.code for issue in base.add(root / ".env").skipped] == ["secret"]
