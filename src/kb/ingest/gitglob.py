"""The patterns of .gitignore, entry by entry as git matches them, on the bytes of names.

pathspec matches whole paths: its ``!x`` also re-includes what lies below ``x``, and ``!*/`` re-includes nothing, where git,
which decides folder by folder, says otherwise. The tests compare these rules with git itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_POSIX = {
    b"alnum": b"0-9A-Za-z", b"alpha": b"A-Za-z", b"blank": b" \\t", b"cntrl": b"\\x00-\\x1f\\x7f", b"digit": b"0-9",
    b"graph": b"!-~", b"lower": b"a-z", b"print": b" -~", b"punct": b"!-/:-@\\[-`{-~", b"space": b"\\s", b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    regex: re.Pattern[bytes]
    keeps: bool  # begins with "!"
    folders_only: bool
    by_name: bool  # without a slash: compared with the last part of the path alone


def parse_rule(line: bytes) -> Rule | None:
    """One line of an ignore file; None for a comment, and for a pattern that matches nothing."""
    if line.startswith(b"#"):
        return None
    bare = line.rstrip(b" ")
    if bare.endswith(b"\\") and len(bare) < len(line) and (len(bare) - len(bare.rstrip(b"\\"))) % 2:
        bare += b" "  # an escaped space at the end belongs to the name
    keeps = bare.startswith(b"!")
    pattern = bare[1:] if keeps else bare
    folders_only = pattern.endswith(b"/")
    if folders_only:
        pattern = pattern[:-1]
    by_name = b"/" not in pattern
    if pattern.startswith(b"/"):
        pattern = pattern[1:]
    source = _translate(pattern) if pattern else None
    if source is None:
        return None
    return Rule(re.compile(source + rb"\Z", re.DOTALL), keeps, folders_only, by_name)


def decide(rules: tuple[Rule, ...], path: bytes, is_folder: bool) -> bool | None:
    """Whether the last rule that matches ignores the path; None when no rule does."""
    name = path.rsplit(b"/", 1)[-1]
    for rule in reversed(rules):
        if (is_folder or not rule.folders_only) and rule.regex.match(name if rule.by_name else path):
            return not rule.keeps
    return None


def _translate(pattern: bytes) -> bytes | None:
    out: list[bytes] = []
    at, end = 0, len(pattern)
    while at < end:
        char = pattern[at : at + 1]
        if char == b"*":
            stop = at
            while pattern[stop : stop + 1] == b"*":
                stop += 1
            part, at = _stars(pattern, at, stop)
            out.append(part)
        elif char == b"?":
            out.append(b"[^/]")
            at += 1
        elif char == b"[":
            found = _bracket(pattern, at + 1)
            if found is None:
                return None
            out.append(found[0])
            at = found[1]
        elif char == b"\\":
            if at + 1 == end:
                return None
            out.append(re.escape(pattern[at + 1 : at + 2]))
            at += 2
        else:
            out.append(re.escape(char))
            at += 1
    return b"".join(out)


def _stars(pattern: bytes, start: int, stop: int) -> tuple[bytes, int]:
    """``**`` between slashes or at an end is any number of folders, other stars are any part of one name."""
    opens = start == 0 or pattern[start - 1 : start] == b"/"
    if stop - start == 2 and opens:
        if stop == len(pattern):
            return (b".+" if start else b".*"), stop
        if pattern[stop : stop + 1] == b"/":
            return b"(?:.*/)?", stop + 1
    return b"[^/]*+" if stop == len(pattern) else b"[^/]*", stop


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int] | None:
    """A set such as ``[!a-z]``, whose ``[`` is before ``at``; None when it does not end."""
    inverted = pattern[at : at + 1] in (b"!", b"^")
    at += inverted
    parts: list[bytes] = []
    first = True
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"]" and not first:
            inside = b"".join(parts)
            body = (
                b"(?!/)[" + (b"^" if inverted else b"") + inside + b"]"
                if inside
                else (b"[^/]" if inverted else b"(?!)")
            )
            return body, at + 1
        first = False
        if pattern[at : at + 2] == b"[:" and (end := pattern.find(b":]", at)) > 0:
            if (known := _POSIX.get(pattern[at + 2 : end])) is None:
                return None
            parts.append(known)
            at = end + 2
            continue
        low, at = _member(pattern, at)
        high = low
        if pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] not in (b"]", b""):
            high, at = _member(pattern, at + 1)
        if low <= high:
            parts.append(b"\\x%02x-\\x%02x" % (low[0], high[0]))
    return None


def _member(pattern: bytes, at: int) -> tuple[bytes, int]:
    if pattern[at : at + 1] == b"\\" and at + 1 < len(pattern):
        at += 1
    return pattern[at : at + 1], at + 1
