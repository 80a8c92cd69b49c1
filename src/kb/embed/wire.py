"""OpenAI's embedding messages: made, and checked before they are believed."""

from __future__ import annotations

import json
import math
from typing import Any

from kb.embed.vectors import unit
from kb.errors import EmbedderFailed
from kb.types import Vector

FLOAT = 4  # bytes
LARGEST_DIMENSION = 16_384
CHARS_PER_NUMBER = 32  # of JSON, generously
ENVELOPE = 1 << 16


def request(model: str, texts: list[str], dimension: int | None) -> bytes:
    message: dict[str, Any] = {"model": model, "input": texts, "encoding_format": "float"}
    if dimension:
        message["dimensions"] = dimension
    return json.dumps(message).encode()


def clean(text: str) -> str:
    """Without NUL and lone surrogates, which servers refuse or choke on."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def most_bytes(texts: int) -> int:
    """The longest answer there can be for so many texts."""
    return ENVELOPE + texts * LARGEST_DIMENSION * CHARS_PER_NUMBER


def vectors(answer: bytes, count: int, dimension: int) -> list[Vector]:
    """One unit vector per text, in the order of the texts. `dimension` 0 is: whatever the first one has."""
    items = _items(answer)
    if len(items) != count:
        raise _wrong(f"{len(items)} vectors for {count} texts")
    found: dict[int, Vector] = {}
    for place, item in enumerate(items):
        index = item.get("index", place) if isinstance(item, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count or index in found:
            raise _wrong("a vector whose index is missing, out of range or repeated")
        components = item.get("embedding")
        _check(components, dimension)
        dimension = dimension or len(components)
        found[index] = unit(_scaled(components))
    return [found[index] for index in range(count)]


def _items(answer: bytes) -> list[Any]:
    try:
        message = json.loads(answer)
    except (ValueError, RecursionError):
        raise _wrong("something that is not JSON") from None
    items = message.get("data") if isinstance(message, dict) else None
    if not isinstance(items, list):
        raise _wrong("JSON without a list named 'data'")
    return items


def _check(components: Any, dimension: int) -> None:
    if not isinstance(components, list) or not components:
        raise _wrong("an entry without a vector of numbers")
    if len(components) > LARGEST_DIMENSION:
        raise _wrong(f"a vector of {len(components)} dimensions")
    if dimension and len(components) != dimension:
        raise EmbedderFailed(
            f"the embedding server sent {len(components)} dimensions where {dimension} were expected",
            fix="set embed.dimension, or rebuild the vectors: kb add --rebuild",
        )
    if not all(type(component) in (int, float) for component in components):
        raise _wrong("a vector with something in it that is not a number")
    try:
        finite = all(map(math.isfinite, components))
    except OverflowError:
        finite = False
    if not finite:
        raise _wrong("a vector with a number that is not finite")
    if not any(components):
        raise _wrong("a vector of zeros")


def _scaled(components: list[float]) -> list[float]:
    """Divided by the largest, so that squares neither overflow nor vanish."""
    largest = max(map(abs, components))
    return [component / largest for component in components]


def _wrong(what: str) -> EmbedderFailed:
    return EmbedderFailed(f"the embedding server sent {what}", fix="check embed.base_url and the model's name")
