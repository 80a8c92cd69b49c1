"""The one wire format: values in, plain dicts and bytes out. Command line, HTTP and MCP all speak through this.

Keys come in the order of the contract; v1 only ever gains optional fields. ``to_json`` gives the same bytes for the
same value in every process: compact separators, UTF-8, no NaN, no negative zero, no lone surrogates.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb.errors import KBError
from kb.models import ModelState, ModelStatus
from kb.types import (
    AddReport,
    CheckReport,
    Citation,
    Hit,
    Issue,
    Leg,
    ModelInfo,
    Passage,
    Progress,
    Retrieval,
    SearchResult,
    Section,
    Status,
    StoredDocument,
)

if TYPE_CHECKING:
    from kb.whynot.values import Meaning, Standing, WhyNot, Words

_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # json escapes the C0 controls itself
_SURROGATE = re.compile("[\ud800-\udfff]")
_CITED = {
    "line": ("kind", "uri", "path", "start", "end", "section"),
    "page": ("kind", "uri", "path", "page", "section"),
    "code": ("kind", "uri", "path", "start", "end", "symbol", "lang", "section"),
}


def to_json(document: Mapping[str, Any]) -> bytes:
    """One document, compact, with a newline at its end; lone surrogates, which no reader accepts, become U+FFFD.

    Characters that could steer a terminal or turn text around are escaped, which changes no value.
    """
    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not text.isascii() or "\x7f" in text:
        text = _SURROGATE.sub("\ufffd", _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))
    return text.encode("utf-8") + b"\n"


def plain(value: Any) -> Any:
    """The same value in what JSON knows: NaN and infinities become null, -0.0 becomes 0.0."""
    if isinstance(value, float):
        return value + 0.0 if value - value == 0.0 else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(str(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int)) else str(value)


# ---------------------------------------------------------------- search


def response(result: SearchResult) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema_version": "search_response.v1",
        "query": result.query,
        "mode": result.mode,
        "profile": result.profile,
        "returned": result.returned,
        "hits": [hit(each) for each in result.hits],
        "next_cursor": result.next_cursor,
        "truncated": result.truncated,
        "legs": {"lexical": leg(result.lexical), "vector": leg(result.vector)},
        "revision": result.revision,
        "warnings": list(result.warnings),
        "took_ms": round(result.took_ms, 3),
    }
    if result.no_good_match is not None:
        document |= {"no_good_match": result.no_good_match, "evidence": plain(result.evidence)}
    if result.trace is not None:
        document["trace"] = plain(result.trace)
    return document


def hit(each: Hit) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema_version": "search_hit.v1",
        "rank": each.rank,
        "score": each.score,
        "score_kind": each.score_kind,
        "chunk_id": each.chunk_id,
        "doc_id": each.doc_id,
        "doc_path": each.doc_path,
        "title": each.title,
        "type": each.type,
        "kind": each.kind,
        "collection": each.collection,
        "tags": list(each.tags),
        "heading_path": list(each.heading_path),
        "section_label": each.section_label,
        "snippet": each.snippet,
        "highlights": [list(pair) for pair in each.highlights],
        "citation": citation(each.citation),
        "retrieval": retrieval(each.retrieval),
        "index_version": each.index_version,
        "chunker_version": each.chunker_version,
        "embedding_model": each.embedding_model,
        "indexed_at": each.indexed_at,
        "stale": each.stale,
    }
    document |= _present(each, "source", "repo", "version", "text", "confidence")
    if each.merged:
        document["merged"] = list(each.merged)
    if each.parent is not None:
        document["parent"] = {"citation": citation(each.parent.citation)} | _present(each.parent, "text")
    return document


def citation(each: Citation) -> dict[str, Any]:
    """Only the fields of its kind."""
    return {name: getattr(each, name) for name in _CITED[each.kind]}


def retrieval(each: Retrieval) -> dict[str, Any]:
    document = {
        "method": each.method,
        "fusion_score": each.fusion_score,
        "rrf_score": each.rrf_score,
        "lexical_score": each.lexical_score,
        "vector_score": each.vector_score,
        "lexical_rank": each.lexical_rank,
        "vector_rank": each.vector_rank,
        "decay": each.decay,
        "tier": each.tier,
    }
    return document | _present(each, "rerank_score")


def leg(each: Leg) -> dict[str, Any]:
    document = {
        "engine": each.engine,
        "ran": each.ran,
        "tier": each.tier,
        "candidates": each.candidates,
        "ms": round(each.ms, 3),
    }
    return document | _present(each, "reason")


def why_not(found: WhyNot) -> dict[str, Any]:
    words, meaning, standing = found.words, found.meaning, found.standing
    return {
        "schema_version": "why_not.v1",
        "ref": found.ref,
        "query": found.query.text,
        "mode": found.query.mode,
        "profile": found.profile,
        "document": None if found.document is None else document(found.document),
        "chunks": found.chunks,
        "shown": found.shown,
        "rank": found.rank,
        "reasons": [{"code": each.code, "text": each.text, "fix": each.fix or None} for each in found.reasons],
        "filters": [
            {"flag": each.flag, "wanted": each.wanted, "passes": each.passes, "has": each.has} for each in found.filters
        ],
        "legs": {
            "lexical": _stands(words, words.score)
            | {
                "tier": words.tier,
                "held": list(words.held),
                "missing": [
                    {"word": each.word, "chunks": each.chunks, "near": list(each.near), "elsewhere": each.elsewhere}
                    for each in words.missing
                ],
                "dropped": list(words.dropped),
            },
            "vector": _stands(meaning, meaning.cosine) | {"vectors": meaning.vectors},
        },
        "ranking": standing and _fields(standing, "score_kind", "rank", "ranked", "score", "relevance", "decay",
                                        "last_score"),
        "change": found.change
        and {
            "told": list(found.change.told),
            "command": shlex.join(found.change.argv),
            "argv": list(found.change.argv),
            "rank": found.change.rank,
        },
        "warnings": list(found.warnings),
        "revision": found.revision,
        "took_ms": round(found.took_ms, 3),
    }  # fmt: skip


def _stands(leg: Words | Meaning, score: float | None) -> dict[str, Any]:
    place = None if leg.place is None else citation(leg.place)
    return _fields(leg, "ran", "reason", "rank") | {"score": score, "depth": leg.depth, "place": place}


def _fields(value: Words | Meaning | Standing, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


# ---------------------------------------------------------------- documents and passages


def passages(ref: str, found: Sequence[Passage]) -> dict[str, Any]:
    return {
        "schema_version": "get_result.v1",
        "ref": ref,
        "returned": len(found),
        "passages": [passage(each) for each in found],
    }


def passage(each: Passage) -> dict[str, Any]:
    return {
        "doc_id": each.doc_id,
        "doc_path": each.doc_path,
        "title": each.title,
        "chunk_id": each.chunk_id,
        "text": each.text,
        "citation": citation(each.citation),
        "before": [passage(neighbour) for neighbour in each.before],
        "after": [passage(neighbour) for neighbour in each.after],
    }


def documents(found: Sequence[StoredDocument], *, following: str | None = None) -> dict[str, Any]:
    """``following`` is what ``after`` takes to go on from here; None when this is the end."""
    return {
        "schema_version": "document_list.v1",
        "returned": len(found),
        "documents": [document(each) for each in found],
        "next": following,
    }


def document(each: StoredDocument) -> dict[str, Any]:
    return {
        "doc_id": each.doc_id,
        "path": each.path,
        "title": each.title,
        "type": each.type,
        "collection": each.collection,
        "tags": list(each.tags),
        "lang": each.lang,
        "repo": each.repo,
        "version": each.version,
        "trust": each.trust,
        "date": each.date,
        "source": each.source,
        "content_hash": each.content_hash,
        "indexed_at": each.indexed_at,
    }


# ---------------------------------------------------------------- reports


def add_report(report: AddReport) -> dict[str, Any]:
    return {
        "schema_version": "add_report.v1",
        "ok": report.ok,
        "added": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "chunks": report.chunks,
        "skipped": [issue(each) for each in report.skipped],
        "failed": [issue(each) for each in report.failed],
        "warnings": list(report.warnings),
        "interrupted": report.interrupted,
        "took_ms": round(report.took_ms, 3),
    }


def issue(each: Issue) -> dict[str, Any]:
    return {"path": each.path, "code": each.code, "reason": each.reason}


def progress(event: Progress) -> dict[str, Any]:
    return {
        "schema_version": "progress.v1",
        "event": event.event,
        "path": event.path,
        "done": event.done,
        "total": event.total,
        "chunks": event.chunks,
        "reason": event.reason,
    }


def remove_report(removed: int) -> dict[str, Any]:
    return {"schema_version": "remove_report.v1", "removed": removed}


def export_report(file: str, documents: int) -> dict[str, Any]:
    return {"schema_version": "export_report.v1", "file": file, "documents": documents}


def status(each: Status) -> dict[str, Any]:
    return {
        "schema_version": "status.v1",
        "location": each.location,
        "engine": each.engine,
        "store_version": each.schema_version,
        "revision": each.revision,
        "documents": each.documents,
        "chunks": each.chunks,
        "vectors": each.vectors,
        "pending": each.pending,
        "bytes": each.bytes,
        "model": None if each.model is None else model(each.model),
        "embedder": each.embedder,
        "by_type": dict(sorted(each.by_type.items())),
        "by_collection": dict(sorted(each.by_collection.items())),
        "tags": dict(sorted(each.tags.items())),
        "roots": list(each.roots),
        "index_version": each.index_version,
        "last_indexed_at": each.last_indexed_at,
    }


def model(each: ModelInfo) -> dict[str, Any]:
    return {
        "id": each.id,
        "revision": each.revision,
        "dimension": each.dimension,
        "scripts": list(each.scripts),
        "remote": each.remote,
    }


def model_status(each: ModelStatus) -> dict[str, Any]:
    return {
        "schema_version": "model_status.v1",
        "answering": each.answering,
        "building": each.building,
        "former": each.former,
        "chosen": each.chosen,
        "builder": each.builder,
        "models": [model_state(state) for state in each.models],
        "collections": [
            {
                "collection": row.collection,
                "answering": row.answering,
                "building": row.building,
                "chunks": row.chunks,
                "pending": row.pending,
            }
            for row in each.collections
        ],
    }


def model_state(each: ModelState) -> dict[str, Any]:
    known = each.calibration
    return {
        "label": each.info.label,
        "model": model(each.info),
        "role": each.role,
        "chunks": each.chunks,
        "pending": each.pending,
        "bytes": each.bytes,
        "rate": None if each.rate is None else round(each.rate, 1),
        "left_s": left_s(each),
        "problem": each.problem,
        "calibration": None if known is None else {"mean": known.mean, "deviation": known.deviation},
    }


def left_s(each: ModelState) -> float | None:
    """How long a model in building will take yet."""
    return round(each.pending / each.rate, 1) if each.role == "building" and each.rate else None


def model_list(found: Iterable[Any]) -> dict[str, Any]:
    """``found`` have a name, ok, detail and fix."""
    items = [{"name": each.name, "ok": each.ok, "detail": each.detail, "fix": each.fix or None} for each in found]
    return {"schema_version": "model_list.v1", "models": items}


def model_drop(freed: int) -> dict[str, Any]:
    return {"schema_version": "model_drop.v1", "freed_bytes": freed}


def marks(found: Iterable[Any]) -> dict[str, Any]:
    """``found`` have a query, a place and a grade."""
    items = [{"query": each.query, "place": each.place, "grade": each.grade} for each in found]
    return {"schema_version": "mark_list.v1", "marks": items}


def check_report(report: CheckReport) -> dict[str, Any]:
    problems = [{"code": each.code, "detail": each.detail, "repairable": each.repairable} for each in report.problems]
    return {
        "schema_version": "check_report.v1",
        "ok": report.ok,
        "problems": problems,
        "checked": dict(sorted(report.checked.items())),
        "repaired": list(report.repaired),
    }


def doctor(checks: Iterable[Any]) -> dict[str, Any]:
    """``checks`` have a name, ok, detail, fix and required; what is optional may fail."""
    items = [
        {"name": each.name, "ok": each.ok, "required": each.required, "detail": each.detail, "fix": each.fix or None}
        for each in checks
    ]
    fine = all(each["ok"] or not each["required"] for each in items)
    return {"schema_version": "doctor.v1", "ok": fine, "checks": items}


def config(path: str, settings: Iterable[tuple[str, Any, str]]) -> dict[str, Any]:
    """``settings`` are (key, value, where the value comes from)."""
    items = [{"key": key, "value": value, "source": source} for key, value, source in settings]
    return {"schema_version": "config.v1", "path": path, "settings": items}


def error(failure: KBError) -> dict[str, Any]:
    return {
        "schema_version": "error.v1",
        "code": failure.code,
        "message": str(failure),
        "details": plain(failure.details),
        "hint": failure.fix or None,
    }


def _present(each: Hit | Leg | Retrieval | Section, *names: str) -> dict[str, Any]:
    """Optional fields are there only when they say something."""
    return {name: value for name in names if (value := getattr(each, name)) is not None}
