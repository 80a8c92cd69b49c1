"""Code to sections: one per definition, named by its symbol, with the comments and decorators above it.

Every line belongs to the section that begins last before it, so that all of the file is covered whatever the parser
makes of it. Files without a grammar, or too large to parse at once, are cut into windows of lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from kb.ingest.chunk import Block, Limits, Section
from kb.ingest.extract.languages import PARSED
from kb.ingest.extract.plain import paragraphs
from kb.ingest.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PARSER_VERSION = "code-1"
MAX_PARSE_CHARS = 1_000_000  # larger ones are generated, and a parse of 10 MB takes seconds
MAX_NESTING = 200  # brackets within brackets: no human wrote it, and native parsers have crashed or stalled far beyond
MAX_DEPTH = 12  # how deep definitions are looked for
_BRACKET = re.compile(r"[(){}\[\]]")
_LEAF = re.compile(
    r"^(?:function|method|constructor|destructor|singleton_method|generator_function|macro|subroutine|procedure|modifier)"
    r"(?:_definition|_declaration|_item|_statement|_declaration_statement|_member|_signature)?$"
    r"|^(?:async_)?function_(?:definition|declaration|item|statement)|^(?:method|constructor|macro)_(?:definition|declaration)"
    r"|^(?:local_function|decl_def|secondary_constructor|create_function|create_table|create_view|init_declaration"
    r"|rpc|message|resource|function_signature_item|macro_invocation_definition|local_function_statement)"
    r"(?:_declaration|_definition|_statement)?$"
)
_NEST = re.compile(
    r"^(?:abstract_)?(?:class|struct|union|enum|interface|trait|impl|module|mod|namespace|object|protocol|extension|record"
    r"|contract|library|service|internal_module|annotation_type|companion_object)"
    r"(?:_definition|_declaration|_item|_specifier|_statement|_def|_block|_interface|_implementation|)$"
)
_FILE_WIDE = re.compile("^(?:namespace|module|mod|package)")  # without a body: `namespace A;`
_SINGLE = re.compile(r"^(?:type_declaration|type_alias_declaration|type_item|type_definition|type_alias)$")
_WRAP = re.compile(
    r"^(?:decorated_definition|export_statement|template_declaration|ambient_declaration|export_declaration"
    r"|statement|expression_statement)$"
)
_ABOVE = re.compile(r"comment|^(?:attribute_item|attribute|decorator|annotation|attribute_list|pragma)$")
_NAMELESS = {
    "lexical_declaration",
    "variable_declaration",
    "expression_statement",
    "assignment",
    "assignment_statement",
}
_FUNCTION_VALUES = {
    "arrow_function",
    "function_expression",
    "function",
    "generator_function",
    "class",
    "function_definition",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a section begins: its line, the symbol it belongs to, and what it is."""

    line: int
    symbol: str | None
    definition: bool
    comment: bool = False


def sections(source: Source, lang: str | None, limits: Limits) -> list[Section]:
    cuts = _cuts(source, lang, limits) if lang in PARSED and _tame(source.text) else []
    if not cuts:
        return [Section(paragraphs(source, code=True, lang=lang))]
    found: list[Section] = []
    ends = [cut.line for cut in cuts[1:]] + [source.lines]
    for cut, end in zip(cuts, ends, strict=True):
        block = Block(cut.line, end, code=not cut.comment, lang=lang)
        held = found[-1] if found else None
        if held is not None and not cut.definition and held.symbol == cut.symbol and not held.blocks[0].whole:
            held.blocks.append(block)
        elif held is not None and cut.definition and _opens(source, held, cut):
            held.blocks = [Block(held.blocks[0].start, end, code=True, lang=lang)]
            held.symbol = cut.symbol
        else:
            found.append(Section([block], symbol=cut.symbol))
    return found


def _tame(text: str) -> bool:
    """Whether a native parser may see it: neither huge nor absurdly nested."""
    if len(text) > MAX_PARSE_CHARS:
        return False
    if text.count("(") + text.count("[") + text.count("{") <= MAX_NESTING:
        return True
    depth = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "([{" else max(0, depth - 1)
        if depth > MAX_NESTING:
            return False
    return True


def _opens(source: Source, section: Section, cut: Cut) -> bool:
    """Whether a section is only the opening line of the class that the cut is in: too little to stand alone."""
    if section.symbol is None or not (cut.symbol or "").startswith(section.symbol + "."):
        return False
    first, last = section.blocks[0].start, section.blocks[-1].end
    return last - first < 6 and sum(not source.blank(number) for number in range(first, last)) == 1


def _cuts(source: Source, lang: str, limits: Limits) -> list[Cut]:
    parser = _parser(lang)
    if parser is None:
        return []
    raw = source.text.encode("utf-8", "surrogatepass")
    if source.text.isascii():
        starts = source.starts
    else:
        pairs = zip(source.starts, source.starts[1:], strict=False)
        lengths = (len(source.text[a:b].encode("utf-8", "surrogatepass")) for a, b in pairs)
        starts = list(accumulate(lengths, initial=0))
    walk = _Walk(starts, limits)
    walk.children(parser.parse(raw).root_node)
    return walk.done()


@cache
def _parser(lang: str) -> Parser | None:
    try:
        from semble_grammars import get_parser
        from semble_grammars.exceptions import GrammarLoadError, LanguageNotFoundError, UnsupportedPlatformError
    except ImportError:
        return None
    try:
        parser: Parser = get_parser(lang)
    except (GrammarLoadError, LanguageNotFoundError, UnsupportedPlatformError, OSError):
        return None
    return parser


