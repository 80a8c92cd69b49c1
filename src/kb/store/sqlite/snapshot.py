"""One committed state of the store, read through one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from kb.errors import NotFound, StaleCursor
from kb.store import choice as choices
from kb.store.entries import unit
from kb.store.sqlite import extents, fts, generations, vectors
from kb.store.sqlite.faults import typed
from kb.store.sqlite.rows import CHUNK, DOCUMENT, to_chunk, to_document
from kb.store.sqlite.vocabulary import SQLiteVocabulary
from kb.store.sqlite.where import document_test
from kb.types import Candidate, Extent, Filters, LexicalQuery, StoredChunk, StoredDocument, Vector

KEPT = "kept:"  # before the names of what was measured, in `meta`
AMONG = "(SELECT value FROM json_each(:ids))"


class SQLiteSnapshot:
    """Consistent for as long as it is held; it cannot write. One model answers, the one of its collection."""

    def __init__(self, connection: apsw.Connection, leg: vectors.Vectors, collection: str | None = None) -> None:
        self.connection = connection
        self._leg = leg
        meta = dict(connection.execute("SELECT key, value FROM meta"))  # this read fixes what all others will see
        self.revision = int(meta["revision"])
        self.kept = {key[len(KEPT) :]: str(value) for key, value in meta.items() if key.startswith(KEPT)}
        choice = choices.from_json(meta["choice"])
        generation = generations.find(connection, choice.label(collection))
        self.model = generation.info if generation else None
        self.chosen = choice.store.chosen or choice.seat(collection).chosen
        self.calibration = generation.calibration if generation else None
        self._table = vectors.Table("vectors", True)
        self._vectors = generation is not None and generation.counts
        if generation is not None:
            self._table = vectors.Table(generation.table, generation.state == "ready")
        self._answered: str | None = None
        self.vocabulary = SQLiteVocabulary(connection)

    @property
    def lexical_engine(self) -> str:
        return "fts5"

    @property
    def vector_engine(self) -> str:
        return self._answered or self._leg.engine(self._table.name, self.revision)

    def match(self, query: LexicalQuery, where: Filters, limit: int) -> list[Candidate]:
        with typed():
            return fts.match(self.connection, query, where, limit)

    def nearest(self, vector: Vector, where: Filters, limit: int) -> list[Candidate]:
        with typed():
            query = unit(vector, self.model) if vector and self.model else b""
            if not query or not self._vectors or limit < 1:
                return []
            found, self._answered = vectors.nearest(
                self.connection, self._leg, self._table, self.revision, query, where, limit
            )
            return found

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        with typed():
            query = unit(vector, self.model) if vector and self.model else b""
            if not query or not self._vectors:
                return {}
            numbers = self.connection.execute(f"SELECT id FROM chunks WHERE chunk_id IN {AMONG}", _ids(chunk_ids))
            held = [row[0] for row in numbers]
            found = vectors.canonical(self.connection, self._table, query, held, len(held))
            return {candidate.chunk_id: candidate.score for candidate in found}

    def extents(self, chunk_ids: Sequence[str]) -> dict[str, Extent]:
        with typed():
            return extents.extents(self.connection, chunk_ids)

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        statement = f"SELECT {CHUNK} FROM chunks c JOIN documents d ON d.id = c.document WHERE c.chunk_id IN {AMONG}"
        with typed():
            found = {row[0]: to_chunk(row) for row in self.connection.execute(statement, _ids(chunk_ids))}
        return {chunk_id: found[chunk_id] for chunk_id in chunk_ids if chunk_id in found}

    def vectors_of(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        if not self._vectors or self.model is None:
            return {}
        with typed():
            statement = f"SELECT id, chunk_id FROM chunks WHERE chunk_id IN {AMONG}"
            names = dict(self.connection.execute(statement, _ids(chunk_ids)).fetchall())
            held = vectors.read(self.connection, self._table.name, self.model.dimension, list(names))
            found = {names[number]: vector for number, vector in held}
        return {chunk_id: found[chunk_id] for chunk_id in chunk_ids if chunk_id in found}

    def documents(self, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
        statement = f"SELECT {DOCUMENT} FROM documents d WHERE d.doc_id IN {AMONG}"
        with typed():
            found = {row[0]: to_document(row) for row in self.connection.execute(statement, _ids(doc_ids))}
        return {doc_id: found[doc_id] for doc_id in doc_ids if doc_id in found}

    def find(self, where: Filters, *, after: str | None = None, limit: int | None = None) -> list[StoredDocument]:
        test, bindings = document_test(where)
        with typed():
            if after is not None:
                place = "SELECT collection, CAST(path AS BLOB) FROM documents WHERE doc_id = ?"
                last = self.connection.execute(place, (after,)).fetchone()
                if last is None:
                    raise StaleCursor(
                        "the document after which to go on is gone", fix="start again from the first page"
                    )
                test += " AND (d.collection, CAST(d.path AS BLOB)) > (:collection, :path)"
                bindings |= {"collection": last[0], "path": last[1]}
            rows = self.connection.execute(
                f"SELECT {DOCUMENT} FROM documents d WHERE {test} "
                "ORDER BY d.collection, CAST(d.path AS BLOB) LIMIT :rows",
                {**bindings, "rows": -1 if limit is None else limit},
            )
            return [to_document(row) for row in rows]

    def read(self, doc_id: str) -> tuple[StoredDocument, tuple[StoredChunk, ...]]:
        document = self.documents([doc_id]).get(doc_id)
        if document is None:
            raise NotFound(f"there is no document '{doc_id}'", fix="kb list")
        statement = (
            f"SELECT {CHUNK} FROM chunks c JOIN documents d ON d.id = c.document WHERE d.doc_id = ? ORDER BY c.ordinal"
        )
        with typed():
            return document, tuple(to_chunk(row) for row in self.connection.execute(statement, (doc_id,)))


def _ids(values: Sequence[str]) -> dict[str, Any]:
    return {"ids": json.dumps(list(values))}
