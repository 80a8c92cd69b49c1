"""Cursors: where the next page starts, and of which question and revision. Opaque to callers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, replace

from kb.errors import StaleCursor
from kb.types import Query, Value

AGAIN = "run the search again without --cursor"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cursor(Value):
    """``top`` is that of the first page: it fixes how deep the legs look, so that all pages cut one ranking."""

    offset: int
    top: int
    revision: int
    question: str

    def encode(self) -> str:
        data = json.dumps([self.offset, self.top, self.revision, self.question], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str, *, question: str, revision: int) -> Cursor:
    """Read a cursor; one of another question, another revision or no cursor at all is refused."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        offset, top, at, asked = json.loads(data)
        cursor = Cursor(int(offset), int(top), int(at), str(asked))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise StaleCursor("this is not a cursor of kb", fix=AGAIN) from None
    if cursor.question != question:
        raise StaleCursor("the cursor belongs to another search", fix=AGAIN)
    if cursor.revision != revision:
        raise StaleCursor(
            f"the store has changed since this cursor was made (revision {cursor.revision}, now {revision})", fix=AGAIN
        )
    if not (0 <= cursor.offset <= 100_000 and 1 <= cursor.top <= 10_000):
        raise StaleCursor("this is not a cursor of kb", fix=AGAIN)
    return cursor


def fingerprint(query: Query, profile: str) -> str:
    """What must stay the same from page to page: all of the question but its page and its size."""
    same = replace(query, cursor=None, top=None, budget=None, explain=False)
    return hashlib.blake2b(f"{profile}\n{same!r}".encode("utf-8", "replace"), digest_size=8).hexdigest()
