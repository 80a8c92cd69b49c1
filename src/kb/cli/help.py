"""Help and the start page, made of the one definition of verbs and flags."""

from __future__ import annotations

from pathlib import Path

from kb.cli.flags import GLOBAL_FLAGS, ORDER, Flag, Verb
from kb.cli.session import Session
from kb.cli.terminal import cells, clean_line, count, glyphs, pad, wrap
from kb.errors import KBError

WIDTH = 96
EXIT_CODES = (
    ("0", "fine, also when nothing was found"),
    ("1", "done in part, or refused"),
    ("2", "wrong usage, or an error"),
    ("3", "unhealthy (check, doctor)"),
)


def version() -> str:
    from kb import __version__

    return __version__


def help_text(verb: Verb | None, width: int | None = None) -> str:
    width = min(width or WIDTH, WIDTH)
    return "\n".join(_main(width) if verb is None else _of(verb, width)) + "\n"


def usage(verb: Verb) -> str:
    return " ".join(part for part in ("kb", verb.name, verb.words, "[FLAGS]") if part)


def shown(flag: Flag) -> str:
    """How a flag is written: ``--top N``, ``-q, --quiet``."""
    value = "" if flag.takes == "switch" else f" {'|'.join(flag.choices)}" if flag.choices else f" {flag.metavar}"
    return (f"{flag.short}, " if flag.short else "") + flag.name + value


def _main(width: int) -> list[str]:
    lines = ["kb: search notes, papers and code by words and by meaning", "", "usage: kb VERB [FLAGS]", ""]
    lines += _columns([(verb.name, verb.summary) for verb in ORDER], width)
    lines += ["", "with every verb, before or after it:"]
    lines += _columns([(shown(flag), flag.help) for flag in GLOBAL_FLAGS], width)
    lines += ["", "exit codes:", *_columns(list(EXIT_CODES), width)]
    return [*lines, "", "kb VERB --help tells all about a verb."]


def _of(verb: Verb, width: int) -> list[str]:
    lines = [f"kb {verb.name}: {verb.summary}", "", f"usage: {usage(verb)}"]
    if verb.text:
        lines += ["", *_wrapped(verb.text, width)]
    if verb.flags:
        lines += ["", "flags:", *_columns([(shown(flag), flag.help) for flag in verb.flags], width)]
    own = {flag.name for flag in verb.flags}
    rest = [flag for flag in GLOBAL_FLAGS if flag.name not in own]
    lines += ["", "with every verb:", *_columns([(shown(flag), flag.help) for flag in rest], width)]
    if verb.examples:
        lines += ["", "examples:"]
        for command, why in verb.examples:
            lines += [f"  {command}" + (f"      # {why}" if why else "")]
    return lines


def _columns(rows: list[tuple[str, str]], width: int) -> list[str]:
    """Names on the left, what they are on the right; a long name has a line of its own."""
    left = min(26, max(cells(name) for name, _ in rows))
    lines = []
    for name, text in rows:
        parts = _wrapped(text, max(20, width - left - 4)) or [""]
        if cells(name) > left:
            lines.append(f"  {name}")
            name = ""
        lines.append(f"  {pad(name, left)}  {parts[0]}".rstrip())
        lines += [" " * (left + 4) + part for part in parts[1:]]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    return ["".join(glyph[0] for glyph in line).rstrip() for line in wrap(glyphs(text, ()), width)]


# ---------------------------------------------------------------- the start page


def start(session: Session) -> int:
    """What to type next, by whether there is a store."""
    from kb import config

    where = session.value("store") or session.settings.store or config.default_store()
    out = session.out
    found = _found(session, str(where))
    if session.json:
        from kb.errors import UsageError

        raise UsageError("kb needs a verb", fix="kb search QUERY --json")
    out.line(("kb", "bold"), " searches notes, papers and code by words and by meaning.")
    out.line()
    if found is None:
        out.line("Nothing is stored yet (", clean_line(str(where)), " does not exist). Begin with a folder:")
        steps = [("kb add ~/notes", "read it; run it again whenever something changed"), ("kb search install git", "")]
    else:
        out.line(found)
        steps = [("kb search install git", "find passages"), ("kb add PATH", "add more, or bring it up to date")]
        steps += [("kb status", "what is in the store")]
    out.line()
    for command, why in steps:
        out.line("  ", (f"{command:<24}", "cyan"), ("  " + why if why else "", "dim"))
    out.line()
    out.line(("All verbs: kb --help", "dim"))
    return 0


def _found(session: Session, where: str) -> str | None:
    if "://" not in where and not Path(where).expanduser().exists():
        return None
    try:
        with session.open(read_only=True) as base:
            status = base.status()
    except KBError as error:
        return f"The store at {clean_line(where)} does not open: {clean_line(str(error))}  (kb doctor)"
    return f"{count(status.documents, 'document')}, {count(status.chunks, 'chunk')} in {clean_line(where)}"
