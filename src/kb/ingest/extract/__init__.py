"""The table of extractors: bytes of a file to chunks and what is known about the document."""

from __future__ import annotations

from dataclasses import dataclass

from kb.ingest.chunk import Limits, chunks
from kb.ingest.extract import code, markdown, plain
from kb.ingest.extract.decode import decode
from kb.ingest.extract.frontmatter import Meta
from kb.ingest.extract.languages import FileType, file_type, shebang
from kb.ingest.extract.script import script_language
from kb.ingest.source import Source
from kb.types import Chunk, DocType

VERSIONS: dict[DocType, str] = {
    "markdown": markdown.PARSER_VERSION,
    "code": code.PARSER_VERSION,
    "note": plain.PARSER_VERSION,
    "pdf": "pdf-1",
}


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a file says: its chunks, and of the document what is known; None where it says nothing."""

    type: DocType
    chunks: tuple[Chunk, ...]
    title: str | None = None
    meta: Meta = Meta()
    lang: str | None = None
    encoding: str = "utf-8"


def extract(raw: bytes, name: str, limits: Limits, *, force: DocType | None = None) -> Extracted:
    """Text files of any type. ``force`` is the type that the user names; a PDF is read by ``extract.pdf``."""
    source = decode(raw)
    kind = file_type(name)
    if force is not None and force != kind.type:
        kind = FileType(force, kind.lang)
    if kind.type == "note" and force is None and (lang := shebang(source.text[:200])):
        kind = FileType("code", lang)
    if kind.type == "markdown":
        return _markdown(source, limits)
    if kind.type == "code":
        lang = kind.lang or shebang(source.text[:200])
        found = chunks(source, code.sections(source, lang, limits), limits)
        return Extracted("code", tuple(found), None, Meta(), lang, source.encoding)
    found = chunks(source, plain.sections(source), limits)
    lang = script_language(source.text)
    return Extracted(kind.type, tuple(found), plain.first_line(source), Meta(), lang, source.encoding)


def _markdown(source: Source, limits: Limits) -> Extracted:
    sections, meta, titles = markdown.scan(source)
    title = markdown.title_of(meta, titles)
    if title is None:
        title = plain.first_line(source)
    lang = meta.lang or script_language(source.text)
    found = chunks(source, sections, limits)
    return Extracted("markdown", tuple(found), title, meta, lang, source.encoding)
