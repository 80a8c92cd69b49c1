"""Which files are found, and why the others are not."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kb.config import IngestSettings
from kb.ingest.build import Given
from kb.ingest.discover import Scan, scan
from kb.ingest.names import display_path, is_secret
from kb.ingest.work import SECRET_BYTES, Job, Origin, work


def walk(root: Path, scope: Path | None = None, settings: IngestSettings | None = None) -> Scan:
    return scan(os.path.realpath(root), os.path.realpath(scope or root), settings or IngestSettings())


def paths(result: Scan) -> list[str]:
    return [found.path for found in result.found]


def codes(result: Scan) -> dict[str, str]:
    return {issue.path: issue.code for issue in result.skipped}


def tree(root: Path, *names: str, text: str = "text\n") -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_ignore_files_of_all_levels_with_negation(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "a.md", "b.log", "keep.log", "sub/c.log", "sub/d.md", "sub/e.tmp", "build/x.md", "k.kb")
    (root / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n")
    (root / "sub" / ".gitignore").write_text("!c.log\n*.tmp\n")
    (root / ".kbignore").write_text("*.kb\n")
    result = walk(root)
    assert paths(result) == ["a.md", "keep.log", "sub/c.log", "sub/d.md"]
    assert codes(result)["build/"] == "ignored"
    assert codes(result)["k.kb"] == "ignored"


def test_rules_above_the_root_count_unless_they_hide_the_root_itself(tmp_path: Path) -> None:
    repo = tree(
        tmp_path / "repo", ".git/info/exclude", "docs/a.md", "docs/b.log", "docs/c.private", "out/d.md", "out/e.log"
    )
    (repo / ".git/info/exclude").write_text("*.private\n")
    (repo / ".gitignore").write_text("*.log\nout/\n")
    assert paths(walk(repo / "docs")) == ["a.md"]
    assert paths(walk(repo / "out")) == ["d.md", "e.log"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git decides")
def test_decisions_are_those_of_git(tmp_path: Path) -> None:
    chance = random.Random(20)
    parts = ["a", "b", "foo", "bar", "x.txt", "y.md", "build", "z"]
    rules = [
        "*.txt", "!x.txt", "build/", "/a", "a/b", "**/foo", "foo/**", "a/**/z", "!/b/", "b*", "?", "[ab]", "/*/foo", "\\!x",
        "y.md ", "x.t[a-z]t", "[!a]", "f[o", "***", "a**b", "**/**/z", "/**", "[[:alpha:]]", "b\\*", "é*", "*/", "*", "!*/",
        "!*.md", "foo/bar", "/z/**", "#c", "b/*.md",
    ]  # fmt: skip
    checked = 0
    for number in range(60):
        root = tmp_path / str(number)
        names = {
            "/".join(chance.choice(parts[:7]) for _ in range(chance.randint(1, 4))) + f"/{k}.md" for k in range(12)
        }
        names |= {
            "/".join(chance.choice(parts) for _ in range(chance.randint(0, 3))) + f"/{chance.choice(parts)}.q"
            for _ in range(12)
        }
        for name in names:
            file = root / name.strip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("text")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        for folder in [root, *(f for f in root.iterdir() if f.is_dir() and f.name != ".git")][:3]:
            (folder / ".gitignore").write_text("\n".join(chance.sample(rules, 4)) + "\n")
        said = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--others", "--exclude-standard"],
            check=True, capture_output=True,
        ).stdout.decode()  # fmt: skip
        wanted = sorted(path for path in said.split("\0") if path and not path.rsplit("/", 1)[-1].startswith("."))
        assert sorted(paths(walk(root))) == wanted, (root / ".gitignore").read_text()
        checked += len(names)
    assert checked > 1000


SECRETS = [
    ".env", ".env.local", ".env.production", "prod.env", ".envrc", "id_rsa", "id_ed25519", "ID_RSA", "server.pem", "tls.key",
    "cert.p12", "cert.pfx", "AuthKey.p8", "putty.ppk", "app.jks", "app.keystore", "vault.kdbx", ".netrc", "_netrc", ".npmrc",
    ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", "credentials", "credentials.json", "client_secret_1.json",
    "secrets.yml", "secrets.toml", "service-account.json", "terraform.tfstate", "terraform.tfvars", "wp-config.php",
    "kubeconfig", ".bash_history", "home.ovpn", "login.keychain-db", "wallet.dat", "key4.db", "master.key", ".vault-token",
]  # fmt: skip
PUBLIC = [
    "id_rsa.pub",
    ".env.example",
    ".env.sample",
    "environment.md",
    "keys.md",
    "secrets.md",
    "credentials.md",
    "key.txt",
]


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_known_by_name(name: str, tmp_path: Path) -> None:
    assert is_secret(name)
    root = tree(tmp_path / "r", name, "a.md")
    assert paths(walk(root)) == ["a.md"]
    assert codes(walk(root))[name] == "secret"
    named = walk(root, root / name)  # naming it on the command line does not help
    assert named.found == []
    assert [issue.code for issue in named.skipped] == ["secret"]


@pytest.mark.parametrize("name", PUBLIC)
def test_what_only_looks_like_a_secret_is_none(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
def test_private_keys_are_known_by_content(kind: str, tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "notes.txt", text=f"my key:\n-----BEGIN {kind}PRIVATE KEY-----\nMIIE\n")
    found = walk(root).found[0]
    outcome = work(Job(Origin(found.path, "default", found.source, str(root), found.stamp), Given(), ""))
    assert outcome.skipped is not None
    assert outcome.skipped.code == "secret"
    assert SECRET_BYTES >= 8192


def test_a_named_file_overrides_ignore_rules_and_hiding(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", ".hidden.md", "b.log")
    (root / ".gitignore").write_text("*.log\n")
    assert paths(walk(root)) == []
    assert paths(walk(root, root / "b.log")) == ["b.log"]
    assert paths(walk(root, root / ".hidden.md")) == [".hidden.md"]


def test_size_limits_are_separate_for_pdfs(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "a.md", "b.pdf", text="x" * 5000)
    settings = IngestSettings(max_file_mb=0.001, max_pdf_mb=1)
    result = walk(root, settings=settings)
    assert paths(result) == ["b.pdf"]
    assert codes(result) == {"a.md": "too_large"}


def test_links_stay_inside_and_each_file_is_found_once(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "a.md", "d/b.md", ".store/deep/c.md")
    tree(tmp_path, "outside/secret.md", "r-sibling/s.md")
    (root / "again.md").symlink_to(root / "a.md")
    (root / "d" / "loop").symlink_to(root)
    (root / "twin").symlink_to(root / "d")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "sib").symlink_to(tmp_path / "r-sibling")
    (root / "up.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "gone.md").symlink_to(root / "nothing")
    (root / "self").symlink_to(root / "self")
    (root / "store").symlink_to(root / ".store" / "deep")
    result = walk(root)
    assert sorted(paths(result)) == ["a.md", "d/b.md", "store/c.md"]
    said = codes(result)
    assert {said[name] for name in ("out", "sib", "up.md")} == {"outside"}
    assert {said[name] for name in ("again.md", "d/loop", "twin")} == {"duplicate"}
    assert {said[name] for name in ("gone.md", "self")} == {"broken_link"}


def test_a_link_to_a_key_is_a_secret_whatever_it_is_called(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "id_rsa", ".git/config")
    (root / "notes.txt").symlink_to(root / "id_rsa")
    (root / "conf").symlink_to(root / ".git")
    result = walk(root)
    assert paths(result) == []
    assert codes(result)["notes.txt"] == "secret"
    assert codes(result)["conf"] == "skipped_folder"


def test_pipes_and_sockets_are_never_opened(tmp_path: Path) -> None:
    import socket

    root = tree(tmp_path / "r", "a.md")
    os.mkfifo(root / "pipe.md")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(root)  # the path of a socket is short
    try:
        server.bind("s.md")
    finally:
        os.chdir(here)
        server.close()
    result = walk(root)
    assert paths(result) == ["a.md"]
    assert codes(result) == {"pipe.md": "special", "s.md": "special"}
    swapped = Job(Origin("pipe.md", "default", str(root / "pipe.md"), str(root)), Given(), "")
    outcome = work(swapped)  # found as a file, a pipe by now: no hang
    assert outcome.skipped is not None
    assert outcome.skipped.code == "special"


def test_a_folder_swapped_for_a_link_gives_nothing_away(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "d/a.md")
    tree(tmp_path, "outside/a.md", text="CANARY")
    found = walk(root).found[0]
    shutil.rmtree(root / "d")
    (root / "d").symlink_to(tmp_path / "outside")
    outcome = work(Job(Origin(found.path, "default", found.source, os.path.realpath(root), found.stamp), Given(), ""))
    assert outcome.entry is None
    assert outcome.skipped is not None
    assert outcome.skipped.code == "outside"


NAMES: list[bytes] = [
    b"a b.md", b"a_b.md", b"a-b.md", b"a#b.md", b"new\nline.md", b"esc\x1b[31m.md", b"bad\xff\xfe.md", b"bad\\xff\xfe.md",
    b"bad\\xff\\xfe.md", b"caf\xc3\xa9.md", b"cafe\xcc\x81.md", b"Case.md", b"case.md", "\u202ertl.md".encode(), b"-dash.md",
    b"x" * 250 + b".md", "日本語.md".encode(), b"100%.md", b"q?.md", b"quote'\".md", b"tab\t.md", b"back\\slash.md", b"\\.md",
    b"\\\\x41.md", b"a&b;c.md", b"~.md", b" lead.md", b"trail .md", b"no_extension", b"..dots.md", b"two..md", b"$(x).md",
]  # fmt: skip


def test_file_names_of_any_bytes_are_each_present_once(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    made = set()
    for name in NAMES:
        with open(os.path.join(os.fsencode(root), name), "wb") as file:
            file.write(name)
        if not name.startswith(b"."):
            made.add(name)
    result = walk(root)
    assert len(result.found) == len(made) == len(set(paths(result)))
    assert {os.path.basename(os.fsencode(found.source)) for found in result.found} == made
    for found in result.found:
        found.path.encode("utf-8")  # valid Unicode
        assert Path(found.source).read_bytes() == os.path.basename(os.fsencode(found.source))


def test_the_stored_name_of_undecodable_bytes_is_reversible() -> None:
    assert display_path("/nowhere", os.fsdecode(b"bad\xff.md")) == r"bad\xff.md"
    assert display_path("/nowhere", r"bad\xff.md") == r"bad\x5cxff.md"
    assert display_path("/nowhere", r"back\slash.md") == r"back\slash.md"


def test_an_unreadable_folder_is_named_and_the_rest_is_found(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    root = tree(tmp_path / "r", "a.md", "closed/b.md")
    (root / "closed").chmod(0)
    try:
        result = walk(root)
    finally:
        (root / "closed").chmod(0o755)
    assert paths(result) == ["a.md"]
    assert [(issue.path, issue.code) for issue in result.failed] == [("closed", "unreadable")]


def test_the_order_is_that_of_the_bytes(tmp_path: Path) -> None:
    root = tree(tmp_path / "r", "b.md", "a/z.md", "a.md", "Z.md", "é.md", "a-b.md")
    sources = [os.fsencode(found.source) for found in walk(root).found]
    assert sources == sorted(sources)


def test_a_deep_tree_is_walked_without_recursion(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    here = os.getcwd()
    try:
        os.chdir(folder)
        for _ in range(1000):
            os.mkdir("d")
            os.chdir("d")
        Path("deep.md").write_text("deep")
    finally:
        os.chdir(here)
    assert len(walk(folder).found) == 1
    subprocess.run(["rm", "-rf", str(folder)], check=True)
