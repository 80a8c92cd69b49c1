"""From the words of a command line to checked values. argparse takes the words apart; every value is checked here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NoReturn

from kb.cli.flags import GLOBAL_FLAGS, VERBS, Flag, Verb, flags_of
from kb.errors import UsageError

_GLOBAL = {name: flag for flag in GLOBAL_FLAGS for name in (flag.name, flag.short) if name}
OTHER_NAMES = {  # what other tools call these verbs
    "index": "add", "ingest": "add", "init": "add", "find": "search", "query": "search", "grep": "search",
    "show": "get", "cat": "get", "ls": "list", "rm": "remove", "delete": "remove", "stats": "status", "info": "status",
}  # fmt: skip
LATER = ("serve", "mcp")
_NUMBER = re.compile(r"-\.?\d")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command, understood: the verb (None for kb alone), its words and the values of all its flags."""

    verb: Verb | None
    words: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    argv: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        name, _, problem = message.removeprefix("argument ").partition(": ")
        name = name.split("/")[-1]
        if problem.startswith("expected one"):
            raise UsageError(f"{name} needs a value", fix=f"{self.prog} {name}=VALUE")
        if problem.startswith("ignored explicit"):
            raise UsageError(f"{name} takes no value", fix=f"{self.prog} {name}")
        raise UsageError(message, fix=f"{self.prog} --help")


def parse(argv: Sequence[str]) -> Invocation:
    before, name, after = _split(argv)
    if name is None:
        return Invocation(None, (), _values(GLOBAL_FLAGS, _tokens(GLOBAL_FLAGS, "kb", before)[0]))
    if name == "help":
        return parse([*before, *after[:1], "--help"])
    verb = _verb(name, after)
    flags = flags_of(verb)
    if "--version" in before or "-V" in before:  # of kb: some verbs have a --version of their own
        return parse(before)
    cut = after.index("--") if "--" in after else len(after)
    raw, extra = _tokens(flags, f"kb {verb.name}", [*before, *after[:cut]])
    words = (*_words(extra, verb, flags), *after[cut + 1 :])
    values = _values(flags, raw)
    if not values["help"] and values["version"] is not True:
        _count(verb, words, values)
    return Invocation(verb, words, values, tuple(argv))


def wants_json(argv: Sequence[str]) -> bool:
    """Whether errors go out as JSON, known even when the rest cannot be parsed."""
    head = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in head


