"""PDF text by page. ``read_pages`` is what the worker process runs; ``chunk_pages`` what kb does with the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kb.errors import ExtractError
from kb.ingest.chunk import Limits, Section, chunks
from kb.ingest.extract.plain import first_line, paragraphs
from kb.ingest.source import Source
from kb.types import Chunk

PARSER_VERSION = "pdf-1"
MAX_CHARS = 50_000_000  # of one document; beyond it the file is a bomb, not a book
_JUNK_TITLE = re.compile(r"^(?:untitled|microsoft word|.*\.(?:docx?|dvi|tex|indd|pdf|qxd|xlsx?|pptx?|rtf)$|\W*$)", re.I)
_REASONS = {
    "pdf_password": "needs a password",
    "pdf_damaged": "is damaged: no page of it can be read",
    "pdf_no_text": "holds no text, only images (a scan?)",
    "pdf_timeout": "took too long to read",
    "pdf_crash": "made the PDF reader crash or run out of memory",
    "pdf_unavailable": "cannot be read: the PDF reader does not start",
}
_FIXES = {
    "pdf_password": "save a copy without the password",
    "pdf_no_text": "run an OCR tool over it first",
    "pdf_timeout": "raise ingest.pdf_timeout_s",
    "pdf_crash": "raise ingest.pdf_memory_mb, or save the file anew from a PDF viewer",
    "pdf_unavailable": "pip install --force-reinstall pypdfium2",
}


@dataclass(frozen=True, slots=True)
class Pages:
    """The text of each page, in order, and the title that the file gives itself."""

    texts: tuple[str, ...]
    title: str | None = None


class PdfError(ExtractError):
    """A PDF that gives no text; ``reason_code`` says why."""

    def __init__(self, reason_code: str) -> None:
        super().__init__(_REASONS[reason_code], fix=_FIXES.get(reason_code, ""))
        self.reason_code = reason_code


def chunk_pages(pages: Pages, limits: Limits) -> tuple[tuple[Chunk, ...], str | None]:
    """Chunks that never cross a page, and a title."""
    found: list[Chunk] = []
    title = _sane(pages.title)
    for number, text in enumerate(pages.texts, start=1):
        source = Source(text)
        found.extend(chunks(source, [Section(paragraphs(source))], limits, page=number))
        title = title or first_line(source)
    if not found:
        raise PdfError("pdf_no_text")
    return tuple(found), title


def _sane(title: str | None) -> str | None:
    text = " ".join((title or "").replace("\x00", "").split())[:120]
    return None if len(text) < 3 or _JUNK_TITLE.match(text) else text


def read_pages(raw: bytes) -> Pages:
    """Runs in the worker only: PDFium is native code and the file is anybody's."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(raw)
        count = len(document)
    except pypdfium2.PdfiumError as cause:
        raise PdfError("pdf_password" if "password" in str(cause).lower() else "pdf_damaged") from None
    texts: list[str] = []
    readable = total = 0
    for index in range(count):
        text = _page_text(document, index)
        readable += text is not None
        total += len(text or "")
        if total > MAX_CHARS:
            raise PdfError("pdf_crash")
        texts.append(text or "")
    if not readable:
        raise PdfError("pdf_damaged")
    try:
        title = document.get_metadata_value("Title")
    except (pypdfium2.PdfiumError, UnicodeDecodeError, ValueError):
        title = None
    return Pages(tuple(texts), title)


def warm_up() -> None:
    """Read a page with text and a title, so that every module and codec that reading needs is loaded."""
    stream = b"BT /F1 12 Tf 9 9 Td (warm) Tj ET"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Title(warm)>>",
    )
    body = b"".join(b"%d 0 obj%sendobj\n" % (number, text) for number, text in enumerate(objects, start=1))
    for raw in (b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Info 6 0 R/Size 7>>\n%%EOF", b"not a PDF"):
        try:
            read_pages(raw)
        except PdfError:
            pass


def _page_text(document: object, index: int) -> str | None:
    """The text of a page; None when it is damaged."""
    import pypdfium2

    try:
        page = document[index]  # type: ignore[index]
        text: str = page.get_textpage().get_text_range()
        page.close()
    except (pypdfium2.PdfiumError, UnicodeDecodeError, ValueError):
        return None
    # PDFium ends lines with CR LF, gives U+FFFE for a hyphen at the end of a line, and NUL for what it cannot name
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-").replace("\x00", "\ufffd")
    return text.encode("utf-8", "replace").decode("utf-8")
