"""File names of any bytes as paths that any store can hold, and secrets by their names."""

from __future__ import annotations

import os
import re
import unicodedata
from fnmatch import translate

_UNDECODABLE = re.compile("[\udc80-\udcff]")
_LOOKS_ESCAPED = re.compile(r"\\(?=x[0-9a-f]{2})")

SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .bzr .jj node_modules bower_components __pycache__ .venv venv .tox .nox .mypy_cache .pytest_cache"
    " .ruff_cache .hypothesis .eggs site-packages .gradle .terraform .next .nuxt .cache .Trash".split()
)
SECRET_FOLDERS = frozenset(".ssh .gnupg .aws .azure .kube .docker .password-store .gcloud".split())
_SECRET_NAMES = (
    ".env", ".env.*", "*.env", ".envrc", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.ppk",
    "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdb", "*.kdbx", "*.agilekeychain", "*.opvault", "*.asc.key",
    ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", "htpasswd", ".dockercfg",
    ".dockerconfigjson", ".git-credentials", ".vault-token", ".vault_pass*", ".s3cfg", ".boto", ".rclone.conf",
    "rclone.conf", "credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml",
    "credentials.csv", "credentials.ini", "credentials.xml", "credentials.db", "client_secret*.json", "secrets.json", "secrets.yml",
    "secrets.yaml", "secrets.toml", "secrets.env", "secret.json", "secret.yml", "secret.yaml", ".secrets", "master.key",
    "service-account*.json", "service_account*.json", "*.tfstate", "*.tfstate.backup", "terraform.tfvars",
    "*.auto.tfvars", "wp-config.php", "kubeconfig", "*.kubeconfig", "shadow", "gshadow", ".bash_history",
    ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history", "login.keychain*",
    "*.keychain", "*.keychain-db", "*.ovpn", "*.gpg", "*.pgp", "wallet.dat", "*.keytab", "cookies.sqlite", "key4.db",
    "logins.json",
)  # fmt: skip
_NOT_SECRET = ("*.pub", ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", "example.env",
               "sample.env", "template.env")  # fmt: skip
_SECRET = re.compile("|".join(map(translate, _SECRET_NAMES)))
_PUBLIC = re.compile("|".join(map(translate, _NOT_SECRET)))
PRIVATE_KEY = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[ \t]*\r?\n|PuTTY-User-Key-File-\d:"
)


def is_secret(name: str) -> bool:
    """By the name alone, in any case of letters."""
    lower = name.lower()
    return _SECRET.match(lower) is not None and _PUBLIC.match(lower) is None


def display_path(root: str, relative: str) -> str:
    """The path to store: valid Unicode, NFC, slashes; one name for one file and no name for two.

    A byte that is no UTF-8 becomes ``\\xNN``, and so does the backslash of a name that looks like that. A name that is
    not in NFC stays as it is where its NFC twin is another file.
    """
    parts: list[str] = []
    folder = root
    for part in relative.split(os.sep):
        parts.append(_display_name(folder, part))
        folder = os.path.join(folder, part)
    return "/".join(parts)


def _display_name(folder: str, name: str) -> str:
    if name.isascii() and "\\" not in name:
        return name
    shown = _LOOKS_ESCAPED.sub(r"\\x5c", name)
    shown = _UNDECODABLE.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", shown)
    normal = unicodedata.normalize("NFC", shown)
    if normal != shown and _other_file(os.path.join(folder, name), os.path.join(folder, normal)):
        return shown
    return normal


def _other_file(path: str, twin: str) -> bool:
    try:
        return not os.path.samestat(os.lstat(path), os.lstat(twin))
    except (OSError, ValueError):
        return False


def printable(path: str) -> str:
    """Any path as text that can be encoded: for reports, where no file system is at hand."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
