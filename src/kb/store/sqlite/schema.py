"""The tables, as numbered migrations: append only, each in one transaction, never edited once released."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kb.errors import StoreCorrupt, StoreTooNew

if TYPE_CHECKING:
    import apsw

APPLICATION_ID = 0x6B622E31  # "kb.1", at byte 68 of the file

V1 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', 0), ('model', NULL), ('vectors', 'none');

CREATE TABLE documents(
  id INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, path NOT NULL, title NOT NULL, title_index TEXT NOT NULL,
  type TEXT NOT NULL, collection NOT NULL, lang, repo, version, trust INTEGER NOT NULL, date TEXT, source, root,
  size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER,
  content_hash TEXT NOT NULL, signature TEXT NOT NULL, chunker_version TEXT NOT NULL,
  encoding TEXT NOT NULL, indexed_at TEXT NOT NULL,
  UNIQUE(collection, path));
-- Order of code points, also for paths that are no text and therefore kept as bytes.
CREATE INDEX documents_in_order ON documents(collection, CAST(path AS BLOB));

CREATE TABLE tags(
  document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE, tag TEXT NOT NULL, position INTEGER NOT NULL,
  PRIMARY KEY(document, tag)) WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags(tag, document);

-- AUTOINCREMENT: a number is never used again, so a leftover in a derived table can never point at another chunk.
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, chunk_id TEXT NOT NULL UNIQUE,
  document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL, lang, symbol, heading_path TEXT NOT NULL,
  span_kind TEXT NOT NULL, span_start INTEGER NOT NULL, span_end INTEGER NOT NULL,
  offset_start INTEGER NOT NULL, offset_end INTEGER NOT NULL, embed_hash TEXT NOT NULL, cjk INTEGER NOT NULL,
  crc INTEGER NOT NULL, -- of text, headings and span: SQLite itself notices no flipped bit in a value
  heading_index TEXT NOT NULL, text NOT NULL,
  search_text TEXT, -- what the index reads, where that is not the text itself
  UNIQUE(document, ordinal));
CREATE INDEX chunks_filtered ON chunks(document, kind, lang);
CREATE INDEX chunks_by_hash ON chunks(embed_hash);
CREATE INDEX chunks_by_script ON chunks(cjk) WHERE cjk = 1;

-- Chunks with nothing to compare; all others have a row in `vectors` or wait for one.
CREATE TABLE blanks(chunk INTEGER PRIMARY KEY REFERENCES chunks(id) ON DELETE CASCADE);

CREATE VIEW chunks_indexed(id, title, heading, body) AS
  SELECT c.id, d.title_index, c.heading_index, coalesce(c.search_text, c.text)
  FROM chunks c JOIN documents d ON d.id = c.document;
CREATE VIEW chunks_cjk(id, title, heading, body) AS
  SELECT c.id, d.title_index, c.heading_index, coalesce(c.search_text, c.text)
  FROM chunks c JOIN documents d ON d.id = c.document WHERE c.cjk = 1;

CREATE VIRTUAL TABLE chunks_fts USING fts5(title, heading, body, content='chunks_indexed', content_rowid='id',
  tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE chunks_trigram USING fts5(title, heading, body, content='chunks_cjk', content_rowid='id',
  tokenize='trigram');
INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO chunks_trigram(chunks_trigram, rank) VALUES ('secure-delete', 1);
"""

# An external-content FTS5 table must be told the old words when they go: a plain UPDATE or DELETE would corrupt it.
_INDEXED = "NEW.id, d.title_index, NEW.heading_index, coalesce(NEW.search_text, NEW.text)"
_ADD = """
  INSERT INTO chunks_fts(rowid, title, heading, body) SELECT {new} FROM documents d WHERE d.id = NEW.document;
  INSERT INTO chunks_trigram(rowid, title, heading, body)
    SELECT {new} FROM documents d WHERE d.id = NEW.document AND NEW.cjk = 1;
"""
_DROP = """
  INSERT INTO chunks_fts(chunks_fts, rowid, title, heading, body)
    SELECT 'delete', {old} FROM documents d WHERE d.id = OLD.document;
  INSERT INTO chunks_trigram(chunks_trigram, rowid, title, heading, body)
    SELECT 'delete', {old} FROM documents d WHERE d.id = OLD.document AND OLD.cjk = 1;
"""
_ADD_ALL = """
  INSERT INTO chunks_fts(rowid, title, heading, body)
    SELECT id, title, heading, body FROM chunks_indexed WHERE id IN (SELECT id FROM chunks WHERE document = NEW.id);
  INSERT INTO chunks_trigram(rowid, title, heading, body)
    SELECT id, title, heading, body FROM chunks_cjk WHERE id IN (SELECT id FROM chunks WHERE document = NEW.id);
"""
_DROP_ALL = """
  INSERT INTO chunks_fts(chunks_fts, rowid, title, heading, body) SELECT 'delete', id, title, heading, body
    FROM chunks_indexed WHERE id IN (SELECT id FROM chunks WHERE document = OLD.id);
  INSERT INTO chunks_trigram(chunks_trigram, rowid, title, heading, body) SELECT 'delete', id, title, heading, body
    FROM chunks_cjk WHERE id IN (SELECT id FROM chunks WHERE document = OLD.id);
"""
_ADD, _DROP = _ADD.format(new=_INDEXED), _DROP.format(old=_INDEXED.replace("NEW", "OLD"))
_WORDS = "id, document, heading_index, cjk, text, search_text"

