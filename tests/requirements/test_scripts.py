"""M05: short, real questions in every script, each with the document that must come first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kb.config import Settings, shipped_profiles
from tests.conftest import MakeBase

DATA = Path(__file__).resolve().parent.parent / "data" / "scripts"
SUITES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))}
PROFILES = shipped_profiles()
SETTINGS = Settings(profiles={**PROFILES, "words": replace(PROFILES["notes"], name="words", cjk="words")})


@pytest.mark.parametrize("profile", ["notes", "words"])
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize("suite", SUITES)
def test_the_right_document_comes_first(make_base: MakeBase, suite: str, mode: str, profile: str) -> None:
    base = make_base(SUITES[suite]["documents"], embedder="static", settings=SETTINGS)
    wrong = []
    for query, path in SUITES[suite]["queries"]:
        hits = base.search(query, profile=profile, mode=mode).hits  # type: ignore[arg-type]
        if not hits or hits[0].doc_path != path:
            wrong.append((query, path, [(hit.doc_path, hit.retrieval.tier) for hit in hits[:3]]))
    assert not wrong


@pytest.mark.parametrize("suite", SUITES)
def test_marks_lie_on_words_of_the_snippet(make_base: MakeBase, suite: str) -> None:
    base = make_base(SUITES[suite]["documents"], embedder="static", settings=SETTINGS)
    for query, path in SUITES[suite]["queries"]:
        (hit,) = (hit for hit in base.search(query, mode="lexical").hits if hit.doc_path == path)
        assert hit.highlights, (query, hit.snippet)
        for start, end in hit.highlights:
            assert hit.snippet[start:end].strip() == hit.snippet[start:end] != ""
