"""From hits to gains: which of them answer the question, each answer counted once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kb.types import Citation, Hit

_PLACE = re.compile(r"(?P<path>.*?)#(?:L(?P<start>\d+)(?:-L?(?P<end>\d+))?|p=(?P<page>\d+))\Z", re.DOTALL)


def gains(hits: Sequence[Hit], grades: Mapping[str, float]) -> list[float]:
    """The grade at each rank. Without places, a document stands where its best chunk does and its others are left out.

    With places (``path#L3-L9``) every chunk has a rank, and counts where it overlaps the place.
    """
    if not any(_PLACE.match(place) for place in grades):
        return _by_document(hits, grades)
    open_places = dict(grades)
    found: list[float] = []
    for hit in hits:
        place = next((place for place in open_places if _covers(hit.citation, hit.doc_path, place)), None)
        found.append(open_places.pop(place) if place is not None else 0.0)
    return found


def _by_document(hits: Sequence[Hit], grades: Mapping[str, float]) -> list[float]:
    paths = list(dict.fromkeys(hit.doc_path for hit in hits))
    left = dict(grades)
    found = []
    for path in paths:
        wanted = next((known for known in (path, *_tails(path)) if known in left), None)
        found.append(left.pop(wanted) if wanted is not None else 0.0)
    return found


def _tails(path: str) -> list[str]:
    """``a/b/c.md`` is also meant by ``b/c.md`` and ``c.md``."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts))]


def _covers(citation: Citation, path: str, place: str) -> bool:
    match = _PLACE.match(place)
    wanted = match["path"] if match else place
    if wanted != path and wanted not in _tails(path):
        return False
    if match is None:
        return True
    if match["page"]:
        return citation.page == int(match["page"])
    if citation.start is None or citation.end is None:
        return False
    start = int(match["start"])
    return citation.start <= int(match["end"] or start) and start <= citation.end