V1_TRIGGERS = f"""
CREATE TRIGGER chunks_insert AFTER INSERT ON chunks BEGIN {_ADD} END;
CREATE TRIGGER chunks_delete BEFORE DELETE ON chunks BEGIN {_DROP} END;
CREATE TRIGGER chunks_before BEFORE UPDATE OF {_WORDS} ON chunks BEGIN {_DROP} END;
CREATE TRIGGER chunks_after AFTER UPDATE OF {_WORDS} ON chunks BEGIN {_ADD} END;
CREATE TRIGGER titles_before BEFORE UPDATE OF id, title_index ON documents BEGIN {_DROP_ALL} END;
CREATE TRIGGER titles_after AFTER UPDATE OF id, title_index ON documents BEGIN {_ADD_ALL} END;
-- Before, not by the cascade: there the document, and with it the title to take out of the index, is gone already.
CREATE TRIGGER documents_delete BEFORE DELETE ON documents BEGIN DELETE FROM chunks WHERE document = OLD.id; END;
"""

# The word index reads a copy made for it (kb.wordtext) where that is not the text itself, words of the path, and stems.
# Trigrams and substrings read what they read before.
V2 = """
DROP TRIGGER chunks_insert; DROP TRIGGER chunks_delete; DROP TRIGGER chunks_before; DROP TRIGGER chunks_after;
DROP TRIGGER titles_before; DROP TRIGGER titles_after; DROP TABLE chunks_fts;
ALTER TABLE documents ADD COLUMN title_words TEXT; -- NULL here and below: no other than the plain copy
ALTER TABLE documents ADD COLUMN path_words TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN heading_words TEXT;
ALTER TABLE chunks ADD COLUMN word_text TEXT;
ALTER TABLE chunks ADD COLUMN parts TEXT; -- of names
ALTER TABLE chunks ADD COLUMN stems TEXT; -- of languages other than English
ALTER TABLE chunks ADD COLUMN stem_lang TEXT;
CREATE INDEX chunks_by_stems ON chunks(stem_lang) WHERE stem_lang IS NOT NULL;

-- A title that is only the first line of this text counts once, not twice.
CREATE VIEW chunks_words(id, title, heading, path, body, parts, stems) AS
  SELECT c.id, CASE WHEN substr(c.text, 1, length(d.title_index)) = d.title_index
    AND substr(c.text, length(d.title_index) + 1, 1) IN ('', char(10), char(13)) THEN ''
    ELSE coalesce(d.title_words, d.title_index) END,
    coalesce(c.heading_words, c.heading_index), d.path_words,
    coalesce(c.word_text, c.search_text, c.text), coalesce(c.parts, ''), coalesce(c.stems, '')
  FROM chunks c JOIN documents d ON d.id = c.document;
CREATE VIRTUAL TABLE chunks_fts USING fts5(title, heading, path, body, parts, stems, content='chunks_words',
  content_rowid='id', tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab(chunks_fts, row);
CREATE VIRTUAL TABLE chunks_places USING fts5vocab(chunks_fts, instance);
INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('secure-delete', 1);
"""
# They read the row as it stands in the views: before it goes, and after it has come. Short, so that all of the schema
# fits into the first page, with the table of vectors: of a damaged file without its schema nothing can be read.
_ADD_2 = """
INSERT INTO chunks_fts(rowid,title,heading,path,body,parts,stems) SELECT * FROM chunks_words WHERE {which};
INSERT INTO chunks_trigram(rowid,title,heading,body) SELECT * FROM chunks_cjk WHERE {which};
"""
_DROP_2 = """
INSERT INTO chunks_fts(chunks_fts,rowid,title,heading,path,body,parts,stems) SELECT 'delete',* FROM chunks_words WHERE {which};
INSERT INTO chunks_trigram(chunks_trigram,rowid,title,heading,body) SELECT 'delete',* FROM chunks_cjk WHERE {which};
"""
_NEW, _OLD = "id = NEW.id", "id = OLD.id"
_OF = "id IN (SELECT id FROM chunks WHERE document = {}.id)"
_TITLES_2 = "id, title_index, title_words, path_words"

