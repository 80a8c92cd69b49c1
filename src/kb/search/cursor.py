"""Cursors: where the next page starts, and of which question and revision. Opaque to callers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from kb.errors import StaleCursor
from kb.types import Query, Value

AGAIN = "run the search again without --cursor"
OPINION = 10**6  # opinions have six digits
MOST_OPINIONS = 100


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cursor(Value):
    """``top`` is that of the first page: it fixes how deep the legs look, so that all pages cut one ranking."""

    offset: int
    top: int
    revision: int
    question: str
    skipped: tuple[int, ...] = ()  # places before the offset that a budget had no room for, from 0
    opinions: tuple[float, ...] = ()  # of the reranker, which is asked once: its answers, or its speed, may change

    def encode(self) -> str:
        fields: list[Any] = [self.offset, self.top, self.revision, self.question]
        if self.skipped or self.opinions:
            fields += [self.skipped, [round(opinion * OPINION) for opinion in self.opinions]]
        data = json.dumps(fields, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(data).decode().rstrip("=")


def first(top: int, revision: int, question: str) -> Cursor:
    """Where the first page begins."""
    return Cursor(0, top, revision, question)


def places(cursor: Cursor, count: int, total: int) -> list[int]:
    """The next places of a ranking, from 0: what was skipped before, then what follows."""
    following = range(cursor.offset, min(total, cursor.offset + count))
    return [place for place in (*cursor.skipped, *following) if place < total][:count]


def after(cursor: Cursor, given: Iterable[int], total: int) -> Cursor | None:
    """The cursor that goes on when these places have been given; None at the end. Nothing is lost or comes twice."""
    done = set(given)
    offset = max(cursor.offset, max(done, default=-1) + 1)
    passed = (*cursor.skipped, *range(cursor.offset, offset))
    skipped = tuple(place for place in passed if place not in done and place < total)
    return replace(cursor, offset=offset, skipped=skipped) if skipped or offset < total else None


def decode(text: str, *, question: str, revision: int) -> Cursor:
    """Read a cursor; one of another question, another revision or no cursor at all is refused."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        offset, top, at, asked, *more = json.loads(data)
        skipped, opinions = more or ((), ())
        cursor = Cursor(
            int(offset), int(top), int(at), str(asked), tuple(map(int, skipped)),
            tuple(int(opinion) / OPINION for opinion in opinions),
        )  # fmt: skip
    except (binascii.Error, ValueError, TypeError, OverflowError, RecursionError):
        raise StaleCursor("this is not a cursor of kb", fix=AGAIN) from None
    if cursor.question != question:
        raise StaleCursor("the cursor belongs to another search", fix=AGAIN)
    if cursor.revision != revision:
        raise StaleCursor(
            f"the store has changed since this cursor was made (revision {cursor.revision}, now {revision})", fix=AGAIN
        )
    ordered = all(low < high for low, high in pairwise((-1, *cursor.skipped, cursor.offset)))
    rated = len(cursor.opinions) <= MOST_OPINIONS and all(0 <= opinion <= 1 for opinion in cursor.opinions)
    if not (0 <= cursor.offset <= 100_000 and 1 <= cursor.top <= 10_000 and ordered and rated):
        raise StaleCursor("this is not a cursor of kb", fix=AGAIN)
    return cursor


def fingerprint(query: Query, profile: str) -> str:
    """What must stay the same from page to page: all of the question but its page and its size."""
    same = replace(query, cursor=None, top=None, budget=None, explain=False)
    return hashlib.blake2b(f"{profile}\n{same!r}".encode("utf-8", "replace"), digest_size=8).hexdigest()