class _Walk:
    """Goes through the tree with a stack of its own: source may be nested deeper than Python can recurse."""

    def __init__(self, starts: list[int], limits: Limits) -> None:
        self.starts = starts
        self.limits = limits
        self.cuts: list[Cut] = []
        self.todo: list[tuple[Node, str | None, int, int]] = []  # node, enclosing symbol, line it begins on, depth

    def line(self, byte: int) -> int:
        return bisect_right(self.starts, byte, 0, len(self.starts) - 1) - 1

    def children(self, root: Node) -> None:
        self.push(root, None, 0)
        while self.todo:
            self.visit(*self.todo.pop())

    def push(self, node: Node, symbol: str | None, depth: int) -> None:
        """The children of a node, first on top; comments and decorators right above one begin it."""
        rows: list[tuple[Node, str | None, int, int]] = []
        above = -1
        last = -2
        for child in node.named_children:
            start = self.line(child.start_byte)
            end = self.line(max(child.start_byte, child.end_byte - 1))
            if above < 0 or start > last + 1:
                above = start
            if _ABOVE.search(child.type):
                rows.append((child, symbol, above if above != start else start, depth))
            else:
                while rows and _ABOVE.search(rows[-1][0].type) and rows[-1][2] >= above:
                    rows.pop()
                rows.append((child, symbol, above, depth))
                above = -1
            last = end
        self.todo.extend(reversed(rows))

    def visit(self, node: Node, symbol: str | None, line: int, depth: int) -> None:
        inner = node
        while _WRAP.match(inner.type) and (wrapped := _wrapped(inner)) is not None:
            inner = wrapped
        kind = inner.type
        body = _body(inner) if _NEST.match(kind) and depth < MAX_DEPTH else None
        if body is not None or (_NEST.match(kind) and not _FILE_WIDE.match(kind)):
            name = _name(inner)
            whole = f"{symbol}.{name}" if symbol and name else name or symbol
            self.cuts.append(Cut(line, whole, True))
            if body is not None:
                self.push(body, whole, depth + 1)
            return
        named = _LEAF.match(kind) or _SINGLE.match(kind) or (kind in _NAMELESS and _is_function(inner))
        if named and (name := _name(inner)):
            self.cuts.append(Cut(line, f"{symbol}.{name}" if symbol else name, True))
            return
        self.cuts.append(Cut(line, symbol, False, bool(_ABOVE.search(kind)) or _docstring(node)))
        if (node.end_byte - node.start_byte > self.limits.cap or kind == "ERROR") and depth < MAX_DEPTH:
            self.push(node, symbol, depth + 1)  # definitions inside of a test suite, a guard, a statement in brackets

    def done(self) -> list[Cut]:
        """One cut per line, in order; the first begins the file."""
        by_line: dict[int, Cut] = {}
        for cut in sorted(self.cuts, key=lambda cut: cut.line):
            held = by_line.get(cut.line)
            if held is None or (cut.definition and not held.definition):
                by_line[cut.line] = cut
        ordered = list(by_line.values())
        if ordered and ordered[0].line > 0:
            ordered[0] = Cut(0, ordered[0].symbol, ordered[0].definition, ordered[0].comment)
        return ordered


def _wrapped(node: Node) -> Node | None:
    for field in ("definition", "declaration", "value"):
        if (child := node.child_by_field_name(field)) is not None:
            return child
    children = node.named_children
    if node.type == "template_declaration":
        return children[-1] if children else None
    return children[0] if len(children) == 1 else None


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    for child in node.named_children:
        if child.type.endswith(("body", "block", "declaration_list", "_list", "implementation")):
            return child
    return node if node.type in ("class", "module", "class_implementation", "class_interface", "namespace") else None


def _name(node: Node) -> str | None:
    """The name of a definition; a method of Go or an `impl` of Rust is named by its type as well."""
    for _ in range(8):
        found = node.child_by_field_name("name") or node.child_by_field_name(
            "type" if node.type == "impl_item" else "name"
        )
        if found is not None:
            break
        inner = next(filter(None, map(node.child_by_field_name, ("declarator", "left", "lhs"))), None) or _first(node)
        if inner is None:
            return None
        if not inner.named_children or inner.type in ("qualified_identifier", "member_expression", "identifier"):
            found = inner
            break
        node = inner
    else:
        return None
    name = (found.text or b"").decode("utf-8", "replace").split("\n", 1)[0].strip()
    receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    if receiver is not None and receiver.text:
        owner = re.search(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*\)\s*$", receiver.text[:500].decode("utf-8", "replace"))
        name = f"{owner[1]}.{name}" if owner else name
    return name.strip("'\"")[:200] or None


def _first(node: Node) -> Node | None:
    """Where a grammar has no field for the name: the first child that is an identifier or holds one."""
    kinds = (
        "identifier",
        "type_spec",
        "variable_declarator",
        "assignment_expression",
        "function_declarator",
        "word",
        "name",
    )
    for child in node.named_children:
        if (
            child.type in kinds
            or child.type.endswith("identifier")
            or child.type.endswith(("_spec", "_reference", "_name"))
        ):
            return child
    return None


def _is_function(node: Node) -> bool:
    """``const f = () => …`` and ``f = function () …``."""
    for held in (node, *node.named_children[:2]):
        for field in ("value", "right", "rhs"):
            value = held.child_by_field_name(field)
            if value is not None and value.type in _FUNCTION_VALUES:
                return True
    return False


def _docstring(node: Node) -> bool:
    return (
        node.type == "expression_statement" and node.named_child_count == 1 and node.named_children[0].type == "string"
    )
