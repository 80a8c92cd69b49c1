"""What every store checks before it writes an entry, so that nothing half right ever gets in."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import mul

from kb.errors import IndexMismatch, StoreError
from kb.types import DOC_TYPES, TRUST_LEVELS, Entry, ModelInfo, StoredChunk, Vector

UNIT = 2e-6  # the squared length of a float32 unit vector is nearer to 1 than this; others are scaled once, when stored


def prepare(entry: Entry, model: ModelInfo | None, held: Mapping[str, ModelInfo]) -> Entry:
    """The entry as it will be stored: checked, tags once each, vectors of unit length (b"": nothing to compare).

    All vectors are in ``by_model`` then, as far as they are of a model that the store holds.
    """
    document = entry.document
    if document.type not in DOC_TYPES or document.trust not in TRUST_LEVELS:
        raise StoreError(f"{document.path!r} has an unknown type or trust", fix=f"types: {', '.join(DOC_TYPES)}")
    if len({chunk.chunk_id for chunk in entry.chunks}) != len(entry.chunks):
        raise StoreError(f"the chunk ids of {document.path!r} are not unique", fix="give each chunk an id of its own")
    for ordinal, chunk in enumerate(entry.chunks):
        _check_chunk(chunk, ordinal, document.doc_id)
    if entry.vectors and len(entry.vectors) != len(entry.chunks):
        raise IndexMismatch(f"{document.path!r} has {len(entry.chunks)} chunks, but {len(entry.vectors)} vectors")
    for tag in document.tags:
        if not _is_text(tag):
            raise StoreError(f"the tag {tag!r} is not text", fix="use tags without lone surrogates")
    tags = tuple(dict.fromkeys(document.tags))
    document = replace(document, tags=tags)
    return replace(entry, document=document, vectors=(), by_model=_vectors(entry, model, held))


def _vectors(
    entry: Entry, model: ModelInfo | None, held: Mapping[str, ModelInfo]
) -> dict[str, tuple[Vector | None, ...]]:
    """What there is for each model: ``vectors`` are of the one that answers, where None is "nothing to compare"."""
    of_answering = tuple(b"" if vector is None else unit(vector, model) for vector in entry.vectors)
    found: dict[str, tuple[Vector | None, ...]] = {}
    for label, vectors in entry.by_model.items():
        if len(vectors) != len(entry.chunks):
            raise IndexMismatch(
                f"{entry.document.path!r} has {len(entry.chunks)} chunks, but {len(vectors)} vectors of {label}"
            )
        if label in held:  # another one may have been dropped meanwhile
            found[label] = tuple(None if vector is None else unit(vector, held[label]) for vector in vectors)
    if of_answering and model is not None:
        found.setdefault(model.label, of_answering)
    return found


def _check_chunk(chunk: StoredChunk, ordinal: int, doc_id: str) -> None:
    span = chunk.chunk.span
    if chunk.ordinal != ordinal or chunk.doc_id != doc_id:
        raise StoreError(f"chunk {chunk.chunk_id!r} is out of place", fix="number the chunks of a document from 0")
    if chunk.chunk.kind not in ("code", "info") or span.kind not in ("line", "page"):
        raise StoreError(f"chunk {chunk.chunk_id!r} is of an unknown kind", fix="kinds: code, info; spans: line, page")
    if not (0 <= span.offset_start <= span.offset_end and 1 <= span.start <= span.end):
        raise StoreError(f"chunk {chunk.chunk_id!r} has an impossible span: {span}", fix="start must not follow end")


def unit(vector: Vector, model: ModelInfo | None) -> Vector:
    """A vector that may be stored or compared: of the model's dimension, finite, of unit length, or b"" for zero."""
    if not vector:
        return b""
    if model is None:
        raise no_model()
    if len(vector) != 4 * model.dimension:
        raise IndexMismatch(
            f"a vector of {len(vector) / 4:g} components, where {model.label} has {model.dimension}",
            fix="kb model status",
        )
    values = floats(vector)
    square = sum(map(mul, values, values))  # NaN and infinity come through
    if abs(square - 1.0) <= UNIT:
        return vector
    norm = math.sqrt(square) if math.isfinite(square) else math.nan
    if not math.isfinite(norm):
        raise IndexMismatch("a vector holds NaN or infinity", fix="look at the embedding model: kb doctor")
    if norm < 1e-12:
        return b""
    return array("f", [value / norm for value in values]).tobytes()


def no_model() -> IndexMismatch:
    return IndexMismatch("vectors came before the model that made them", fix="declare the model first: set_model")


def floats(vector: bytes) -> array[float]:
    """The components of a vector. Every machine that runs kb is little-endian, as the stored form is."""
    return array("f", vector)


def batches(entries: Iterable[Entry], *, chunks: int) -> Iterator[list[Entry]]:
    """Entries in groups of about so many chunks; a document is never split."""
    group: list[Entry] = []
    size = 0
    for entry in entries:
        group.append(entry)
        size += 1 + len(entry.chunks)
        if size >= chunks:
            yield group
            group, size = [], 0
    if group:
        yield group


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
