"""The knowledge base: opens the parts, and has one method per verb. Every door calls these and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from kb import config, lookup
from kb.asking import filters, one_of, words
from kb.config import Settings
from kb.marks import Marks
from kb.model import Embedders, LazyReranker, with_model
from kb.modelset import ModelVerbs
from kb.protocols import Embedder, Reranker, Store
from kb.search.engine import Engine
from kb.store import registry as stores
from kb.types import (
    DOC_TYPES,
    TRUST_LEVELS,
    AddReport,
    CheckReport,
    DocType,
    Document,
    Filters,
    Kind,
    Mode,
    Passage,
    Progress,
    Query,
    SearchResult,
    Shape,
    Status,
    StoredDocument,
    Trust,
)
from kb.whynot import WhyNotVerb

OnEvent = Callable[[Progress], None]


class KB:
    """A knowledge base over one store. Reads may run in any number of threads at the same time.

    Made by :func:`kb.open`; use it as a context manager, or call :meth:`close`.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        embedder: str | Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.store = store
        self.settings = with_model(settings, embedder)
        self._embedders = Embedders(self.settings, embedder)
        self.engine = Engine(
            store=store,
            settings=self.settings,
            embedder=self._embedders.get,
            embedder_problem=self._embedders.problem,
            is_stale=is_stale,
            today=date.today,
            model_notice=self._embedders.notice,
            reranker=LazyReranker(self.settings.rerank, reranker).get,
        )
        self.model = ModelVerbs(store, self._embedders)
        self.why_not = WhyNotVerb(self.engine)
        self.mark = Marks(store)

    def __enter__(self) -> KB:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the store. Everything that was acknowledged is already on disk."""
        self.store.close()

    # ------------------------------------------------------------ writing

    def add(
        self,
        *paths: str | os.PathLike[str],
        collection: str | None = None,
        tags: Iterable[str] = (),
        type: DocType | None = None,
        repo: str | None = None,
        version: str | None = None,
        trust: Trust | None = None,
        prune: bool = False,
        verify: bool = False,
        on_event: OnEvent | None = None,
        stop: threading.Event | None = None,
    ) -> AddReport:
        """Bring files and folders into the store, and what the store knows of them up to date.

        Unchanged files cost a stat, changed ones are redone, vanished ones removed; but when a whole root has
        vanished nothing is, unless ``prune``. ``verify`` reads files again that look unchanged.
        """
        from kb.ingest import pipeline

        options = pipeline.AddOptions(
            collection=collection,
            tags=words(tags),
            type=one_of("type", type, DOC_TYPES),
            repo=repo,
            version=version,
            trust=one_of("trust", trust, TRUST_LEVELS),
            prune=prune,
            verify=verify,
        )
        report = pipeline.add(
            paths,
            store=self.store,
            embedder=self.model.embedder(),
            embedder_of=self._embedders.of,
            chosen=self.model.chosen,
            settings=self.settings.ingest,
            options=options,
            on_event=on_event,
            stop=stop,
            now=datetime.now(UTC),
        )
        return self._measured(report, stop)

    def put(self, documents: Iterable[Document], *, on_event: OnEvent | None = None) -> AddReport:
        """Bring in records that are not files; one with a path that is there already replaces it."""
        from kb.ingest import pipeline

        report = pipeline.put(
            documents,
            store=self.store,
            embedder=self.model.embedder(),
            embedder_of=self._embedders.of,
            chosen=self.model.chosen,
            settings=self.settings.ingest,
            on_event=on_event,
            now=datetime.now(UTC),
        )
        return self._measured(report)

    def _measured(self, report: AddReport, stop: threading.Event | None = None) -> AddReport:
        """Once much has changed: what the store's scores are worth."""
        from kb import usual

        if not report.interrupted and report.added + report.updated + report.removed:
            usual.bring_up_to_date(self.store, self.engine, stop)
        return report

    def remove(self, *refs: str, collection: str | None = None) -> int:
        """Delete documents by path, folder or id; how many there were. Nothing of their text stays in any file."""
        with self.store.snapshot() as snapshot:
            found = [doc for ref in refs for doc in lookup.documents(snapshot, ref, collection)]
        return self.store.remove(list(dict.fromkeys(doc.doc_id for doc in found)))

    # ------------------------------------------------------------ reading

    def search(
        self,
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
        explain: bool = False,
        now: date | None = None,
        per_doc: int | None = None,
        mmr: float | None = None,
        merge: bool = False,
        parent: bool = False,
        rerank: bool | None = None,
    ) -> SearchResult:
        """Find chunks by words and by meaning. The other arguments are those of ``kb search``, by the same names."""
        if isinstance(query, Query):
            return self.engine.search(query)
        where = filters(
            tags=tags, tags_any=tags_any, type=type, kind=kind, lang=lang, path=path, collection=collection, repo=repo,
            version=version, since=since, before=before, trust_min=trust_min,
        )  # fmt: skip
        chosen: Mode = mode or ("hybrid" if self.settings.search.hybrid else "lexical")
        return self.engine.search(
            Query(
                text=query,
                top=top,
                mode=one_of("mode", chosen, ("hybrid", "lexical", "vector")) or "hybrid",
                profile=profile,
                filters=where,
                threshold=threshold,
                min_score=min_score,
                alpha=alpha,
                cursor=cursor,
                budget=budget,
                explain=explain,
                now=now,
                shape=Shape(per_doc, mmr, merge, parent, rerank),
            )
        )

    def get(self, ref: str, *, context: int = 0, collection: str | None = None) -> tuple[Passage, ...]:
        """The exact text of a chunk id, a document id, or ``PATH``, ``PATH#L12-L34``, ``PATH#p=3``."""
        with self.store.snapshot() as snapshot:
            return lookup.passages(snapshot, ref, context=context, collection=collection)

    def list(
        self, where: Filters | None = None, *, after: str | None = None, limit: int | None = None
    ) -> list[StoredDocument]:
        """Documents by collection and path; ``after`` is the id of the last one of the page before."""
        with self.store.snapshot() as snapshot:
            return snapshot.find(where or Filters(), after=after, limit=limit)

    # ------------------------------------------------------------ upkeep

    def status(self) -> Status:
        """Counts, sizes, model and revision."""
        return replace(self.store.status(), embedder=self.settings.embed.model)

    def check(self) -> CheckReport:
        """Verify every invariant of the store; changes nothing."""
        return self.store.check()

    def repair(self) -> CheckReport:
        """Rebuild what is derived, quarantine what is not; deletes nothing."""
        return self.store.check(repair=True)

    def export(self, file: BinaryIO) -> int:
        """Write a portable pack of all documents, chunks and vectors; how many documents."""
        from kb import pack

        return pack.write(self.store, file)

    def import_(self, file: BinaryIO) -> AddReport:
        """Read a pack. Vectors of another model are left out; the next ``add`` makes them anew."""
        from kb import pack

        return pack.read(self.store, file)


def open(
    location: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    embedder: str | Embedder | None = None,
    reranker: Reranker | None = None,
    create: bool = True,
    read_only: bool = False,
) -> KB:
    """Open a knowledge base: a folder (made if missing), the URL of an engine, or the configured default."""
    settings = config.load() if settings is None else settings
    where = location or settings.store or config.default_store()
    text = os.fspath(where)
    target = text if "://" in text or text == "memory:" else Path(text).expanduser()
    return KB(stores.open_store(target, read_only=read_only, create=create), settings, embedder, reranker)


def is_stale(document: StoredDocument) -> bool:
    """Whether the file has changed, or gone, since it was indexed. Records that are not files never are."""
    if document.source is None or document.stamp is None:
        return False
    try:
        found = os.stat(document.source)
    except (OSError, ValueError):
        return True
    return (found.st_size, found.st_mtime_ns) != (document.stamp.size, document.stamp.mtime_ns)
