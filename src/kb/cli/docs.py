"""docs/cli.md, written from the one definition of verbs and flags (``scripts/make_cli_docs.py``)."""

from __future__ import annotations

from kb.cli.flags import GLOBAL_FLAGS, ORDER, Flag, Verb
from kb.cli.help import EXIT_CODES, shown, usage

INTRO = """\
# Command line

<!-- Made by scripts/make_cli_docs.py from src/kb/cli/flags.py: change that file, then run the script. -->

`kb` keeps what you give it in a *store* and finds it again by words and by meaning. The store is the one named by
`--store`, else by `KB_STORE`, else by the setting `store`, else a folder among your user data.

Results go to stdout; progress, warnings and errors to stderr. With `--json` every verb prints one JSON document on
stdout, and errors and progress are JSON lines on stderr; the schemas are in `kb/schemas`. In a terminal, output is
fitted to its width, coloured (see `--color`, `NO_COLOR`) and linked; in a pipe it is plain, and tables are columns
parted by tabs. Control characters in stored text are always made visible, except by `kb get` into a pipe or a file,
which gives the exact text.
"""

BEHAVIOUR = """\
## How words and flags are read

- Global flags may stand before or after the verb. Flags and words may be mixed.
- The words of a query are joined by spaces; `-` reads it from stdin.
- `--` ends the flags: `kb search -- -rf` searches for `-rf`.
- `--tags a,b` and `--tags a --tags b` are the same; so with every list.
- Dates are `2026-01-31`, `today`, `yesterday`, or how long ago: `7d`, `2w`, `6m`, `1y`.
- Ctrl-C during `kb add` stops it; what was done stays, the exit code is 1, and the same command goes on from there.
- `KB_DEBUG=1` shows the traceback of an internal error.
"""


def markdown() -> str:
    parts = [INTRO, _verbs(), BEHAVIOUR, "## Flags of every verb\n", _table(GLOBAL_FLAGS), "## Exit codes\n", _codes()]
    parts += [_verb(verb) for verb in ORDER]
    return "\n".join(parts)


def _verbs() -> str:
    rows = [f"| [`kb {verb.name}`](#kb-{verb.name}) | {verb.summary} |" for verb in ORDER]
    return "\n".join(["| verb | does |", "|---|---|", *rows, ""])


def _codes() -> str:
    return "\n".join(["| code | meaning |", "|---|---|", *(f"| {code} | {text} |" for code, text in EXIT_CODES), ""])


def _verb(verb: Verb) -> str:
    summary = f"{verb.summary[0].upper()}{verb.summary[1:]}."
    lines = [f"## kb {verb.name}", "", summary, "", "```", usage(verb), "```", ""]
    lines += [verb.text, ""] if verb.text else []
    lines += [_table(verb.flags)] if verb.flags else []
    if verb.examples:
        lines += ["```sh", *(f"{command}  # {why}" if why else command for command, why in verb.examples), "```", ""]
    return "\n".join(lines)


def _table(flags: tuple[Flag, ...]) -> str:
    rows = [f"| {_code(shown(flag))} | {_escaped(flag.help)} |" for flag in flags]
    return "\n".join(["| flag | meaning |", "|---|---|", *rows, ""])


def _code(text: str) -> str:
    return "`" + _escaped(text) + "`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("**", "`**`").replace(" * ", " `*` ")
