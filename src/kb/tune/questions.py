"""What a store is asked: what its user marked, then what it can be asked about itself; and how well a setting answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from kb.app import KB
from kb.evaluate import judged as judged_files
from kb.evaluate.judged import JudgedQuery
from kb.evaluate.metrics import ndcg
from kb.evaluate.rank import gains, names_places
from kb.known import KnownItem, known_items
from kb.types import Filters, Hit, Query, Shape

DEPTH = 10  # nDCG looks no further
# How much each kind of question counts. A marked one is what somebody really asked. The text of a link is what somebody
# called a page from elsewhere; the others are words of the answer itself, and favour whatever weighs words most: alone,
# words find .98 of titles, .89 of names in code and .85 of headings, and .80 of links (docs/decisions/011-tune.md).
WEIGHTS = {"marked": 3.0, "link": 1.0, "title": 0.5, "symbol": 0.5, "heading": 0.25}
FREE = ("marked", "link")  # kinds whose words were chosen by somebody else than the writer of the answer


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its answers: a known item, or what a golden file says."""

    text: str
    kind: str
    answers: KnownItem | JudgedQuery

    @property
    def weight(self) -> float:
        return WEIGHTS[self.kind]

    @property
    def held_out(self) -> bool:
        """Half of all questions, by their own hash: the same ones in every run."""
        return bool(blake2b(self.text.casefold().encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] & 1)

    def query(self, profile: str | None, collection: str | None) -> Query:
        """As a user asks; where documents count, each takes one place, the one of its best chunk."""
        within = self.answers.within if isinstance(self.answers, JudgedQuery) else None
        where = Filters(path=within, collection=collection)
        shape = Shape(per_doc=None if self._counts_chunks else 1)
        return Query(self.text, top=DEPTH, profile=profile, filters=where, shape=shape)

    def value(self, hits: Sequence[Hit]) -> float:
        """nDCG@10, from 0 to 1."""
        answers = self.answers
        if isinstance(answers, KnownItem):
            found = (place for place, hit in enumerate(hits) if answers.is_answered_by(hit.doc_id, hit.chunk_id))
            first = next(found, None)
            return 0.0 if first is None else ndcg([0.0] * first + [1.0], [1.0], DEPTH)
        if answers.can_be_measured:
            return ndcg(gains(hits, answers.grades), list(answers.grades.values()), DEPTH)
        wrong = dict.fromkeys(answers.grades, 1.0)  # only "not this one" is known: the lower that stands, the better
        return 1.0 - ndcg(gains(hits, wrong), list(wrong.values()), DEPTH)

    @property
    def _counts_chunks(self) -> bool:
        if isinstance(self.answers, KnownItem):
            return bool(self.answers.chunk_ids)
        return names_places(self.answers.grades)


def questions_of(base: KB, limit: int, collection: str | None, golden: Sequence[Path]) -> list[Question]:
    """Those of golden files first, and of the store itself as many as there is room for."""
    found = {each.text.casefold(): each for each in _marked(base, collection, golden)}
    with base.store.snapshot(collection) as snapshot:
        for item in known_items(snapshot, limit, collection):
            found.setdefault(item.query.casefold(), Question(item.query, item.kind, item))
    return list(found.values())[:limit]


def _marked(base: KB, collection: str | None, golden: Iterable[Path]) -> list[Question]:
    """Of a collection: those that one of its documents answers."""
    paths = {document.path for document in base.list(Filters(collection=collection))} if collection else None
    return [
        Question(question.text, "marked", question)
        for file in golden
        for question in judged_files.read(file).queries
        if not question.no_answer and (paths is None or any(place.split("#")[0] in paths for place in question.grades))
    ]
