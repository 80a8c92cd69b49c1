"""Packing an answer into a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from kb.text import cjk_char
from kb.types import Hit

PER_HIT = 60  # tokens that a hit costs beside its texts: field names, ids, scores


def tokens(text: str) -> int:
    """About how many tokens a model reads: four characters each, a CJK character one."""
    wide = 0 if text.isascii() else len(cjk_char().findall(text))
    return wide + (len(text) - wide + 3) // 4


def pack(hits: Sequence[Hit], budget: int | None) -> list[Hit]:
    """The first hits that fit; always at least one, so that an answer is never empty for its size."""
    if budget is None:
        return list(hits)
    packed: list[Hit] = []
    left = budget
    for hit in hits:
        left -= PER_HIT + tokens(hit.snippet) + tokens(hit.title) + tokens(hit.citation.uri)
        if packed and left < 0:
            break
        packed.append(hit)
    return packed
