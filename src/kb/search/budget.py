"""Packing an answer into a number of tokens, so that they carry as much as they can. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kb.analysis import stems
from kb.search.variety import overlap
from kb.text import cjk_char
from kb.types import Hit, Value

PER_HIT = 60  # tokens that a hit costs beside its texts: field names, ids, scores
WINDOW = 50  # hits that are looked at: what is left out travels in the cursor, which stays short
SNIPPET_WORTH = 0.7  # of the whole text's. With FLAT: as many answers found as by snippets alone, and whole texts
FLAT = 5  # for what is left. A hit is worth 1 / (FLAT + rank - 1). Both: docs/decisions/009-shape.md
SAME = 0.9  # share of words in common above which a text says nothing new


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Offer(Value):
    """Something that the budget can buy: a hit with its snippet, or for a hit that is bought already its whole text."""

    place: int
    whole: bool
    value: float  # for each token
    cost: int

    @property
    def order(self) -> tuple[float, bool, int]:
        return (-self.value, self.whole, self.place)


def tokens(text: str) -> int:
    """About how many tokens a model reads: four characters each, a CJK character one."""
    wide = 0 if text.isascii() else len(cjk_char().findall(text))
    return wide + (len(text) - wide + 3) // 4


def cost(hit: Hit) -> int:
    """What a hit takes of a budget, with its text and its parent's where it has them."""
    parent = hit.parent.text if hit.parent else None
    texts = (hit.snippet, hit.title, hit.citation.uri, hit.text or "", parent or "")
    return PER_HIT + sum(map(tokens, texts))


def pack(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """The hits, and of them the whole texts, that are worth most for their tokens; in the order of their ranks.

    They come with their whole texts; those that do not fit are taken off. The first hit is always there, so that an
    answer is never empty for its size.
    """
    offers = sorted((offer for place in range(len(hits)) for offer in _offers(hits, place)), key=lambda o: o.order)
    bought: dict[int, bool] = {}
    left = budget
    for offer in (*(o for o in offers if o.place == 0 and not o.whole), *offers):
        known = offer.place in bought
        if known == offer.whole and (offer.cost <= left or not bought):
            bought[offer.place] = offer.whole
            left -= offer.cost
    return [hits[place] if bought[place] else brief(hits[place]) for place in sorted(bought)]


def brief(hit: Hit) -> Hit:
    """Without the whole texts; the place of the parent stays."""
    return replace(hit, text=None, parent=hit.parent and replace(hit.parent, text=None))


def _offers(hits: Sequence[Hit], place: int) -> list[Offer]:
    """The hit with its snippet, then its whole text: that is never the better buy, so that it comes second."""
    hit = hits[place]
    worth = 0.0 if _repeats(hits, place) else 1 / (FLAT + place)
    least = cost(brief(hit))
    more = cost(hit) - least
    if more == 0:
        return [Offer(place, False, worth / least, least)]
    first = Offer(place, False, worth * SNIPPET_WORTH / least, least)
    return [first, Offer(place, True, min(first.value, worth * (1 - SNIPPET_WORTH) / more), more)]


def _repeats(hits: Sequence[Hit], place: int) -> bool:
    """Whether an earlier hit says the same."""
    words = _words(hits[place])
    return any(overlap(words, _words(hit)) >= SAME for hit in hits[:place])


def _words(hit: Hit) -> frozenset[str]:
    return frozenset(stems(hit.text or hit.snippet))
