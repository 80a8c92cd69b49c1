"""``kb config``: what is set, where it comes from, and changing it in the file."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kb import config as configuration
from kb import render
from kb.cli import tomledit
from kb.cli.flags import CONFIG_ACTIONS
from kb.cli.session import Session
from kb.cli.terminal import clean_line, table
from kb.config import Profile, Settings
from kb.errors import ConfigError, UsageError

LIST = "kb config list"
_ARGUMENTS = {"list": ("", 0), "path": ("", 0), "get": ("KEY", 1), "set": ("KEY VALUE", 2), "unset": ("KEY", 1)}


def config(session: Session) -> int:
    action, *words = session.words or ("list",)
    if action not in CONFIG_ACTIONS:
        raise UsageError(f"kb config has no '{action}'", fix=f"kb config {' | '.join(CONFIG_ACTIONS)}")
    shape, number = _ARGUMENTS[action]
    if len(words) != number:
        usage = f"kb config {action} {shape}".rstrip()
        raise UsageError(f"kb config {action} needs {shape or 'no more words'}", fix=usage)
    path = file_of(session)
    if action == "set":
        _write(path, _set(_text(path), words[0], words[1]))
    elif action == "unset":
        _write(path, _unset(_text(path), words[0]))
    if action == "path":
        return _path(session, path)
    return _show(session, path, words[0] if words else None, plain=action == "get")


def file_of(session: Session) -> Path:
    given = session.value("config")
    return Path(given).expanduser() if given else configuration.config_path()


def _path(session: Session, path: Path) -> int:
    if session.json:
        session.document(render.config(str(path), ()))
    else:
        session.out.line(clean_line(str(path)))
    return 0


# ---------------------------------------------------------------- reading


def _show(session: Session, path: Path, key: str | None, *, plain: bool) -> int:
    rows = settings(path, session)
    if key is not None:
        wanted = ".".join(_location(key))
        rows = [row for row in rows if row[0] == wanted] or [(wanted, None, "not set")]
    else:
        rows = [row for row in rows if not (row[0].startswith("profiles.") and row[2] == "default")]
    if session.json:
        session.document(render.config(str(path), rows))
        return 0
    if plain:
        session.out.line(_shown(rows[0][1]))
    elif key is not None:
        session.note(f"{rows[0][0]} = {_shown(rows[0][1]) or 'not set'}", (f"  ({clean_line(rows[0][2])})", "dim"))
    else:
        cells = [(key, _shown(value), clean_line(source)) for key, value, source in rows]
        table(session.out, ("setting", "value", "from"), cells, flexible=(1, 2))
    return 0


def _shown(value: Any) -> str:
    return "" if value is None else clean_line(value if isinstance(value, str) else tomledit.literal(value))


def settings(path: Path, session: Session) -> list[tuple[str, Any, str]]:
    """Every setting, its value and where that comes from."""
    explicit = path if session.value("config") or path.exists() else None
    found = configuration.load(explicit)
    text = _text(path)
    rows = [("store", *_store(found, text))]
    for section, kind in configuration.SECTIONS.items():
        for each in fields(kind):
            key = f"{section}.{each.name}"
            name = f"KB_{section}_{each.name}".upper()
            value = getattr(getattr(found, section), each.name)
            origin = name if os.environ.get(name) else _origin(text, (section, each.name))
            rows.append((key, value, "profile" if value is None and section == "search" else origin))
    for collection, profile in sorted((found.collections or {}).items()):
        rows.append((f"collections.{collection}.profile", profile, "file"))
    for name, each_profile in (found.profiles or {}).items():
        for each in fields(Profile):
            if each.name != "name":
                source = _origin(text, ("profiles", name, each.name))
                rows.append((f"profiles.{name}.{each.name}", getattr(each_profile, each.name), source))
    return rows


def _store(found: Settings, text: str) -> tuple[str, str]:
    if os.environ.get("KB_STORE"):
        return os.environ["KB_STORE"], "KB_STORE"
    return (found.store, "file") if found.store else (str(configuration.default_store()), "default")


def _origin(text: str, path: tuple[str, ...]) -> str:
    return "default" if tomledit.get(text, path) is None else "file"


# ---------------------------------------------------------------- writing


def change(path: Path, wanted: Sequence[tuple[str, str | None]]) -> None:
    """Several settings in one step, by their dotted keys and as ``kb config set`` is given them; None unsets."""
    text = _text(path)
    for key, value in wanted:
        text = _unset(text, key) if value is None else _set(text, key, value)
    _write(path, text)


def held(path: Path, key: str) -> Any:
    """What the file itself says of a setting; None where it says nothing."""
    text, place = _text(path), _location(key)
    found = tomledit.get(text, place)
    if found is None and place[0] == "collections":
        short = tomledit.get(text, place[:2])
        return short if isinstance(short, str) else None
    return found


def _set(text: str, key: str, raw: str) -> str:
    path = _location(key)
    if path[0] == "collections" and isinstance(tomledit.get(text, path[:2]), str):
        path = path[:2]  # written in its short form: memory = "memory"
    return tomledit.put(text, path, _typed(path, raw))


def _unset(text: str, key: str) -> str:
    path = _location(key)
    if path[0] == "collections" and isinstance(tomledit.get(text, path[:2]), str):
        path = path[:2]
    return tomledit.drop(text, path)


def _location(key: str) -> tuple[str, ...]:
    """Where a dotted key lives in the file; ConfigError when there is no such setting."""
    section, _, rest = key.partition(".")
    if key == "store":
        return ("store",)
    if section in configuration.SECTIONS and rest in {each.name for each in fields(configuration.SECTIONS[section])}:
        return (section, rest)
    if section == "collections" and rest:
        return ("collections", rest.removesuffix(".profile"), "profile")
    name, _, field = rest.rpartition(".")
    if section == "profiles" and name and field in {each.name for each in fields(Profile)} - {"name"}:
        return ("profiles", name, field)
    import difflib

    known = [f"{part}.{each.name}" for part, kind in configuration.SECTIONS.items() for each in fields(kind)]
    close = difflib.get_close_matches(key, [*known, *(name.partition(".")[2] for name in known)], n=1)
    meant = next((name for name in known if close and name in (close[0], f"{name.partition('.')[0]}.{close[0]}")), None)
    raise ConfigError(f"unknown setting '{key}'" + (f"; did you mean {meant}?" if meant else ""), fix=LIST)


def _typed(path: tuple[str, ...], raw: str) -> Any:
    """Text as the type of its setting; what is out of range is refused here or when the whole file is checked."""
    if path[0] in configuration.SECTIONS:
        return configuration.coerce(".".join(path), raw)
    if path[0] != "profiles":
        return raw
    kind = next(str(each.type) for each in fields(Profile) if each.name == path[2]).split(" |")[0]
    if kind == "bool" and raw in ("true", "false"):
        return raw == "true"
    try:
        number = {"int": int, "float": float}.get(kind, str)(raw)
        if isinstance(number, float) and number - number != 0:
            raise ValueError
    except ValueError:
        names = {"int": "a whole number", "float": "a number"}
        raise ConfigError(f"{'.'.join(path)} must be {names[kind]}, not '{raw}'", fix=LIST) from None
    return number


def _text(path: Path) -> str:
    """The file as it is; "" when there is none."""
    try:
        text = path.read_text(encoding="utf-8")
        tomllib.loads(text)
        return text
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise ConfigError(f"cannot read {path}: {cause}", fix="correct the file or remove it") from cause


def _write(path: Path, text: str) -> None:
    """Check the new text whole, then put it in place in one step; a link stays a link."""
    real = path.resolve()
    if text == _text(path):
        return
    real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=".config-", suffix=".toml")  # mode 0600
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            configuration.load(part, environ={})
        except ConfigError as problem:
            raise ConfigError(problem.message.replace(str(part), str(path)), fix=problem.fix) from problem
        if real.exists():
            os.chmod(part, real.stat().st_mode & 0o777)
        os.replace(part, real)
    finally:
        part.unlink(missing_ok=True)
