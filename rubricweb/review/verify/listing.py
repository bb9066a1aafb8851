"""Verified answers as a list: question, answer, answer key and verdict, the most suspicious first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.core.paginator import Page, Paginator
from numpy.typing import NDArray

from rubricweb.banks.models import Bank, Item
from rubricweb.banks.selectors import keys_of
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater
from rubricweb.review.selectors.cell import is_acceptable
from rubricweb.review.selectors.window import answer_state
from rubricweb.review.verify.cells import BankCells, TopicCells
from rubricweb.review.verify.selectors import CheckQuery, Place, items_at, wanted
from rubricweb.review.verify.suspicion import FAR, NEAR

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A verified answer."""

    topic_id: int
    query_id: str
    passage_pk: int
    doc_id: str
    item: Item
    answer: str
    keys: tuple[str, ...]
    state: str
    """As `window.answer_state`."""
    closeness: int
    """In percent, to the nearest accepted answer."""
    people: str
    """What people say: "right", "wrong", or empty."""

    @property
    def at(self) -> str:
        return f"{self.topic_id}-{self.passage_pk}-{self.item.pk}"

    @property
    def is_near(self) -> bool:
        return self.state == "wrong" and self.closeness >= NEAR

    @property
    def can_accept(self) -> bool:
        return self.state == "wrong" and is_acceptable(self.item, self.answer, self.keys)


def answer_rows(bank: Bank, rater: Rater, cells: BankCells, query: CheckQuery, page: int) -> Page[AnswerRow]:
    """Return a page of the answers that the filters keep, of one topic or of all."""
    topics = [topic for topic in cells.topics if query.topic in (0, topic.pool.topic_id)]
    shown = Paginator(_in_order(topics, query), PAGE_ROWS).get_page(page)
    places = [(topics[number], row, column, False) for number, row, column in shown.object_list]
    rows = list(_rows(bank, rater, places))
    return Page(rows, shown.number, shown.paginator)  # type: ignore[arg-type]  # pages of places, shown as rows


def _in_order(topics: list[TopicCells], query: CheckQuery) -> list[tuple[int, int, int]]:
    """Return (number of the topic, row, column): suspicious verdicts first, then as they are in the bank."""
    places, scores = [], [np.zeros(0)]
    for number, topic in enumerate(topics):
        mask = wanted(topic, query)
        rows, columns = np.nonzero(mask)
        places += [(number, int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
        scores.append(_suspicion(topic)[mask])
    order = np.argsort(-np.concatenate(scores), kind="stable")
    return [places[at] for at in order.tolist()]


def _suspicion(topic: TopicCells) -> NDArray[np.float64]:
    """Wrong verdicts on near answers come before right ones on far answers, and these before the others."""
    close = topic.closeness.astype(np.float64)
    is_near_miss = (topic.graded == 0) & (close >= NEAR)
    is_far_hit = (topic.graded == 1) & (close < FAR)
    return np.where(is_near_miss, 200 + close, np.where(is_far_hit, 200 - close, 0.0))


def _rows(bank: Bank, rater: Rater, places: list[Place]) -> Iterable[AnswerRow]:
    items = items_at(bank, places)
    keys = keys_of(column.revision_pk for topic, _, at, _ in places for column in (topic.columns[at],))
    answers = _answers(rater, places)
    for topic, row, at, _ in places:
        column, pool = topic.columns[at], topic.pool
        rating, people = int(topic.graded[row, at]), int(topic.people[row, at])
        yield AnswerRow(
            topic_id=pool.topic_id,
            query_id=pool.query_id,
            passage_pk=pool.passage_pks[row],
            doc_id=pool.doc_ids[row],
            item=items[pool.topic_id, column.kind, column.uid],
            answer=answers.get((column.revision_pk, pool.passage_pks[row]), ""),
            keys=keys.get(column.revision_pk, ()),
            state=answer_state(rating, is_empty=False),
            closeness=int(topic.closeness[row, at]),
            people={0: "wrong", 1: "right"}.get(people, ""),
        )


def _answers(rater: Rater, places: list[Place]) -> dict[tuple[int, int], str]:
    revisions = {topic.columns[at].revision_pk for topic, _, at, _ in places}
    passages = {topic.pool.passage_pks[row] for topic, row, _, _ in places}
    rows = Grade.objects.filter(config__in=rater.configs, revision__in=revisions, passage__in=passages)
    return {(cell[0], cell[1]): cell[2] for cell in rows.values_list("revision_id", "passage_id", "answer")}
