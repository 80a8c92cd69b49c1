"""``kb completion``: scripts for the shells, printed from the one definition of verbs and flags."""

from __future__ import annotations

from kb.cli.flags import GLOBAL_FLAGS, ORDER, PROFILES, SHELLS, Flag, Verb, flags_of
from kb.cli.session import Session
from kb.errors import UsageError

SUGGESTED = {"--profile": PROFILES}


def completion(session: Session) -> int:
    shell = session.words[0]
    if shell not in SHELLS:
        raise UsageError(f"no completion for '{shell}'", fix=f"kb completion {'|'.join(SHELLS)}")
    session.out.write(script(shell))
    return 0


def script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def values(flag: Flag) -> tuple[str, ...]:
    return flag.choices or SUGGESTED.get(flag.name, ())


def _names(flags: tuple[Flag, ...]) -> list[str]:
    return [name for flag in flags for name in (flag.name, flag.short) if name]


# ---------------------------------------------------------------- bash

_BASH_FILES = "compopt -o default 2>/dev/null"  # readline's own completion, which knows how to quote names
_BASH = """\
# bash completion for kb: eval "$(kb completion bash)"
_kb() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb= word skip= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        if [[ -n $skip ]]; then skip=; continue; fi
        case $word in
            {global_values}) skip=1 ;;
            -*) ;;
            *) verb=$word; break ;;
        esac
    done
    COMPREPLY=()
    case "$verb:$prev" in
{value_cases}
    esac
    if [[ $cur == -* ]]; then
        case $verb in
{flag_cases}
        esac
        return
    fi
    case $verb in
{word_cases}
    esac
}}
complete -F _kb kb
"""


def _bash() -> str:
    value_cases = [f"        {'|'.join(places)}) {act}; return ;;" for act, places in _bash_values().items()]
    flag_cases = [_bash_words(verb.name, _names(flags_of(verb))) for verb in ORDER]
    flag_cases.append(_bash_words("", _names(GLOBAL_FLAGS)))
    word_cases = [_bash_words("", [verb.name for verb in ORDER])]
    for verb in ORDER:
        if verb.completes == ("FILES",):
            word_cases.append(f"        {verb.name}) {_BASH_FILES} ;;")
        elif verb.completes:
            word_cases.append(_bash_words(verb.name, list(verb.completes)))
    takers = [flag.name for flag in GLOBAL_FLAGS if flag.takes != "switch"]
    return _BASH.format(
        global_values="|".join(takers),
        value_cases="\n".join(value_cases),
        flag_cases="\n".join(flag_cases),
        word_cases="\n".join(word_cases),
    )


def _bash_values() -> dict[str, list[str]]:
    """What to offer for the value of a flag, and after which ``verb:flag`` to offer it."""
    offers: dict[str, list[str]] = {}
    for prefix, flags in [(verb.name, flags_of(verb)) for verb in ORDER] + [("", GLOBAL_FLAGS)]:
        for flag in flags:
            act = _BASH_FILES if flag.takes == "file" else ":"
            if values(flag):
                act = f'COMPREPLY=($(compgen -W "{" ".join(values(flag))}" -- "$cur"))'
            if flag.takes != "switch":
                offers.setdefault(act, []).append(f"{prefix}:{flag.name}")
    return offers


def _bash_words(verb: str, words: list[str]) -> str:
    pattern = verb or '""'
    return f'        {pattern}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")) ;;'


# ---------------------------------------------------------------- zsh


def _zsh() -> str:
    verbs = "\n".join(f"    {_single(f'{verb.name}:{verb.summary}')}" for verb in ORDER)
    cases = "\n".join(_zsh_case(verb) for verb in ORDER)
    globals_ = " \\\n    ".join(_zsh_flag(flag) for flag in GLOBAL_FLAGS)
    return f"""\
#compdef kb
# zsh completion for kb: eval "$(kb completion zsh)" after compinit
_kb() {{
  local context state state_descr line
  typeset -A opt_args
  local -a verbs
  verbs=(
{verbs}
  )
  _arguments -C \\
    {globals_} \\
    '1:verb:->verb' '*::argument:->rest'
  case $state in
    verb) _describe -t verbs verb verbs ;;
    rest)
      case $line[1] in
{cases}
      esac ;;
  esac
}}
compdef _kb kb
"""


def _zsh_case(verb: Verb) -> str:
    words = "*:file:_files" if verb.completes == ("FILES",) else f"*:word:({' '.join(verb.completes)})"
    parts = [_zsh_flag(flag) for flag in flags_of(verb)] + [_single(words if verb.completes else "*:word:")]
    joined = " \\\n            ".join(parts)
    return f"        {verb.name})\n          _arguments \\\n            {joined} ;;"


def _zsh_flag(flag: Flag) -> str:
    text = flag.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    many = "*" if flag.takes == "list" else ""
    if flag.takes == "switch":
        return _single(f"{flag.name}[{text}]")
    action = "_files" if flag.takes == "file" else f"({' '.join(values(flag))})" if values(flag) else " "
    return _single(f"{many}{flag.name}=[{text}]:{flag.metavar.replace(':', ' ')}:{action}")


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# ---------------------------------------------------------------- fish


def _fish() -> str:
    lines = ["# fish completion for kb: kb completion fish > ~/.config/fish/completions/kb.fish", "complete -c kb -f"]
    lines += [f"complete -c kb -n __fish_use_subcommand -a {verb.name} -d {_fish_text(verb.summary)}" for verb in ORDER]
    lines += [_fish_flag("", flag) for flag in GLOBAL_FLAGS if flag.name != "--version"]
    lines.append(f"complete -c kb -n __fish_use_subcommand -l version -s V -d {_fish_text('print the version')}")
    for verb in ORDER:
        seen = f" -n '__fish_seen_subcommand_from {verb.name}'"
        lines += [_fish_flag(seen, flag) for flag in verb.flags]
        if verb.completes == ("FILES",):
            lines.append(f"complete -c kb{seen} -F")
        elif verb.completes:
            lines.append(f"complete -c kb{seen} -a '{' '.join(verb.completes)}'")
    return "\n".join(lines) + "\n"


def _fish_flag(condition: str, flag: Flag) -> str:
    parts = [f"complete -c kb{condition} -l {flag.name.lstrip('-')}"]
    parts += [f"-s {flag.short.lstrip('-')}"] if flag.short else []
    if flag.takes == "file":
        parts.append("-r -F")
    elif flag.takes != "switch":
        parts.append("-x" + (f" -a '{' '.join(values(flag))}'" if values(flag) else ""))
    return " ".join([*parts, "-d", _fish_text(flag.help)])


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
