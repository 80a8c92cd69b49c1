"""``--explain`` for people: what each leg gave to a hit, and what the filters left to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kb.cli.terminal import Screen, clean_line, count, span
from kb.types import Hit, SearchResult


def explain(out: Screen, hit: Hit, result: SearchResult) -> None:
    traced = result.trace["hits"] if result.trace else ()
    found = next((each for each in traced if each["chunk_id"] == hit.chunk_id), None)
    if found is None:
        return
    _leg(out, "lexical", found.get("lexical") or {}, hit.retrieval.tier)
    _leg(out, "vector", found.get("vector") or {}, None)
    if found.get("decay") is not None:
        out.line(("   decay    ", "dim"), f"× {found['decay']:.4f} of relevance {found['relevance']:.4f}")
    _moved(out, hit, result)
    total = f"{hit.score_kind} {hit.score:.4f}"
    if hit.retrieval.fusion_score != hit.score:
        total += f" · of the best possible {hit.retrieval.fusion_score:.4f}"
    out.line(("   score    ", "dim"), total)


def _moved(out: Screen, hit: Hit, result: SearchResult) -> None:
    """Where it stood before the reranker, the neighbours and the variety."""
    moved = (result.trace or {}).get("arranged", {}).get("hits", ())
    found = next((each for each in moved if each["chunk_id"] == hit.chunk_id), None)
    if found is not None:
        opinion = found["rerank_score"]
        told = "" if opinion is None else f" · reranker {opinion:.4f}"
        out.line(("   order    ", "dim"), f"rank {found['before']} of the fused ranking, now {found['after']}{told}")


def _leg(out: Screen, name: str, leg: Mapping[str, Any], tier: str | None) -> None:
    label = (f"   {name:<8} ", "dim")
    if leg.get("rank") is None:
        out.line(label, ("not found by it", "dim"))
        return
    parts = [f"rank {leg['rank']}"]
    parts += [f"tier {tier}"] if tier else []
    parts += [f"bm25 {leg['bm25']:.4g}"] if leg.get("bm25") is not None else []
    measure = "score" if name == "lexical" else "cosine"
    parts += [f"{measure} {leg['score']:.4f}"] if leg.get("score") is not None else []
    parts += [f"gives {leg['contribution']:.4f}"] if leg.get("contribution") is not None else []
    out.line(label, " · ".join(parts))


def trace(out: Screen, found: Mapping[str, Any]) -> None:
    """What holds for the whole answer."""
    fusion = found.get("fusion") or {}
    told = [f"{key} {_shown(value)}" for key, value in fusion.items() if value is not None and value is not False]
    out.line(("fusion   ", "dim"), " · ".join(told))
    filters = found.get("filters") or {}
    active = filters.get("active") or {}
    if active:
        named = ", ".join(f"{key} {_shown(value)}" for key, value in active.items())
        kept, total = filters.get("documents_kept", 0), filters.get("documents_total", 0)
        style = "yellow" if filters.get("shrank") else ""
        out.line(("filters  ", "dim"), named, (f" · leave {kept:,} of {count(total, 'document')}", style))
    candidates, timing = found.get("candidates") or {}, found.get("timing") or {}
    took = {leg: span(timing.get(f"{leg}_ms", 0.0)) for leg in candidates}
    legs = [f"{leg} {count(number, 'candidate')} in {took[leg]}" for leg, number in candidates.items()]
    out.line(("legs     ", "dim"), " · ".join(legs))


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "+".join(_shown(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else clean_line(str(value))