V2_TRIGGERS = f"""
INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild');
CREATE TRIGGER chunks_insert AFTER INSERT ON chunks BEGIN {_ADD_2.format(which=_NEW)} END;
CREATE TRIGGER chunks_delete BEFORE DELETE ON chunks BEGIN {_DROP_2.format(which=_OLD)} END;
CREATE TRIGGER chunks_before BEFORE UPDATE ON chunks BEGIN {_DROP_2.format(which=_OLD)} END;
CREATE TRIGGER chunks_after AFTER UPDATE ON chunks BEGIN {_ADD_2.format(which=_NEW)} END;
CREATE TRIGGER titles_before BEFORE UPDATE OF {_TITLES_2} ON documents
  BEGIN {_DROP_2.format(which=_OF.format("OLD"))} END;
CREATE TRIGGER titles_after AFTER UPDATE OF {_TITLES_2} ON documents BEGIN {_ADD_2.format(which=_OF.format("NEW"))} END;
"""


def _fill(connection: apsw.Connection) -> None:
    from kb.store.sqlite import words  # only for stores that hold something: a new one needs none of it

    if connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").get:
        words.fill(connection)


# Several models at a time (docs/decisions/008-model-change.md). Vectors of model n are in the table `vectors_<n>`, of
# the first in `vectors`; which of them answers where is the JSON of `choice`.
V3 = """
CREATE TABLE models(
  id INTEGER PRIMARY KEY AUTOINCREMENT, label TEXT NOT NULL UNIQUE, info TEXT NOT NULL,
  state TEXT NOT NULL, -- of its table: ready, leftovers (rows of deleted chunks in it) or stale (it has to be made)
  rate REAL, problem TEXT, calibration TEXT);
INSERT INTO models(id, label, info, state)
  SELECT 1, (m.value ->> 'id') || '@' || (m.value ->> 'revision'), m.value, v.value
  FROM meta m, meta v WHERE m.key = 'model' AND v.key = 'vectors' AND m.value IS NOT NULL;
INSERT INTO meta
  SELECT 'choice', json_object('store', json_array(max(label), NULL, NULL, 0), 'collections', json('{}')) FROM models;
DELETE FROM meta WHERE key IN ('model', 'vectors');

ALTER TABLE blanks RENAME TO blanks_before;
CREATE TABLE blanks(
  model INTEGER NOT NULL REFERENCES models(id) ON DELETE CASCADE,
  chunk INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE, PRIMARY KEY(model, chunk)) WITHOUT ROWID;
INSERT INTO blanks SELECT 1, chunk FROM blanks_before WHERE EXISTS (SELECT 1 FROM models);
DROP TABLE blanks_before;
CREATE INDEX blanks_by_chunk ON blanks(chunk);
"""

Step = str | Callable[["apsw.Connection"], None]
MIGRATIONS: tuple[tuple[Step, ...], ...] = ((V1 + V1_TRIGGERS,), (V2, _fill, V2_TRIGGERS), (V3,))
SCHEMA_VERSION = len(MIGRATIONS)


def upgrade(connection: apsw.Connection, migrations: tuple[tuple[Step, ...], ...] = MIGRATIONS) -> None:
    """Bring the database to the newest version, step by step; each step is wholly done or not at all."""
    while (version := _pragma(connection, "user_version")) < len(migrations):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _pragma(connection, "user_version") == version:  # else another process was quicker
                if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").get:
                    raise not_ours()
                for step in migrations[version]:
                    if isinstance(step, str):
                        connection.execute(step).fetchall()
                    else:
                        step(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    verify(_pragma(connection, "application_id"), version)


def verify(application_id: int, version: int) -> None:
    """Refuse what is not ours and what a newer kb wrote, before anything is changed."""
    if application_id != APPLICATION_ID:
        raise not_ours()
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"the store has format {version}, this kb reads up to {SCHEMA_VERSION}", fix="pip install -U kb-search"
        )


def not_ours() -> StoreCorrupt:
    return StoreCorrupt("kb.db is not a kb store", fix="choose another folder with --store, or move the file away")


def _pragma(connection: apsw.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").get)
