"""The one table from file names to types and languages."""

from __future__ import annotations

from dataclasses import dataclass

from kb.types import DocType

MARKDOWN = (".md", ".markdown", ".mdx", ".mdown", ".mkd", ".mdwn", ".qmd", ".rmd")
NOTES = (
    ".txt",
    ".text",
    ".rst",
    ".org",
    ".log",
    ".adoc",
    ".asciidoc",
    ".tex",
    ".textile",
    ".csv",
    ".tsv",
    ".vtt",
    ".srt",
)

# language -> its file names and extensions
_LANGUAGES = {
    "python": ".py .pyi .pyw .pyx SConstruct SConscript",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "java": ".java",
    "kotlin": ".kt .kts",
    "scala": ".scala .sc .sbt",
    "groovy": ".groovy .gradle Jenkinsfile",
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl .cu .cuh .ino",
    "objc": ".m .mm",
    "csharp": ".cs .csx",
    "go": ".go",
    "rust": ".rs",
    "zig": ".zig",
    "swift": ".swift",
    "dart": ".dart",
    "ruby": ".rb .rake .gemspec Rakefile Gemfile Vagrantfile Podfile",
    "php": ".php .phtml",
    "perl": ".pl .pm .t",
    "lua": ".lua",
    "r": ".r",
    "julia": ".jl",
    "fortran": ".f .f90 .f95 .f03 .f08 .for",
    "haskell": ".hs .lhs",
    "ocaml": ".ml .mli",
    "elixir": ".ex .exs",
    "erlang": ".erl .hrl",
    "clojure": ".clj .cljs .cljc .edn",
    "scheme": ".scm .ss",
    "racket": ".rkt",
    "solidity": ".sol",
    "bash": ".sh .bash .zsh .ksh .bats PKGBUILD",
    "powershell": ".ps1 .psm1 .psd1",
    "batch": ".bat .cmd",
    "vim": ".vim",
    "sql": ".sql .ddl .dml",
    "graphql": ".graphql .gql",
    "proto": ".proto",
    "html": ".html .htm .xhtml",
    "xml": ".xml .xsd .xsl .xslt .svg .plist .csproj .pom",
    "vue": ".vue",
    "svelte": ".svelte",
    "astro": ".astro",
    "css": ".css",
    "scss": ".scss",
    "json": ".json .geojson .webmanifest .ipynb",
    "json5": ".json5",
    "jsonc": ".jsonc",
    "jsonnet": ".jsonnet .libsonnet",
    "yaml": ".yaml .yml",
    "toml": ".toml",
    "ini": ".ini .cfg .conf",
    "properties": ".properties",
    "hcl": ".hcl .tf .tfvars .nomad",
    "nix": ".nix",
    "kdl": ".kdl",
    "dockerfile": ".dockerfile Dockerfile Containerfile",
    "make": ".mk .mak Makefile makefile GNUmakefile",
    "cmake": ".cmake CMakeLists.txt",
    "just": ".just justfile Justfile",
    "starlark": ".bzl .star BUILD BUILD.bazel WORKSPACE Tiltfile",
    "jinja2": ".j2 .jinja .jinja2",
    "gotmpl": ".gotmpl .tmpl",
    "embedded_template": ".erb .ejs",
    "heex": ".heex",
    "wat": ".wat .wast",
    "typst": ".typ",
    "assembly": ".asm .s",
    "awk": ".awk",
    "coffeescript": ".coffee",
    "cython": ".pxd",
    "d": ".d",
    "diff": ".diff .patch",
    "elm": ".elm",
    "fish": ".fish",
    "fsharp": ".fs .fsi .fsx",
    "glsl": ".glsl .vert .frag .comp .hlsl .wgsl .metal",
    "lisp": ".lisp .lsp .el .cl",
    "less": ".less",
    "nim": ".nim",
    "pascal": ".pas .pp",
    "prolog": ".pro",
    "purescript": ".purs",
    "sass": ".sass",
    "stylus": ".styl",
    "tcl": ".tcl",
    "thrift": ".thrift",
    "verilog": ".v .sv .svh",
    "vhdl": ".vhd .vhdl",
    "visualbasic": ".vb .bas .vbs",
}
# Those with definitions to split at. Markup and data have none, and nested 10,000 deep they take their grammars seconds
# (html, xml) or crash them (typst); shell-like ones below have functions, which is what is looked for.
PARSED = frozenset(
    "python javascript typescript tsx java kotlin scala groovy c cpp objc csharp go rust zig swift dart ruby php perl lua r"
    " julia fortran haskell ocaml erlang solidity bash powershell sql graphql proto starlark".split()
)
NAMES = {name: lang for lang, names in _LANGUAGES.items() for name in names.split()}

FENCE_ALIASES = {
    "py": "python", "python3": "python", "py3": "python", "pycon": "python", "js": "javascript", "jsx": "javascript",
    "node": "javascript", "ts": "typescript", "sh": "bash", "shell": "bash", "console": "bash", "zsh": "bash",
    "shell-session": "bash", "shellsession": "bash", "terminal": "bash", "golang": "go", "rs": "rust", "rb": "ruby",
    "c++": "cpp", "cc": "cpp", "h": "c", "cs": "csharp", "c#": "csharp", "kt": "kotlin", "yml": "yaml", "hs": "haskell",
    "ps1": "powershell", "pwsh": "powershell", "docker": "dockerfile", "makefile": "make", "tf": "hcl",
    "terraform": "hcl", "ex": "elixir", "erl": "erlang", "clj": "clojure", "jl": "julia", "ml": "ocaml",
    "objective-c": "objc", "objectivec": "objc", "postgresql": "sql", "mysql": "sql", "htm": "html", "pl": "perl",
    "viml": "vim", "protobuf": "proto", "plaintext": "text", "txt": "text", "none": "text",
}  # fmt: skip
_SHEBANGS = {"python": "python", "sh": "bash", "bash": "bash", "zsh": "bash", "node": "javascript", "ruby": "ruby",
             "perl": "perl", "lua": "lua", "php": "php", "awk": "awk", "fish": "fish", "pwsh": "powershell"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileType:
    type: DocType
    lang: str | None = None


def file_type(name: str) -> FileType:
    """The type of a file by its name; ``name`` may be a path with slashes."""
    base = name.rsplit("/", 1)[-1]
    if base in NAMES:
        return FileType("code", NAMES[base])
    lower = base.lower()
    dot = lower.rfind(".")
    extension = lower[dot:] if dot > 0 or (dot == 0 and lower.count(".") > 1) else ""
    if extension in MARKDOWN:
        return FileType("markdown")
    if extension == ".pdf":
        return FileType("pdf")
    if extension in NAMES and extension not in NOTES:
        return FileType("code", NAMES[extension])
    if lower.startswith(("dockerfile.", "makefile.")):
        return FileType("code", "dockerfile" if lower.startswith("d") else "make")
    return FileType("note")


def shebang(first_line: str) -> str | None:
    """The language that `#!` names."""
    if not first_line.startswith("#!"):
        return None
    words = first_line[2:200].split()
    if not words:
        return None
    program = words[0].rsplit("/", 1)[-1]
    if program == "env":
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    return _SHEBANGS.get(program.rstrip("0123456789."))
