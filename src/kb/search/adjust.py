"""What happens to a fused ranking before it is cut: decay by age, and the cuts themselves. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

from kb.search.fuse import DIGITS, Fused

_DATED = re.compile(r"(?:^|/)(\d{4})-(\d{2})-(\d{2})(?:-[^/]*)?\.md$")


def dated(path: str) -> date | None:
    """The day in the name of a memory file: ``YYYY-MM-DD.md`` or ``YYYY-MM-DD-slug.md``, in any folder."""
    match = _DATED.search(path.replace("\\", "/"))
    if match is None:
        return None
    try:
        return date(*(int(part) for part in match.groups()))
    except ValueError:  # 2026-02-31
        return None


def decay_factor(path: str, *, now: date, half_life_days: float) -> float:
    """``exp(-ln2 / half_life * age)``; 1.0 for a file without a date or with one in the future."""
    day = dated(path)
    age = max(0, (now - day).days) if day else 0
    return math.exp(-math.log(2) / half_life_days * age)


def decay(hits: Sequence[Fused], path_of: Callable[[str], str], *, now: date, half_life_days: float) -> list[Fused]:
    """Fade dated memories; the relevance before decay stays beside the score."""
    faded = []
    for hit in hits:
        factor = decay_factor(path_of(hit.chunk_id), now=now, half_life_days=half_life_days)
        faded.append(replace(hit, score=round(hit.score * factor, DIGITS), decay=round(factor, DIGITS)))
    return sorted(faded, key=lambda hit: hit.order)


def cut(hits: Sequence[Fused], *, threshold: float | None, min_score: float | None) -> list[Fused]:
    """``threshold`` cuts the score, ``min_score`` the relevance before decay. Equal stays; 0 is a valid cut."""
    return [
        hit
        for hit in hits
        if (threshold is None or hit.score >= threshold) and (min_score is None or hit.relevance >= min_score)
    ]
