"""Changing one setting in a TOML text and nothing else: comments, order and layout stay as their owner wrote them.

Only lines of the form ``key = value`` are touched. The result is parsed and compared with what was meant; a file whose
layout this does not understand is refused, never spoilt.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from kb.errors import ConfigError

Path = tuple[str, ...]
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r"""\s*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')\s*""")


def put(text: str, path: Path, value: Any) -> str:
    """``text`` with the setting at ``path`` set."""
    wanted = tomllib.loads(text)
    table = wanted
    for part in path[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise _refused(path)
    table[path[-1]] = value
    lines = _lines(text)
    at = _find(lines, path)
    if at is not None:
        lines[at] = _replaced(lines[at], value)
    else:
        _insert(lines, path, value)
    return _checked("\n".join(lines) + "\n", wanted, path)


def drop(text: str, path: Path) -> str:
    """``text`` without the setting at ``path``; unchanged when it is not set."""
    wanted = tomllib.loads(text)
    table: Any = wanted
    for part in path[:-1]:
        table = table.get(part) if isinstance(table, dict) else None
    if not isinstance(table, dict) or path[-1] not in table:
        return text
    del table[path[-1]]
    lines = _lines(text)
    at = _find(lines, path)
    if at is None:
        raise _refused(path)
    del lines[at]
    return _checked("\n".join(lines) + "\n" if lines else "", wanted, path)


def get(text: str, path: Path) -> Any:
    """The value at ``path``, or None."""
    value: Any = tomllib.loads(text)
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def literal(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return quoted.replace("\x7f", "\\u007f")
    return "true" if value is True else "false" if value is False else repr(value)


def _lines(text: str) -> list[str]:
    """By newlines alone: other breaks may stand inside a value."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _find(lines: list[str], path: Path) -> int | None:
    """The line that sets ``path``: in its table, or with a dotted key in a table above it."""
    table: Path = ()
    for at, line in enumerate(lines):
        header = _HEADER.match(line)
        if header:
            table = _parts(header[1])
            continue
        key, equals, _ = _keyed(line)
        if equals and (*table, *_parts(key)) == path:
            return at
    return None


def _keyed(line: str) -> tuple[str, str, str]:
    """A line taken apart at the equals sign after its key."""
    end = 0
    while match := _PART.match(line, end):
        end = match.end()
        if line[end : end + 1] != ".":
            break
        end += 1
    return (line[:end], "=", line[end + 1 :]) if end and line[end : end + 1] == "=" else (line, "", "")


def _parts(dotted: str) -> Path:
    parts = []
    for part in _PART.findall(dotted):
        parts.append(str(tomllib.loads(f"x = {part}")["x"]) if part[0] in "\"'" else part)
    return tuple(parts)


def _replaced(line: str, value: Any) -> str:
    """The same key and the same comment with another value."""
    key, _, rest = _keyed(line)
    body = rest.strip()
    ends = (at for at, char in enumerate(body) if char == "#" and _whole(body[:at]))
    at = next(ends, len(body))
    comment = body[len(body[:at].rstrip()) :]
    return f"{key.rstrip()} = {literal(value)}{comment}"


def _whole(text: str) -> bool:
    try:
        tomllib.loads(f"x = {text}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def _insert(lines: list[str], path: Path, value: Any) -> None:
    setting = f"{_key(path[-1])} = {literal(value)}"
    if len(path) == 1:
        first = next((at for at, line in enumerate(lines) if _HEADER.match(line)), len(lines))
        while 0 < first < len(lines) and lines[first - 1].strip()[:1] in ("", "#"):
            first -= 1  # a comment above a table belongs to the table
        lines.insert(first, setting)
        return
    headers = [at for at, line in enumerate(lines) if (found := _HEADER.match(line)) and _parts(found[1]) == path[:-1]]
    if not headers:
        lines += [*([""] if lines and lines[-1].strip() else []), f"[{'.'.join(map(_key, path[:-1]))}]", setting]
        return
    end = headers[0] + 1
    last = end
    while end < len(lines) and not lines[end].lstrip().startswith("["):
        last = end + 1 if lines[end].strip() and not lines[end].lstrip().startswith("#") else last
        end += 1
    lines.insert(last, setting)


def _key(part: str) -> str:
    return part if _BARE.fullmatch(part) else literal(part)


def _checked(text: str, wanted: dict[str, Any], path: Path) -> str:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise _refused(path) from None
    if _full(found) != _full(wanted):
        raise _refused(path)
    return text


def _full(value: Any) -> Any:
    """Without empty tables, which a dropped setting may leave or not."""
    if not isinstance(value, dict):
        return value
    kept = {key: _full(item) for key, item in value.items()}
    return {key: item for key, item in kept.items() if item != {}}


def _refused(path: Path) -> ConfigError:
    return ConfigError(f"the layout of the settings file hides '{'.'.join(path)}'", fix="edit the file: kb config path")
