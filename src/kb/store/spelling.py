"""Which words of a vocabulary a misspelt word may have meant: the same for every store."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kb.analysis import phrase_stems
from kb.languages import is_marked

SHORTEST = 4  # letters: of shorter words too many differ by one
LONG = 8  # letters from which on two mistakes are allowed
ENDING = 6  # letters that the stemmer may have cut off the right word: "deployment" is indexed as "deploy"
MOST = 3
POOL = 12  # stems looked at,
TEXTS = 4  # each in so many chunks, for how their words are spelt
PLACES = 32  # in the index, in which those chunks are found
SCRIPTS = (("A", "\u024f"), ("\u0370", "\u03ff"), ("\u0400", "\u052f"))  # Latin, Greek, Cyrillic


def stem_of(word: str) -> str | None:
    """What is looked for instead of a word, if it is one of those that are."""
    if len(word) < SHORTEST or not word.isalpha() or not any(low <= word[0] <= high for low, high in SCRIPTS):
        return None
    stems = phrase_stems(word)
    return stems[0] if len(stems) == 1 else None


def beginnings(stem: str) -> list[list[str]]:
    """What the right word may begin with: first all of three letters, then two, in case the mistake stands there.

    Reading all terms with one first letter would cost 15 to 40 ms at 90,000 chunks, so a wrong letter in second place
    is not found.
    """
    pairs = dict.fromkeys((stem[:2], stem[0] + stem[2:3], stem[1] + stem[0]))
    return [[stem[:3]], [pair for pair in pairs if len(pair) == 2]]


def lengths(word: str) -> tuple[int, int]:
    """How long the stem of the right word may be: endings are cut off before a word is indexed."""
    return max(3, len(word) - ENDING - 1), len(word) + 2


def candidates(word: str, vocabulary: Iterable[tuple[str, int]]) -> list[str]:
    """The stems whose words may be the right one, the likeliest first."""
    found = []
    for term, chunks in vocabulary:
        if term.isalpha() and not is_marked(term):
            mistakes = min(distance(word[:end], term, allowed(word)) for end in _ends(word, term))
            if mistakes <= allowed(word):
                found.append((mistakes, -len(term), -chunks, term))
    return [term for *_, term in sorted(found)[:POOL]]


def _ends(word: str, term: str) -> list[int]:
    return sorted({min(len(word), max(1, len(term) + more)) for more in (-1, 0, 1)})


def allowed(word: str) -> int:
    return 2 if len(word) >= LONG else 1


def nearest(word: str, texts: Iterable[str]) -> tuple[str, ...]:
    """The words of these texts within one or two mistakes: fewest first, then the most frequent in them."""
    places = re.compile(rf"\b[{re.escape(word[0])}{re.escape(word[1])}][^\W\d_]+", re.IGNORECASE)
    seen: dict[str, list[str]] = {}
    for text in texts:
        for spelt in places.findall(text):
            seen.setdefault(spelt.lower(), []).append(spelt)
    found = []
    for lower, spelt in seen.items():
        mistakes = distance(word.lower(), lower, allowed(word))
        if 0 < mistakes <= allowed(word):
            found.append((mistakes, -len(spelt), lower, spelt[0]))
    fewest = min((mistakes for mistakes, *_ in found), default=0)
    return tuple(spelt for mistakes, *_, spelt in sorted(found)[:MOST] if mistakes == fewest)


def distance(a: str, b: str, most: int) -> int:
    """Letters to change, add, leave out or swap (Damerau-Levenshtein); more than ``most`` is any number above it."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        row = [i]
        for j, right in enumerate(b, start=1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]
