"""Reading judged collections: BEIR-layout folders and golden files.

A BEIR folder holds ``corpus.jsonl`` ({_id, title, text}), ``queries.jsonl`` ({_id, text}) and ``qrels.tsv`` or
``qrels/test.tsv`` (query, document, grade). A golden file is JSON or JSON lines and judges a store that exists:
{"query": "install git", "relevant": ["notes/git.md", "papers/a.pdf#p=3"]} or {"query": "...", "no_answer": true}.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kb.errors import UsageError
from kb.types import Document

LAYOUT = "needs corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv; or give a golden .json or .jsonl file"


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A question and what answers it: a path, or a path with a place (``#L3-L9``, ``#p=2``), and its grade."""

    id: str
    text: str
    grades: Mapping[str, float]
    within: str | None = None  # a path glob: the search stays inside it
    no_answer: bool = False

    @property
    def can_be_measured(self) -> bool:
        """Whether anything is known to answer it, or nothing is known to: "not this one" alone is neither."""
        return self.no_answer or any(grade > 0 for grade in self.grades.values())


@dataclass(frozen=True, slots=True)
class Judged:
    """A collection with its questions. ``corpus`` is None for a golden file."""

    name: str
    queries: tuple[JudgedQuery, ...]
    corpus: Path | None = None

    def documents(self) -> Iterator[Document]:
        for number, row in _rows(self.corpus) if self.corpus else ():
            identity, text = str(_need(row, "_id", self.corpus, number)), str(_need(row, "text", self.corpus, number))
            yield Document(path=path_of(identity), text=text, title=str(row.get("title") or "") or None)


def path_of(identity: str) -> str:
    """The document path under which a BEIR id is stored: itself, with what no path may hold percent-encoded."""
    return quote(identity, safe="/._-:,+@ ").strip("/") or "%"


def read(source: Path) -> Judged:
    """The judged collection at a folder or golden file; UsageError says what is missing."""
    if source.is_file():
        return _golden(source)
    qrels = next((path for path in (source / "qrels.tsv", source / "qrels" / "test.tsv") if path.is_file()), None)
    corpus, queries = source / "corpus.jsonl", source / "queries.jsonl"
    if qrels is None or not corpus.is_file() or not queries.is_file():
        golden = next((source / name for name in ("golden.jsonl", "golden.json") if (source / name).is_file()), None)
        if golden is not None:
            return _golden(golden)
        raise UsageError(f"{source} is not a judged collection", fix=LAYOUT)
    grades = _grades(qrels)
    judged = (
        JudgedQuery(
            id=(identity := str(_need(row, "_id", queries, number))),
            text=str(_need(row, "text", queries, number)),
            grades=grades.get(identity, {}),
        )
        for number, row in _rows(queries)
    )
    answered = tuple(query for query in judged if any(grade > 0 for grade in query.grades.values()))
    return Judged(name=source.name, queries=answered, corpus=corpus)


def _grades(path: Path) -> dict[str, dict[str, float]]:
    """Grades by query and document path. A first line whose grade is not a number is the header."""
    grades: dict[str, dict[str, float]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        cells = line.split("\t") if "\t" in line else line.split()
        if len(cells) == 4:  # trec_eval's own layout has an unused second column
            cells = [cells[0], *cells[2:]]
        try:
            query, document, grade = cells[0], cells[1], _grade(cells[2])
        except (IndexError, ValueError):
            if number == 1 or not line.strip():
                continue
            raise UsageError(f"{path.name}, line {number}: expected query, document, grade", fix=LAYOUT) from None
        grades.setdefault(query, {})[path_of(document)] = grade
    return grades


def _golden(path: Path) -> Judged:
    queries = list(_together((_judged(path, number, row), "id" in row) for number, row in _rows(path)).values())
    twice = [query for query, times in Counter(query.id for query in queries).items() if times > 1]
    if twice:
        raise UsageError(f"{path.name}: two questions have the id {twice[0]!r}", fix="give each its own, or none an id")
    return Judged(name=path.stem, queries=tuple(queries))


def _together(entries: Iterable[tuple[JudgedQuery, bool]]) -> dict[tuple[object, ...], JudgedQuery]:
    """One question in several entries without an id is one: `kb mark` writes a line for each place. Later grades win."""
    found: dict[tuple[object, ...], JudgedQuery] = {}
    for number, (entry, named) in enumerate(entries):
        key = (number,) if named else (entry.text, entry.within, entry.no_answer)
        known = found.get(key)
        found[key] = replace(known, grades={**known.grades, **entry.grades}) if known else entry
    return found


def _judged(path: Path, number: int, row: Any) -> JudgedQuery:
    """One entry of a golden file."""
    text = str(_need(row, "query", path, number))
    relevant, within = row.get("relevant") or {}, row.get("within")
    no_answer = bool(row.get("no_answer", False))
    if isinstance(relevant, list):
        relevant = dict.fromkeys(relevant, 1.0)
    if not isinstance(relevant, dict) or bool(relevant) == no_answer:
        raise UsageError(
            f"{path.name}, entry {number}: needs 'relevant' (a list of paths) or 'no_answer': true",
            fix='{"query": "install git", "relevant": ["notes/git.md#L3-L9"]}',
        )
    try:
        grades = {str(place): _grade(grade) for place, grade in relevant.items()}
    except (ValueError, TypeError):
        raise UsageError(f"{path.name}, entry {number}: a grade is a number", fix='{"notes/git.md": 2}') from None
    if within is not None and not isinstance(within, str):
        raise UsageError(f"{path.name}, entry {number}: 'within' is a path glob", fix='"within": "notes/**"')
    return JudgedQuery(str(row.get("id", number)), text, grades, within, no_answer)


def _grade(told: Any) -> float:
    """A grade that measures can be made of; below zero is zero, as trec_eval has it."""
    grade = float(told)
    if not math.isfinite(grade):
        raise ValueError
    return max(grade, 0.0)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSON array or of JSON lines, numbered from 1."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            if path.suffix == ".json":
                rows: Any = json.load(lines)
                yield from enumerate(rows["queries"] if isinstance(rows, dict) else rows, start=1)
                return
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as cause:
        raise UsageError(f"cannot read {path}: {cause}", fix=LAYOUT) from cause


def _need(row: Any, key: str, path: Path | None, number: int) -> Any:
    if not isinstance(row, Mapping) or key not in row:
        raise UsageError(f"{path}, entry {number}: no '{key}'", fix=LAYOUT)
    return row[key]
