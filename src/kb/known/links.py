"""Links of Markdown from one document of a store to another: what they say, and where they lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from kb.types import StoredDocument

# Bounded, so that no text makes it slow; images and texts that hold brackets are not taken.
_LINK = re.compile(r"(?<!!)\[([^\[\]]{2,150})\]\(\s*<?([^()\s<>]{1,500})")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_ENDING = re.compile(r"\.(?:md|mdx|markdown|html?|rst|txt)$", re.IGNORECASE)
_FRONT = re.compile(r"(?:^|/)(?:_?index|readme)$", re.IGNORECASE)


def links_in(text: str) -> Iterator[tuple[str, str]]:
    """The text and the target of each link, as they are written."""
    for match in _LINK.finditer(text):
        yield match[1], match[2]


@dataclass(frozen=True, slots=True)
class Places:
    """Where links may lead: documents of one collection by their paths, and by the names that sites give to pages."""

    by_path: dict[str, str]
    by_page: dict[str, str]

    @classmethod
    def of(cls, documents: Iterable[StoredDocument]) -> Places:
        by_path = {document.path: document.doc_id for document in documents}
        by_page: dict[str, str] = {}
        for path, doc_id in by_path.items():
            by_page.setdefault(page(path), doc_id)
        return cls(by_path, by_page)

    def resolve(self, target: str, source: str) -> str | None:
        """The document that a link in the document at path ``source`` leads to, if it is here and another one."""
        place = unquote(re.split("[#?]", target, maxsplit=1)[0])
        if not place or _ELSEWHERE.match(place):
            return None
        for base in _bases(place, source):
            path = posixpath.normpath(posixpath.join(base, place.lstrip("/")))
            found = self.by_path.get(path) or self.by_page.get(page(path))
            if found is not None:
                return None if found == self.by_path.get(source) else found
        return None


def page(path: str) -> str:
    """``docs/setup/_index.md`` and ``docs/setup.md`` are what a link calls ``docs/setup/``."""
    return _FRONT.sub("", _ENDING.sub("", path))


def _bases(place: str, source: str) -> list[str]:
    """The folders from which a link may be meant, the likeliest first."""
    folder = posixpath.dirname(source)
    if place.startswith("/"):  # from the root of a site, which may be any folder above the document
        parts = folder.split("/") if folder else []
        return ["/".join(parts[:end]) for end in range(len(parts) + 1)]
    # On a site a page is a folder; a link that names a file is meant beside the document.
    return [folder] if _ENDING.search(place) else [folder, page(source)]
