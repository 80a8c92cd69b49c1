"""Every verb on a real store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.wire import validate


def events(err: bytes) -> list[dict[str, object]]:
    found = [json.loads(line) for line in err.splitlines()]
    for event in found:
        validate(event)
    return found


# ---------------------------------------------------------------- add


def test_add_tells_what_it_did(run: Run, store: Path, sample: Path) -> None:
    done = run("add", sample)
    assert done.code == 0
    assert done.err == b""
    assert "added" in done.text
    assert "unchanged" in run("add", sample).text


def test_I05_add_reports_events_as_json_lines(run: Run, store: Path, sample: Path) -> None:
    done = run("add", sample, "--json")
    report = done.document
    told = events(done.err)
    assert report["ok"] is True
    documents = [event for event in told if event["event"] == "document"]
    assert len(documents) == report["added"] > 5
    assert next(event["event"] for event in told if event["event"] in ("scan", "document")) == "scan"
    assert told[-1]["event"] == "done"
    assert [event["done"] for event in told] == sorted(event["done"] for event in told)  # type: ignore[type-var]


def test_I05_add_is_silent_with_quiet(run: Run, store: Path, sample: Path) -> None:
    done = run("add", sample, "--quiet")
    assert (done.code, done.out, done.err) == (0, b"", b"")
    done = run("add", sample, "--quiet", "--json")
    assert done.document["unchanged"] > 5
    assert done.err == b""


def test_add_names_what_failed_and_goes_on(run: Run, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nThis one is read.\n")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\nnot really\n")
    done = run("add", folder)
    assert done.code == 1
    assert "bad.pdf" in done.errors
    assert "1 added" in done.text
    assert "1 failed" in done.text
    done = run("add", folder, "--json")
    assert done.code == 1
    assert [issue["path"] for issue in done.document["failed"]] == ["bad.pdf"]


def test_add_groups_what_it_skipped(run: Run, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n")
    for number in range(5):
        (folder / f"{number}.bin").write_bytes(b"\x00\x01\x02\xff" * 64)
    done = run("add", folder)
    assert done.code == 0
    assert "5 × " in done.text
    assert "0.bin, 1.bin, 2.bin, …" in done.text


def test_add_takes_text_from_stdin(run: Run, store: Path) -> None:
    done = run("add", "-", "--title", "Meeting with Ada", "--tags", "work,ada", stdin=b"We talked about the engine.\n")
    assert done.code == 0, done.errors
    (hit,) = run("search", "engine", "--tags", "ada,work", "--fts-only", "--json").document["hits"]
    assert hit["title"] == "Meeting with Ada"
    assert hit["tags"] == ["work", "ada"]
    assert run("add", "-", "--title", "Meeting with Ada", stdin=b"And about punched cards.\n").code == 0
    assert run("status", "--json").document["documents"] == 1, "the same title replaces it"


def test_add_refuses_empty_stdin(run: Run, store: Path) -> None:
    assert run("add", "-", stdin=b" \n").code == 2


def test_add_takes_records(run: Run, store: Path, tmp_path: Path) -> None:
    lines = [
        {"path": "a.md", "text": "# A\n\nAbout apples.", "tags": ["fruit"], "type": "note", "trust": "generated"},
        {"path": "b.md", "text": "About pears.", "title": "Pears", "date": "2026-01-31", "repo": "r", "version": "2"},
    ]
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", encoding="utf-8")
    done = run("add", "--jsonl", file, "--tags", "all", "--repo", "default-repo", "--json")
    assert done.code == 0, done.errors
    assert done.document["added"] == 2
    first, second = run("list", "--json").document["documents"]
    assert (first["tags"], first["type"], first["trust"], first["repo"]) == (
        ["fruit", "all"],
        "note",
        "generated",
        "default-repo",
    )
    assert (second["title"], second["date"], second["repo"], second["version"]) == ("Pears", "2026-01-31", "r", "2")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '"text"',
        "{}",
        '{"path": "a.md"}',
        '{"path": "a.md", "text": 3}',
        '{"path": "a.md", "text": "x", "colour": "red"}',
        '{"path": "a.md", "text": "x", "type": "word"}',
        '{"path": "a.md", "text": "x", "trust": "high"}',
        '{"path": "a.md", "text": "x", "tags": "a,b"}',
        '{"path": "a.md", "text": "x", "tags": [1]}',
        '{"path": "a.md", "text": "x", "date": "soon"}',
        '{"path": "a.md", "text": "x", "date": 3}',
        "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
    ],
)
def test_a_bad_record_is_named_and_the_rest_goes_on(run: Run, store: Path, line: str) -> None:
    good = '{"path": "good.md", "text": "This one is read."}'
    done = run("add", "--jsonl", "-", "--json", stdin=f"{line}\n{good}\n".encode("latin-1"))
    assert done.code == 1
    report = done.document
    assert report["added"] == 1
    assert [issue["path"] for issue in report["failed"]] == ["stdin:1"]


def test_add_of_what_is_not_there(run: Run, store: Path) -> None:
    done = run("add", "nowhere", "--json")
    assert done.code in (1, 2)
    assert "nowhere" in done.text + done.errors


@pytest.mark.parametrize("argv", [["x", "--title", "T"], ["-", "--jsonl", "-"]])
def test_add_refuses_what_makes_no_sense(run: Run, store: Path, argv: list[str]) -> None:
    assert run("add", *argv, stdin=b"x").code == 2


# ---------------------------------------------------------------- search


def test_search_answers_for_people(run: Run, filled: Path) -> None:
    done = run("search", "install", "git", "--fts-only", "--top", "3")
    assert done.code == 0
    assert done.text.startswith("1. Installing Git")
    assert "notes/git-install.md#L" in done.text
    assert "\x1b" not in done.text
    assert "lexical (fts" in done.errors


def test_search_answers_for_programs(run: Run, filled: Path) -> None:
    done = run("search", "install git", "--json")
    found = done.document
    assert done.err == b""
    assert found["returned"] == len(found["hits"]) > 0
    assert found["hits"][0]["doc_path"] == "notes/git-install.md"


def test_N12_top_limits_and_few_are_fine(run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("search", "git", "--top", "2", "--json").document["returned"] == 2
    few = run("search", "stampedes", "--fts-only", "--json")
    assert (few.code, few.document["returned"]) == (0, 1)
    monkeypatch.setenv("KB_SEARCH_DEFAULT_TOP", "1")
    assert run("search", "git", "--json").document["returned"] == 1


def test_N10_type_narrows_and_an_unknown_one_is_refused(run: Run, filled: Path) -> None:
    for kind in ("pdf", "markdown", "code"):
        types = {hit["type"] for hit in run("search", "the", "--type", kind, "--json").document["hits"]}
        assert types == {kind}
    refused = run("search", "x", "--type", "word", "--json")
    assert refused.code == 2
    assert refused.out == b""
    assert refused.error["code"] == "usage"
    assert all(name in refused.error["hint"] for name in ("pdf", "markdown", "code", "note"))


@pytest.mark.parametrize("query", ["", "   ", "?!", '""'])
def test_nothing_to_search_for_finds_nothing(run: Run, filled: Path, query: str) -> None:
    assert run("search", query).code == 0
    done = run("search", query, "--json")
    assert (done.code, done.document["hits"]) == (0, [])


def test_no_hit_says_what_to_try(run: Run, filled: Path) -> None:
    done = run("search", "zebrafish", "--fts-only", "--tags", "git")
    assert (done.code, done.out) == (0, b"")
    assert "Nothing found" in done.errors
    assert "--mode hybrid" in done.errors
    assert "fewer filters" in done.errors


def test_an_empty_store_says_so(run: Run, store: Path) -> None:
    run("add", "-", "--title", "x", stdin=b"x")
    run("remove", "stdin/x.md")
    assert "kb add PATH" in run("search", "anything").errors


def test_a_store_that_is_not_there_says_so(run: Run, store: Path) -> None:
    for verb in (["search", "x"], ["list"], ["status"], ["get", "x"], ["check"], ["remove", "x"]):
        done = run(*verb, "--json")
        assert done.code == 2
        assert done.error["code"] == "store_not_found"
        assert "kb add" in done.error["hint"]
        assert not store.exists(), "asking makes nothing"


def test_a_query_from_stdin(run: Run, filled: Path) -> None:
    asked = run("search", "-", "--json", stdin=b"install git\n").document
    assert asked["query"] == "install git"
    assert asked["hits"] == run("search", "install git", "--json").document["hits"]


def test_a_query_that_looks_like_a_flag(run: Run, filled: Path) -> None:
    assert run("search", "--json", "--", "--global").document["query"] == "--global"


def test_modes(run: Run, filled: Path) -> None:
    for flags, mode in ((["--fts-only"], "lexical"), (["--vec-only"], "vector"), (["--mode", "lexical"], "lexical")):
        found = run("search", "install git", *flags, "--json").document
        assert found["mode"] == mode
        assert found["legs"]["lexical" if mode == "vector" else "vector"]["ran"] is False
    assert run("search", "x", "--fts-only", "--mode", "lexical").code == 0


@pytest.mark.parametrize(
    "flags", [["--fts-only", "--vec-only"], ["--fts-only", "--mode", "vector"], ["--vec-only", "--mode", "hybrid"]]
)
def test_modes_that_contradict(run: Run, filled: Path, flags: list[str]) -> None:
    done = run("search", "x", *flags)
    assert done.code == 2
    assert flags[0] in done.errors


def test_hybrid_can_be_off_by_default(run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_SEARCH_HYBRID", "false")
    assert run("search", "git", "--json").document["mode"] == "lexical"
    assert run("search", "git", "--mode", "hybrid", "--json").document["mode"] == "hybrid"


def test_profiles(run: Run, filled: Path) -> None:
    assert run("search", "git", "--profile", "strict", "--json").document["profile"] == "strict"
    refused = run("search", "git", "--profile", "nonsense")
    assert refused.code == 2
    assert "notes, strict, memory, snippets" in refused.errors


def test_the_next_page_is_a_command(run: Run, filled: Path) -> None:
    import shlex

    first = run("search", "git", "install", "--top", "2")
    command = next(line for line in first.errors.splitlines() if line.startswith("next page: "))
    words = shlex.split(command.removeprefix("next page: "))
    assert words[0] == "kb"
    second = run(*words[1:])
    assert second.code == 0
    assert second.text.startswith("3. ")
    assert "next page" not in run("search", "git", "--top", "1000").errors


def test_a_cursor_of_another_search_is_refused(run: Run, filled: Path) -> None:
    cursor = run("search", "git", "--top", "1", "--json").document["next_cursor"]
    refused = run("search", "apples", "--cursor", cursor, "--json")
    assert refused.code == 2
    assert refused.error["code"] == "stale_cursor"


def test_L12_raw_bm25_only_under_explain(run: Run, filled: Path) -> None:
    for flags in ([], ["--json"]):
        assert b"bm25 -" not in run("search", "git", *flags).out
        assert b'"bm25":' not in run("search", "git", *flags).out
    assert "bm25 -" in run("search", "git", "--explain").text
    assert b'"bm25":-' in run("search", "git", "--explain", "--json").out


def test_H09_explain_shows_legs_and_filters(run: Run, filled: Path) -> None:
    text = run("search", "install git", "--tags", "git", "--explain").text
    assert "lexical  rank 1" in text
    assert "gives 0.0" in text
    assert "leave 1 of" in text or "leave 2 of" in text


# ---------------------------------------------------------------- get, list, status, remove


def test_get_gives_the_exact_text(run: Run, filled: Path, sample: Path) -> None:
    file = sample / "notes" / "git-install.md"
    assert run("get", "notes/git-install.md").out == file.read_bytes()
    lines = file.read_bytes().splitlines(keepends=True)
    assert run("get", "notes/git-install.md#L6-L8").out == b"".join(lines[5:8])
    hit = run("search", "winget", "--fts-only", "--json").document["hits"][0]
    assert "winget" in run("get", hit["chunk_id"]).text
    assert run("get", hit["citation"]["uri"]).code == 0


def test_get_with_context(run: Run, filled: Path) -> None:
    hit = run("search", "winget", "--fts-only", "--json").document["hits"][0]
    (passage,) = run("get", hit["chunk_id"], "--context", "1", "--json").document["passages"]
    assert passage["chunk_id"] == hit["chunk_id"]
    assert len(passage["before"]) + len(passage["after"]) >= 1


def test_get_of_nothing(run: Run, filled: Path) -> None:
    done = run("get", "nowhere.md", "--json")
    assert done.code == 2
    assert done.error["code"] == "not_found"


def test_list(run: Run, filled: Path) -> None:
    found = run("list", "--json").document
    assert found["returned"] == len(found["documents"]) == run("status", "--json").document["documents"]
    assert [d["path"] for d in found["documents"]] == sorted(d["path"] for d in found["documents"])
    assert found["next"] is None
    rows = run("list", "--type", "code").text.splitlines()
    assert [row.split("\t")[0] for row in rows] == ["code/ratelimit.py", "code/retry.js"]


def test_list_in_pages(run: Run, filled: Path) -> None:
    every = [d["doc_id"] for d in run("list", "--json").document["documents"]]
    seen: list[str] = []
    after: list[str] = []
    while True:
        page = run("list", "--limit", "3", *after, "--json").document
        seen += [d["doc_id"] for d in page["documents"]]
        if page["next"] is None:
            break
        after = ["--after", page["next"]]
    assert seen == every


def test_status(run: Run, filled: Path) -> None:
    found = run("status", "--json").document
    assert found["chunks"] >= found["documents"] > 5
    text = run("status").text
    assert str(filled) in text
    assert "markdown" in text


def test_remove(run: Run, filled: Path, sample: Path) -> None:
    done = run("remove", "notes/bread.txt")
    assert done.code == 0
    assert "removed 1 document" in done.text
    assert (sample / "notes" / "bread.txt").exists()
    assert run("remove", "code", "--json").document["removed"] == 2
    assert run("remove", "nowhere", "--json").code == 2


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_name_removes_nothing(
    run: Run, filled: Path, sample: Path, monkeypatch: pytest.MonkeyPatch, empty: str
) -> None:
    monkeypatch.chdir(sample)  # where the documents come from
    before = run("list", "--json").document["returned"]
    for verb in ("remove", "get"):
        refused = run(verb, empty, "--json")
        assert (refused.code, refused.error["code"]) == (2, "usage")
    assert run("list", "--json").document["returned"] == before


# ---------------------------------------------------------------- upkeep


def test_check_repair_doctor(run: Run, filled: Path) -> None:
    for verb in ("check", "repair", "doctor"):
        done = run(verb, "--json")
        assert done.document["ok"] is True, done.document
        assert done.code == 0
        assert run(verb).code == 0


def test_doctor_works_without_a_store(run: Run, store: Path) -> None:
    done = run("doctor", "--json")
    assert done.code == 0
    assert not store.exists()


def test_doctor_exits_3_when_something_is_broken(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "config.toml"
    broken.write_text("[search\n")
    done = run("doctor", "--json", "--config", broken)
    assert done.code == 3
    assert done.document["ok"] is False


def test_export_and_import(run: Run, filled: Path, tmp_path: Path) -> None:
    pack = tmp_path / "kb.pack"
    done = run("export", pack, "--json")
    assert done.code == 0
    assert done.document["documents"] == run("status", "--json").document["documents"]
    assert (pack.stat().st_mode & 0o777) == 0o600
    assert run("export", "-").out == pack.read_bytes()
    other = tmp_path / "other"
    assert run("import", pack, "--store", other, "--json").document["added"] == done.document["documents"]
    question = ["search", "install git", "--json"]
    copied, own = run(*question, "--store", other).document["hits"], run(*question).document["hits"]
    assert [hit["chunk_id"] for hit in copied] == [hit["chunk_id"] for hit in own]


def test_import_of_something_else(run: Run, store: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a pack")
    assert run("import", tmp_path / "x").code == 2
    assert run("import", tmp_path / "nowhere").code == 2


def test_eval(run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_EMBED_MODEL", "hashing:64")
    folder = tmp_path / "judged"
    folder.mkdir()
    words = ("apples", "pears", "plums")
    (folder / "corpus.jsonl").write_text("".join(f'{{"_id": "{w}", "text": "About {w}."}}\n' for w in words))
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "q-{w}", "text": "{w}"}}\n' for w in words))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q-{w}\t{w}\t1\n" for w in words))
    saved = tmp_path / "run.json"
    done = run("eval", folder, "--modes", "lexical", "--save", saved)
    assert done.code == 0, done.errors
    assert "lexical" in done.text
    again = run("eval", folder, "--modes", "lexical", "--baseline", saved, "--json")
    assert again.code == 0
    assert again.document["modes"][0]["means"]["ndcg@10"] == 1.0
    assert not store.exists()
    picture = tmp_path / "plots" / "run.svg"
    drawn = run(
        *("eval", folder, "--modes", "lexical", "--profile", "notes", "--profiles", "strict", "--budgets", "300,2000"),
        *("--plot", picture, "--foreign", folder, "--fail-under", "ndcg@10=0.5,recall@300t=0.1", "--json"),
    )
    assert drawn.code == 0, drawn.errors
    assert [row["profile"] for row in drawn.document["modes"]] == ["notes", "strict"]
    assert set(drawn.document["modes"][0]["means"]) >= {"recall@300t", "recall@2000t"}
    assert picture.read_text("utf-8").startswith("<svg")
    assert run("eval", folder, "--modes", "lexical", "--budgets", "none", "--fail-under", "mrr@10=1").code == 0


@pytest.mark.parametrize(
    "wrong",
    [["--budgets", "many"], ["--budgets", "0"], ["--fail-under", "ndcg"], ["--fail-under", "ndcg@5=0.5"]],
    ids=lambda words: "=".join(words),
)
def test_eval_refuses_what_it_cannot_measure(run: Run, store: Path, tmp_path: Path, wrong: list[str]) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text('{"query": "git", "relevant": ["a.md"]}\n')
    refused = run("eval", golden, *wrong, "--json")
    assert refused.code == 2
    assert refused.error["hint"]


# ---------------------------------------------------------------- kb alone


def test_the_start_page_says_what_to_type(run: Run, store: Path, sample: Path) -> None:
    before = run()
    assert before.code == 0
    assert "kb add ~/notes" in before.text
    run("add", sample)
    assert "kb search" in run().text
    assert "documents" in run().text
