"""From hits to gains: which of them answer the question, each answer counted once, and where the answers stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kb.types import Citation, Hit

_PLACE = re.compile(r"(?P<path>.*?)#(?:L(?P<start>\d+)(?:-L?(?P<end>\d+))?|p=(?P<page>\d+))\Z", re.DOTALL)

# Rank in the answer, in the lexical leg, in the vector leg; None is "not among what was asked for". The answer counts
# documents, or chunks where the judgements name places; legs always count chunks.
Position = tuple[int | None, int | None, int | None]
NOWHERE: Position = (None, None, None)


def gains(hits: Sequence[Hit], grades: Mapping[str, float]) -> list[float]:
    """The grade at each rank. Without places, a document stands where its best chunk does and its others are left out.

    With places (``path#L3-L9``) every chunk has a rank, and counts where it overlaps the place.
    """
    open_places = dict(grades)
    found: list[float] = []
    for rank, hit in _ranked(hits, grades):
        if rank <= len(found):
            continue  # another chunk of a document that has its rank
        places = answered(hit, open_places)
        found.append(open_places.pop(max(places, key=open_places.__getitem__)) if places else 0.0)
    return found


def positions(hits: Sequence[Hit], grades: Mapping[str, float]) -> dict[str, Position]:
    """Where each relevant place stands, in the answer and in each leg; what was not found is left out."""
    relevant = {place: grade for place, grade in grades.items() if grade > 0}
    found: dict[str, Position] = {}
    for rank, hit in _ranked(hits, grades):
        for place in answered(hit, relevant):
            here = (rank, hit.retrieval.lexical_rank, hit.retrieval.vector_rank)
            found[place] = nearest(found.get(place, NOWHERE), here)
    return found


def nearest(one: Position, other: Position) -> Position:
    """The better rank of each kind."""
    answer, lexical, vector = (
        min((rank for rank in pair if rank is not None), default=None) for pair in zip(one, other, strict=True)
    )
    return (answer, lexical, vector)


def answered(hit: Hit, grades: Mapping[str, float]) -> list[str]:
    """The judged places that a chunk answers; of several names for its document, the longest."""
    if names_places(grades):
        return [place for place in grades if _covers(hit.citation, hit.doc_path, place)]
    return [known for known in (hit.doc_path, *_tails(hit.doc_path)) if known in grades][:1]


def is_relevant(hit: Hit, grades: Mapping[str, float]) -> bool:
    return any(grades[place] > 0 for place in answered(hit, grades))


def _ranked(hits: Sequence[Hit], grades: Mapping[str, float]) -> Iterator[tuple[int, Hit]]:
    """Each hit with its rank: among chunks where places are judged, else that of its document."""
    if names_places(grades):
        yield from enumerate(hits, start=1)
        return
    ranks: dict[str, int] = {}
    for hit in hits:
        yield ranks.setdefault(hit.doc_path, len(ranks) + 1), hit


def names_places(grades: Mapping[str, float]) -> bool:
    """Whether parts of documents are judged, so that chunks are counted and not documents."""
    return any(_is_place(place) for place in grades)


def _is_place(place: str) -> bool:
    return "#" in place and _PLACE.match(place) is not None


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
    first, last = sorted((int(match["start"]), int(match["end"] or match["start"])))
    return citation.start <= last and first <= citation.end
