"""The one definition of verbs and flags. The parser, the help, the completion scripts and docs/cli.md all read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kb.types import DOC_TYPES, TRUST_LEVELS

Takes = Literal["switch", "text", "list", "int", "float", "date", "file"]


@dataclass(frozen=True, slots=True)
class Flag:
    name: str  # "--top"
    help: str
    takes: Takes = "text"
    metavar: str = "X"
    short: str | None = None
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def dest(self) -> str:
        return self.name.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Verb:
    name: str
    summary: str
    run: str  # "module:function" within kb.cli
    words: str = ""  # what stands after the verb, as help shows it
    least: int = 0  # how many words there must be
    most: int | None = 0
    completes: tuple[str, ...] = ()  # what to offer for words: "FILES", or the words themselves
    flags: tuple[Flag, ...] = ()
    text: str = ""
    examples: tuple[tuple[str, str], ...] = ()


STORE = Flag("--store", "folder or URL of the store, instead of KB_STORE and the config", "file", "PATH|URL")
GLOBAL_FLAGS = (
    STORE,
    Flag("--config", "settings file, instead of KB_CONFIG", "file", "FILE"),
    Flag("--json", "one JSON document on stdout; errors and progress as JSON lines on stderr", "switch"),
    Flag("--quiet", "only results and errors", "switch", short="-q"),
    Flag("--color", "colours: auto, always or never", metavar="WHEN", choices=("auto", "always", "never")),
    Flag("--version", "print the version", "switch", short="-V"),
    Flag("--help", "help, also after a verb", "switch", short="-h"),
)

MODES = ("hybrid", "lexical", "vector")
PROFILES = ("notes", "strict", "memory", "snippets", "best")  # for completion; the config may define more

COLLECTION = Flag("--collection", "only this collection", metavar="C")
TRUST_MIN = Flag("--trust-min", "this level of trust or higher", metavar="LEVEL", choices=TRUST_LEVELS)
FILTERS = (
    Flag("--tags", "documents that have all of these tags", "list", "a,b"),
    Flag("--tags-any", "documents that have at least one of these tags", "list", "a,b"),
    Flag("--type", "documents of this type; repeat for several", "list", "T", choices=DOC_TYPES),
    Flag("--kind", "chunks that are code, or text about it", metavar="K", choices=("code", "info")),
    Flag("--lang", "this language: python, ko, …", metavar="L"),
    Flag("--path", "paths that match; * stays within a folder, ** does not", metavar="GLOB"),
    COLLECTION,
    Flag("--repo", "this repository", metavar="R"),
    Flag("--version", "this version of the repository", metavar="V"),
    Flag("--since", "dated on this day or later: 2026-01-31, 7d, today, yesterday", "date", "DATE"),
    Flag("--before", "dated before this day", "date", "DATE"),
    TRUST_MIN,
)

ADD = Verb(
    "add",
    "put files, folders or text into the store",
    "add:add",
    words="PATH…",
    most=None,
    completes=("FILES",),
    text="Folders are read recursively; .gitignore and .kbignore are obeyed and secrets are skipped. Run it again at "
    "any time: unchanged files cost a look at their date, changed ones are redone and vanished ones removed. Ctrl-C "
    "stops; what was done stays, and the next run goes on from there.",
    flags=(
        Flag("--collection", "collection to add to", metavar="C"),
        Flag("--tags", "tags for all of these documents", "list", "a,b"),
        Flag("--type", "treat them as this type, whatever they look like", metavar="T", choices=DOC_TYPES),
        Flag("--repo", "repository they belong to", metavar="R"),
        Flag("--version", "version of that repository", metavar="V"),
        Flag("--trust", "how far to trust them", metavar="LEVEL", choices=TRUST_LEVELS),
        Flag("--title", "title of the text from stdin (kb add -)", metavar="TEXT"),
        Flag("--jsonl", "records from a file, one JSON object per line with path and text; - is stdin", "file", "FILE"),
        Flag("--prune", "remove documents even when their whole folder has vanished", "switch"),
        Flag("--verify", "read every file again, even if size and date are unchanged", "switch"),
    ),
    examples=(
        ("kb add ~/notes", "a folder, and later what changed in it"),
        ("kb add src --collection work --tags code,backend", "with tags, in a collection of its own"),
        ("pbpaste | kb add - --title 'Meeting with Ada'", "text from a pipe"),
    ),
)

SEARCH = Verb(
    "search",
    "find passages, best first",
    "search:search",
    words="QUERY",
    least=1,
    most=None,
    text='Type the query as it comes: nothing in it needs escaping. "Double quotes" mean an exact phrase; a query in '
    "one pair of 'single quotes' is passed as an FTS5 expression. - reads the query from stdin, -- ends the flags.",
    flags=(
        Flag("--top", "how many hits at most (profile: 10, snippets: 20)", "int", "N", low=1, high=1000),
        Flag("--mode", "hybrid, lexical or vector", metavar="M", choices=MODES),
        Flag("--fts-only", "the same as --mode lexical", "switch"),
        Flag("--vec-only", "the same as --mode vector", "switch"),
        *FILTERS,
        Flag("--threshold", "drop hits whose score is below this", "float", "X"),
        Flag("--min-score", "drop hits whose relevance, before any decay, is below this", "float", "X"),
        Flag("--alpha", "0 is keywords only, 0.5 balanced, 1 meaning only", "float", "A", low=0, high=1),
        Flag("--profile", "notes, strict, memory, snippets, best, or one of your own", metavar="P"),
        Flag("--cursor", "go on after an earlier answer", metavar="C"),
        Flag("--budget", "as much as fits into about this many tokens", "int", "TOKENS", low=1, high=10_000_000),
        Flag("--per-doc", "at most so many hits of one document", "int", "N", low=1, high=1000),
        Flag("--mmr", "variety: 1 is relevance alone, 0 variety alone; try 0.7", "float", "LAMBDA", low=0, high=1),
        Flag("--merge", "neighbouring chunks that both match become one hit", "switch"),
        Flag("--parent", "each hit with the section that it stands in", "switch"),
        Flag("--rerank", "a second opinion on the first hits, by the model of rerank.model", "switch"),
        Flag("--no-rerank", "no second opinion, even where the profile asks for one", "switch"),
        Flag("--explain", "why each hit is where it is", "switch"),
    ),
    examples=(
        ("kb search install git", "a few words"),
        ("kb search install git --tags ops --since 30d", "narrowed down"),
        ("kb search '\"connection refused\" nginx' --json", "an exact phrase, for a script"),
    ),
)

WHY_NOT = Verb(
    "why-not",
    "why a document is not in an answer, and what would show it",
    "whynot:why_not",
    words="PATH QUERY",
    least=2,
    most=None,
    completes=("FILES",),
    text="PATH is a path, PATH#L12 or PATH#p=3, or the id of a document or a chunk; the rest is a search as kb search "
    "takes it. Says which filter, cut or leg keeps the document out, where it stands in each leg, and the smallest "
    "change that shows it, which was tried.",
    flags=tuple(flag for flag in SEARCH.flags if flag.name != "--explain"),
    examples=(
        ("kb why-not notes/git-undo.md install git", "where it stands, and how long an answer must be to show it"),
        ("kb why-not notes/git-undo.md undo --tags ops", "which filter leaves it out"),
    ),
)

GET = Verb(
    "get",
    "print the exact text of a hit, a file or a part of it",
    "search:get",
    words="ID|PATH[#FRAGMENT]",
    least=1,
    most=1,
    flags=(
        Flag("--context", "with this many neighbouring chunks on each side", "int", "N", low=0, high=1000),
        Flag("--collection", "where a path is in several collections: the one meant", metavar="C"),
    ),
    examples=(
        ("kb get guide/install.md#L12-L34", "the lines of a citation"),
        ("kb get paper.pdf#p=3", "a page"),
    ),
)

LIST = Verb(
    "list",
    "the documents in the store",
    "library:list_documents",
    flags=(
        *FILTERS,
        Flag("--limit", "at most so many", "int", "N", low=1, high=1_000_000),
        Flag("--after", "go on after this document id", metavar="ID"),
    ),
)
STATUS = Verb("status", "counts, sizes, model and revision of the store", "library:status")
REMOVE = Verb(
    "remove",
    "delete documents from the store, never the files themselves",
    "library:remove",
    words="PATH|ID…",
    least=1,
    most=None,
    text="Nothing of their text stays in any file of the store.",
    flags=(COLLECTION,),
)
CHECK = Verb("check", "verify every promise of the store", "health:check", text="Exits 3 when something is broken.")
REPAIR = Verb("repair", "rebuild what is derived, set aside what is damaged", "health:repair")
DOCTOR = Verb("doctor", "what works here, what does not, and the fix", "health:doctor")
EVAL = Verb(
    "eval",
    "measure how good the answers are",
    "evaluation:evaluate",
    words="DIR",
    least=1,
    most=1,
    completes=("FILES",),
    text="DIR is a folder in the layout of BEIR, or holds a golden file. Prints nDCG@10, MRR@10 and recall with "
    "confidence intervals, per mode and profile.",
    flags=(
        Flag("--modes", "modes to measure (all of them)", "list", "M,M", choices=MODES),
        Flag("--profile", "profile to measure", metavar="P"),
        Flag("--profiles", "several profiles to measure in one run", "list", "P,P"),
        Flag("--budgets", "token budgets to measure recall at (500,1000,2000,4000); none: leave out", "list", "N,N"),
        Flag("--foreign", "another collection: are its questions told to have no good match", "file", "DIR"),
        Flag("--baseline", "compare with a saved run; worse exits 1", "file", "FILE"),
        Flag("--fail-under", "exit with 1 when a measure is lower: ndcg@10=0.6", "list", "M=X"),
        Flag("--save", "save this run, to compare with later", "file", "FILE"),
        Flag("--plot", "draw the measures with their intervals into an SVG file", "file", "FILE"),
        Flag("--limit", "only so many queries", "int", "N", low=1, high=10_000_000),
    ),
    examples=(
        ("kb eval golden.jsonl --fail-under ndcg@10=0.6", "in CI: the questions that matter to you"),
        ("kb eval DIR --save before.json", "then change something, and: kb eval DIR --baseline before.json"),
    ),
)
MARK = Verb(
    "mark",
    "say which document answers a question, and which does not",
    "tuning:mark",
    words="PATH QUERY",
    most=None,
    completes=("FILES",),
    text="PATH may name lines or a page (notes/git.md#L3-L9, a.pdf#p=3). Marks are kept beside the store, in "
    "golden.jsonl, for kb tune and kb eval. Of two marks of the same place and question the later one counts.",
    flags=(
        Flag("--not", "it is not an answer", "switch"),
        Flag("--list", "what is marked", "switch"),
        Flag("--remove", "forget the marks of this place for this question", "switch"),
        Flag("--collection", "where a path is in several collections: the one meant", metavar="C"),
    ),
    examples=(
        ('kb mark notes/git-install.md "install git"', ""),
        ('kb mark --not notes/git-undo.md "install git"', ""),
        ("kb mark --list", ""),
    ),
)
TUNE = Verb(
    "tune",
    "look for a setting that answers your own questions better, and prove it",
    "tuning:tune",
    text="Asks the store what it can be asked about itself (texts of links, titles, headings, names in code), and what "
    "you marked. A setting is chosen by one half of the questions and proposed only if it is better on the other half "
    "beyond chance. Changes nothing without --apply.",
    flags=(
        Flag("--collection", "only for searches in this collection", metavar="C"),
        Flag("--limit", "at most so many questions (600)", "int", "N", low=1, high=10_000),
        Flag("--golden", "questions with answers, beside those you marked", "file", "FILE"),
        Flag("--allow-slow", "propose also what makes a query more than 3 times slower", "switch"),
        Flag("--apply", "write what is proposed into the settings file", "switch"),
    ),
    examples=(
        ("kb tune", "what would be better, with the proof"),
        ("kb tune --collection work --apply", "and use it for searches in that collection"),
    ),
)
CONFIG_ACTIONS = ("list", "get", "set", "unset", "path")
CONFIG = Verb(
    "config",
    "show and change settings",
    "settings:config",
    words="[list | get KEY | set KEY VALUE | unset KEY | path]",
    most=None,
    completes=CONFIG_ACTIONS,
    text="Later ones win: defaults, the file, the environment (KB_SEARCH_DEFAULT_TOP=5), flags.",
    examples=(
        ("kb config set search.default_top 5", ""),
        ("kb config set collections.memory.profile memory", "a collection with a profile of its own"),
    ),
)
MODEL_ACTIONS = ("status", "list", "set", "run", "back", "drop")
MODEL = Verb(
    "model",
    "which embedding model answers, and changing it without a pause",
    "model:model",
    words="[status | list | set NAME | run | back | drop]",
    most=None,
    completes=(*MODEL_ACTIONS, "static", "minilm"),
    text="set: the old model answers until the vectors of the new one are all there, which a process in the background "
    "sees to; a collection changes over when it is ready. run: do that work here, also after a restart. back: return "
    "to the former model, at once where its vectors are kept. drop: give their space free.",
    flags=(
        Flag("--collection", "only for searches in this collection", metavar="C"),
        Flag("--wait", "embed here and now instead of in the background", "switch"),
    ),
    examples=(
        ("kb model set minilm", "better answers, when it is ready"),
        ("kb model status", "who answers, how far the new one is, and how long it takes"),
        ("kb model back", ""),
    ),
)
EXPORT = Verb(
    "export",
    "write documents, chunks and vectors into one portable file",
    "library:export",
    words="FILE",
    least=1,
    most=1,
    completes=("FILES",),
)
IMPORT = Verb(
    "import",
    "take in a file that export wrote",
    "library:import_pack",
    words="FILE",
    least=1,
    most=1,
    completes=("FILES",),
)
SHELLS = ("bash", "zsh", "fish")
COMPLETION = Verb(
    "completion",
    "print a completion script for your shell",
    "completion:completion",
    words="bash|zsh|fish",
    least=1,
    most=1,
    completes=SHELLS,
    examples=(
        ('eval "$(kb completion bash)"', "in ~/.bashrc; likewise with zsh in ~/.zshrc"),
        ("kb completion fish > ~/.config/fish/completions/kb.fish", ""),
    ),
)

ORDER = (
    ADD, SEARCH, WHY_NOT, GET, LIST, STATUS, REMOVE, CHECK, REPAIR, DOCTOR, EVAL, MARK, TUNE, CONFIG, MODEL, EXPORT, IMPORT,
    COMPLETION,
)  # fmt: skip
VERBS = {verb.name: verb for verb in ORDER}


def flags_of(verb: Verb) -> tuple[Flag, ...]:
    """Its own flags, then the global ones that it does not redefine (``--version`` is a filter in some verbs)."""
    own = {flag.name for flag in verb.flags}
    return verb.flags + tuple(flag for flag in GLOBAL_FLAGS if flag.name not in own)