def _split(argv: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """The global flags before the verb, the verb, and all that follows it."""
    tokens, before, at = list(argv), [], 0
    while at < len(tokens):
        token = tokens[at]
        if token == "--" or token == "-" or not token.startswith("-"):
            break
        name, given, _ = token.partition("=")
        flag = _GLOBAL.get(name)
        if flag is None:
            _refuse_flag(name, None)
        before.append(token)
        if flag.takes != "switch" and not given:
            before += tokens[at + 1 : at + 2]
            at += 1
        at += 1
    rest = tokens[at:]
    if rest and rest[0] == "--":
        rest = rest[1:]
    return before, (rest[0] if rest else None), rest[1:]


def _verb(name: str, after: Sequence[str]) -> Verb:
    if name in VERBS:
        return VERBS[name]
    if name in LATER:
        raise UsageError(f"kb {name} comes in a later release", fix="kb search QUERY --json")
    import difflib

    close = [OTHER_NAMES[name]] if name in OTHER_NAMES else difflib.get_close_matches(name, VERBS, n=1)
    if close and " " not in name:
        raise UsageError(f"there is no verb '{name}'; did you mean {close[0]}?", fix=" ".join(["kb", close[0], *after]))
    query = " ".join([name, *(word for word in after if not word.startswith("-"))])
    quoted = query.replace("\\", "\\\\").replace('"', '\\"')
    raise UsageError(f"there is no verb '{name}'", fix=f'kb search "{quoted}"      (all verbs: kb --help)')


def _tokens(flags: Sequence[Flag], prog: str, tokens: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    parser = _Parser(prog=prog, add_help=False, allow_abbrev=False)
    for flag in flags:
        names = [name for name in (flag.short, flag.name) if name]
        action = {"switch": "store_true", "list": "append"}.get(flag.takes, "store")
        parser.add_argument(*names, dest=flag.dest, action=action)
    namespace, extra = parser.parse_known_args(list(tokens))
    return vars(namespace), extra


def _words(extra: Sequence[str], verb: Verb, flags: Sequence[Flag]) -> list[str]:
    for word in extra:
        if word.startswith("-") and word != "-" and " " not in word and not _NUMBER.match(word):
            _refuse_flag(word.partition("=")[0], verb)
    return list(extra)


def _refuse_flag(name: str, verb: Verb | None) -> NoReturn:
    import difflib

    where = "kb" if verb is None else f"kb {verb.name}"
    known = [flag.name for flag in (GLOBAL_FLAGS if verb is None else flags_of(verb))]
    owners = [each.name for each in VERBS.values() if name in {flag.name for flag in each.flags}]
    if verb is None and owners:
        owner = "search" if "search" in owners else owners[0]
        raise UsageError(f"{name} goes after the verb", fix=f"kb {owner} … {name}")
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    after = f"      (words that begin with -: {where} -- {name})" if verb is not None and verb.most is None else ""
    raise UsageError(f"{where} has no flag {name}{hint}", fix=f"{where} --help{after}")


def _count(verb: Verb, words: Sequence[str], values: dict[str, Any]) -> None:
    if len(words) < verb.least or (verb.name == "add" and not words and not values["jsonl"]):
        command = f"kb {verb.name}"
        raise UsageError(f"{command} needs {verb.words}", fix=f"{command} {verb.words}      ({command} --help)")
    if verb.most is not None and len(words) > verb.most:
        extra = words[verb.most]
        raise UsageError(f"kb {verb.name} does not know what to do with '{extra}'", fix=f"kb {verb.name} --help")


def _values(flags: Sequence[Flag], raw: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for flag in flags:
        text = raw[flag.dest]
        if flag.takes == "switch":
            values[flag.dest] = bool(text)
        elif flag.takes == "list":
            parts = [part.strip() for item in text or () for part in item.split(",")]
            values[flag.dest] = tuple(dict.fromkeys(value(flag, part) for part in parts if part))
        else:
            values[flag.dest] = None if text is None else value(flag, text)
    return values


def value(flag: Flag, text: str) -> Any:
    """One value of a flag as its type, or a UsageError that says what is allowed."""
    if flag.choices and text not in flag.choices:
        raise UsageError(f"{flag.name} cannot be '{text}'", fix=f"{flag.name} {' | '.join(flag.choices)}")
    if flag.takes in ("int", "float"):
        return _number(flag, text)
    if flag.takes == "date":
        return day(flag.name, text, date.today())
    return text


def _number(flag: Flag, text: str) -> float:
    try:
        number = int(text) if flag.takes == "int" else float(text)
    except ValueError:
        number = float("nan")
    if number - number != 0:  # NaN and infinities
        kind = "a whole number" if flag.takes == "int" else "a number"
        raise UsageError(f"{flag.name} must be {kind}, not '{text}'", fix=f"{flag.name} {_example(flag)}")
    if (flag.low is not None and number < flag.low) or (flag.high is not None and number > flag.high):
        bounds = f"between {flag.low:g} and {flag.high:g}"
        raise UsageError(f"{flag.name} must be {bounds}, not {text}", fix=f"{flag.name} {_example(flag)}")
    return number


def _example(flag: Flag) -> str:
    return "10" if flag.takes == "int" else "0.5"


def day(name: str, text: str, today: date) -> str:
    """An ISO day: 2026-01-31, today, yesterday, or so many days, weeks, months or years ago (7d, 2w, 6m, 1y)."""
    known = {"today": 0, "yesterday": 1}
    ago = re.fullmatch(r"(\d{1,5})([dwmy])", text)
    if ago:
        known[text] = int(ago[1]) * {"d": 1, "w": 7, "m": 30, "y": 365}[ago[2]]
    try:
        if text in known:
            return (today - timedelta(days=known[text])).isoformat()
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return date.fromisoformat(text).isoformat()
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{name} cannot read the date '{text}'", fix=f"{name} 2026-01-31, or 7d, today, yesterday")
