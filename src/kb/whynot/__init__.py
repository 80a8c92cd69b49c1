"""``kb why-not``: what kept one document out of an answer, and the smallest change that shows it.

It goes through the steps of the search engine and looks at where the document stands after each; it ranks nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from kb.asking import filters, one_of
from kb.search.engine import Engine
from kb.types import DocType, Kind, Mode, Query, Shape, Trust

if TYPE_CHECKING:
    from kb.whynot.values import WhyNot


class WhyNotVerb:
    """``base.why_not(path, query)``. What it takes to answer is imported when it is first asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(
        self,
        ref: str,
        query: str | Query,
        *,
        top: int | None = None,
        mode: Mode | None = None,
        profile: str | None = None,
        tags: Iterable[str] = (),
        tags_any: Iterable[str] = (),
        type: DocType | Sequence[DocType] = (),
        kind: Kind | None = None,
        lang: str | None = None,
        path: str | None = None,
        collection: str | None = None,
        repo: str | None = None,
        version: str | None = None,
        since: str | date | None = None,
        before: str | date | None = None,
        trust_min: Trust | None = None,
        threshold: float | None = None,
        min_score: float | None = None,
        alpha: float | None = None,
        cursor: str | None = None,
        budget: int | None = None,
        now: date | None = None,
        per_doc: int | None = None,
        mmr: float | None = None,
        merge: bool = False,
        parent: bool = False,
        rerank: bool | None = None,
    ) -> WhyNot:
        """Why ``ref`` (a path, ``PATH#L12``, the id of a document or chunk) is not in the answer to this search."""
        from kb.whynot.study import study

        if isinstance(query, Query):
            return study(self._engine, ref, query)
        where = filters(
            tags=tags, tags_any=tags_any, type=type, kind=kind, lang=lang, path=path, collection=collection, repo=repo,
            version=version, since=since, before=before, trust_min=trust_min,
        )  # fmt: skip
        default: Mode = "hybrid" if self._engine.settings.search.hybrid else "lexical"
        asked = Query(
            query, top, one_of("mode", mode, ("hybrid", "lexical", "vector")) or default, profile, where, threshold,
            min_score, alpha, cursor, budget, now=now, shape=Shape(per_doc, mmr, merge, parent, rerank),
        )  # fmt: skip
        return study(self._engine, ref, asked)
