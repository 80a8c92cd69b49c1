"""A portable pack: documents, chunks and vectors of a store in one file, one JSON document per line, gzipped.

The first line names the format and the model of the vectors. A pack is data from elsewhere: nothing in it is trusted.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, BinaryIO

from kb.errors import UsageError
from kb.protocols import Snapshot, Store
from kb.types import (
    DOC_TYPES,
    TRUST_LEVELS,
    AddReport,
    Chunk,
    Entry,
    Filters,
    Issue,
    ModelInfo,
    Span,
    StoredChunk,
    StoredDocument,
    Vector,
)

FORMAT = "kb-pack.v1"
BATCH = 64  # documents per transaction
MAX_LINE = 256 * 1024 * 1024


def write(store: Store, file: BinaryIO) -> int:
    """One committed state of the store, in the order of its paths; two exports of it are the same bytes."""
    count = 0
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed, store.snapshot() as snapshot:
        model = asdict(replace(snapshot.model, spec="")) if snapshot.model else None  # a folder of this machine
        packed.write(_line({"format": FORMAT, "model": model}))
        for document in snapshot.find(Filters()):
            packed.write(_line(_packed(store, snapshot, document.doc_id)))
            count += 1
    return count


def read(store: Store, file: BinaryIO) -> AddReport:
    """Bring a pack in. A bad record is reported by its line; the rest goes on."""
    lines = _lines(file)
    model = _header(next(lines, (0, b""))[1])
    keep_vectors = _adopt(store, model)
    done, chunks, failed = 0, 0, []
    while batch := list(islice(lines, BATCH)):
        entries = []
        for number, line in batch:
            try:
                entries.append(_entry(json.loads(line), model.dimension if model and keep_vectors else None))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                failed.append(Issue(f"line {number}", "bad_record", f"not a record of {FORMAT}: {error}"))
        done += len(entries)
        chunks += sum(len(entry.chunks) for entry in entries)
        store.put(entries)
    warning = () if keep_vectors or model is None else (f"the vectors of {model.label} were left out: another model",)
    return AddReport(added=done, chunks=chunks, failed=tuple(failed), warnings=warning)


def _adopt(store: Store, model: ModelInfo | None) -> bool:
    """Whether the pack's vectors fit: an empty store takes the pack's model, another keeps its own."""
    with store.snapshot() as snapshot:
        present = snapshot.model
    if model is None or (present is not None and present.label == model.label):
        return model is not None
    if present is None:
        store.set_model(model)
        return True
    return False


def _packed(store: Store, snapshot: Snapshot, doc_id: str) -> dict[str, Any]:
    document, chunks = snapshot.read(doc_id)
    vectors = store.vectors([chunk.embed_hash for chunk in chunks])
    found = [vectors.get(chunk.embed_hash) for chunk in chunks]
    return {
        "document": asdict(replace(document, source=None, root=None, stamp=None)),  # another machine's files
        "chunks": [asdict(chunk) for chunk in chunks],
        "vectors": [base64.b64encode(vector).decode() if vector else None for vector in found],
    }


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as packed:
            number = 0
            while line := packed.readline(MAX_LINE):
                number += 1
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"this is not a whole pack of kb: {error}", fix="kb export FILE makes one") from error


def _header(line: bytes) -> ModelInfo | None:
    try:
        head = json.loads(line)
        if head["format"] != FORMAT:
            raise ValueError(head["format"])
        model = head["model"]
        return ModelInfo(**{**model, "scripts": tuple(model["scripts"]), "spec": ""}) if model else None
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"this is not a pack of kb ({FORMAT})", fix="kb export FILE makes one") from error


def _entry(record: dict[str, Any], dimension: int | None) -> Entry:
    given = record["document"]
    document = StoredDocument(**{**given, "tags": tuple(given["tags"]), "stamp": None, "source": None, "root": None})
    if document.type not in DOC_TYPES or document.trust not in TRUST_LEVELS:
        raise ValueError("unknown type or trust")
    chunks = tuple(_chunk(item) for item in record["chunks"])
    if any(chunk.doc_id != document.doc_id or chunk.ordinal != index for index, chunk in enumerate(chunks)):
        raise ValueError("chunks that do not belong to their document")
    if dimension is None:
        return Entry(document, chunks)
    vectors = tuple(_vector(item, dimension) for item in record["vectors"])
    return Entry(document, chunks, vectors if len(vectors) == len(chunks) else ())


def _chunk(item: dict[str, Any]) -> StoredChunk:
    inner = item["chunk"]
    chunk = Chunk(**{**inner, "span": Span(**inner["span"]), "heading_path": tuple(inner["heading_path"])})
    return StoredChunk(**{**item, "chunk": chunk})


def _vector(text: str | None, dimension: int) -> Vector | None:
    if text is None:
        return None
    vector = base64.b64decode(text, validate=True)
    if len(vector) != dimension * 4 or not all(map(math.isfinite, memoryview(vector).cast("f"))):
        raise ValueError("a vector of another size or not finite")
    return vector
