"""What is to be checked next, and the list of a grader's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.banks import secrecy, selectors
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.human_ratings import Cell, latest_by_cell
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater, raters
from rubricweb.grades.topic_ratings import Mask
from rubricweb.grades.verification import latest_verdicts
from rubricweb.review.selectors.graded import GradedCell, graded_cells, is_acceptable
from rubricweb.review.selectors.window import answer_state
from rubricweb.review.verify import BankCells, TopicCells, bank_cells
from rubricweb.review.verify.suspicion import FAR, NEAR, AnswerSuspicions, Suspicions, suspicions

AHEAD = 8
PAGE_ROWS = 50
EXCERPT = 80
RANDOM_EVERY = 4
"""One cell in this many comes from the random order, in mixed order."""
WORST, RANDOM, MIXED = "worst", "random", "mixed"


@dataclass(frozen=True, slots=True)
class CheckQuery:
    """The cells to check; every field is in the address."""

    topic: int = 0
    """The topic for worst first; 0 for the first one with unchecked cells."""
    item: int = 0
    order: str = MIXED
    rating: int = -1
    """The rating of the cells to check; -1 for any."""
    is_near: bool = False
    """Whether to check only answers that are near an accepted one."""
    min_grade: int | None = None
    """The threshold; None for the one that the grader's prompts state."""
    covers: int = 0
    """Only passages that cover at least so many items."""
    at: tuple[int, int, int] | None = None
    """(topic, passage, item) of the one cell to show."""


@dataclass(frozen=True, slots=True)
class CellToVerify:
    """A cell in the queue."""

    topic_id: int
    query_id: str
    passage: Passage
    item: Item
    rating: int
    reasons: tuple[str, ...]
    is_random: bool

    @property
    def at(self) -> str:
        return f"{self.topic_id}-{self.passage.pk}-{self.item.pk}"

    @property
    def excerpt(self) -> str:
        """Return how the passage begins."""
        return self.passage.text[:EXCERPT]


@dataclass(frozen=True, slots=True)
class Card:
    """A cell in full."""

    now: CellToVerify
    cell: GradedCell
    seen: int
    """The number of the reader's latest event for it; 0 without one."""


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item of the topic, and how many of its cells are checked."""

    pk: int
    text: str
    name: str
    rated: int
    checked: int


Place = tuple[TopicCells, int, int, bool]
"""Topic, row, column, and whether it comes from the random order."""
Suspicious = Callable[[TopicCells], Suspicions | AnswerSuspicions]


def queue(bank: Bank, rater: Rater, cells: BankCells, query: CheckQuery) -> list[CellToVerify]:
    """Return the next cell and some after it; the first is the one in the address, unless it is hidden."""
    pool = collection_pool(bank.collection)

    @cache
    def suspicious(topic: TopicCells) -> Suspicions | AnswerSuspicions:
        return suspicions(rater, pool, topic, min_grade=query.min_grade)

    named = _named(bank, cells, query) if query.at else iter(())
    places = list(islice(_unique(named, _next(bank, cells, query, suspicious)), AHEAD + 1))
    if not places:
        return []
    items = items_at(bank, places)
    pks = {topic.pool.passage_pks[row] for topic, row, *_ in places}
    passages = {passage.pk: passage for passage in _passages(tuple(pks))}
    return [
        CellToVerify(
            topic.pool.topic_id,
            topic.pool.query_id,
            passages[topic.pool.passage_pks[row]],
            items[topic.pool.topic_id, topic.columns[column].kind, topic.columns[column].uid],
            int(topic.graded[row, column]),
            tuple(suspicious(topic).reasons(row, column)),
            is_random,
        )
        for topic, row, column, is_random in places
    ]


@compiled_once
def _passages(pks: tuple[int, ...]) -> QuerySet[Passage]:
    return Passage.objects.filter(pk__in=pks)


def cards(candidates: Sequence[CellToVerify], rater: Rater, reader: User) -> list[Card]:
    """Return these cells in full, in a fixed number of queries."""
    if not candidates:
        return []
    places = [Cell.of(now.item, now.passage) for now in candidates]
    events: dict[Cell, Any] = {}
    for config in rater.configs if rater.verifies else ():
        events |= latest_verdicts(reader, config, places)
    if not rater.verifies:
        events |= latest_by_cell(reader, places)
    graded = graded_cells([(now.item, now.passage) for now in candidates], rater)
    return [
        Card(now, cell, events[place].number if place in events else 0)
        for now, cell, place in zip(candidates, graded, places, strict=True)
    ]


def count_unchecked(bank: Bank, person: User) -> int:
    """Count the grades by the bank's first grader that nobody checked, and that the person may see."""
    cells = bank_cells(bank, raters(bank)[0], person)
    return int(sum(_unchecked(topic, CheckQuery()).sum() for topic in cells.topics))


def lines(bank: Bank, topic: TopicCells) -> list[ItemLine]:
    """Return the items of one topic, in the bank's order."""
    column_of = {(column.kind.value, column.uid): number for number, column in enumerate(topic.columns)}
    is_rated = topic.graded >= 0
    rated, checked = is_rated.sum(axis=0).tolist(), (is_rated & topic.checked).sum(axis=0).tolist()
    rows, counts = [], {"question": 0, "nugget": 0}
    for pk, kind, uid, text in _items_of(bank.collection_id, bank.pk, topic.pool.topic_id):
        column = column_of.get((kind, uid))  # only those with text
        if column is not None:
            counts[kind] += 1
            rows.append(ItemLine(pk, text, f"{kind} {counts[kind]}", rated[column], checked[column]))
    return rows


@compiled_readable
def _items_of(bank: int, topic: int) -> QuerySet[Item, tuple[int, str, str, str]]:
    items: QuerySet[Item] = Item.including_secret.active().filter(bank=bank, topic=topic)
    return items.order_by("position", "pk").values_list("pk", "kind", "revision__uid", "revision__text")


def items_at(bank: Bank, places: list[Place]) -> dict[tuple[int, str, str], Item]:
    """Return the items of these cells by topic, kind and id of the wording."""
    revisions = {topic.columns[column].revision_pk for topic, _, column, _ in places}
    items: dict[tuple[int, str, str], Item] = {}
    for item in _items_with(bank.collection_id, bank.pk, tuple(revisions)):
        item.bank = bank
        items.setdefault((item.topic_id, item.kind, item.revision.uid), item)
    return items


@compiled_readable
def _items_with(bank: int, revisions: tuple[int, ...]) -> QuerySet[Item]:
    """Return the bank's active items with these wordings."""
    items: QuerySet[Item] = Item.including_secret.active().filter(bank=bank, revision__in=revisions)
    return items.select_related("revision", "topic").order_by("topic_id", "position", "pk")


def _named(bank: Bank, cells: BankCells, query: CheckQuery) -> Iterator[Place]:
    topic_id, passage, item_id = query.at or (0, 0, 0)
    items = bank.items.active().filter(topic=topic_id, pk=item_id).exclude(revision__text="")
    item = items.select_related("revision").first()
    for topic in cells.topics:
        if item is not None and topic.pool.topic_id == topic_id and passage in topic.pool.passage_pks:
            uids = [(column.kind, column.uid) for column in topic.columns]
            row, column = topic.pool.passage_pks.index(passage), uids.index((item.kind, item.revision.uid))
            if not topic.hidden[row, column]:
                yield topic, row, column, False


def _unique(*sources: Iterator[Place]) -> Iterator[Place]:
    seen = set()
    for source in sources:
        for place in source:
            key = (place[0].pool.topic_id, place[1], place[2])
            if key not in seen:
                seen.add(key)
                yield place


def _next(bank: Bank, cells: BankCells, query: CheckQuery, suspicious: Suspicious) -> Iterator[Place]:
    if query.order == WORST:
        return _worst(bank, cells, query, suspicious)
    if query.order == RANDOM:
        return _random(cells, query)
    return _mixed(cells.checked, _worst(bank, cells, query, suspicious), _random(cells, query))


def _mixed(done: int, worst: Iterator[Place], at_random: Iterator[Place]) -> Iterator[Place]:
    """Mix two queues: every RANDOM_EVERY-th check is random; when one ends, the other goes on."""
    both = (worst, at_random)
    while True:
        is_turn = done % RANDOM_EVERY == 0
        place = next(both[is_turn], None) or next(both[not is_turn], None)
        if place is None:
            return
        yield place
        done += 1


def _unchecked(topic: TopicCells, query: CheckQuery) -> Mask:
    return np.asarray(topic.unchecked & kept_by(topic, query))


def kept_by(topic: TopicCells, query: CheckQuery) -> Mask:
    """Return a mask of shape (passages, items): rated cells that the filters keep and the reader may see."""
    mask = (topic.graded >= 0) & ~topic.hidden
    if query.rating >= 0:
        mask &= topic.graded == query.rating
    if query.is_near:
        mask &= topic.closeness >= NEAR
    if query.covers:
        mask &= (topic.covered_items(query.min_grade) >= query.covers)[:, np.newaxis]
    return np.asarray(mask)


def _random(cells: BankCells, query: CheckQuery) -> Iterator[Place]:
    """Yield unchecked cells of the whole bank, whichever topic is chosen, in their random order."""
    places = []
    for number, topic in enumerate(cells.topics):
        rows, columns = np.nonzero(_unchecked(topic, query))
        keys = topic.keys[rows, columns]
        first = np.argsort(keys)[: AHEAD + 1]
        places += [(int(keys[at]), number, int(rows[at]), int(columns[at])) for at in first]
    for _, number, row, column in sorted(places):
        yield cells.topics[number], row, column, True


def _worst(bank: Bank, cells: BankCells, query: CheckQuery, suspicious: Suspicious) -> Iterator[Place]:
    """Yield cells of one topic: most suspicious first, then the highest ratings, then the pool's order."""
    topic = topic_of(cells, query)
    if topic is None:
        return
    unchecked = _unchecked(topic, query)
    if query.item:
        item = bank.items.active().filter(pk=query.item).select_related("revision").first()
        uids = [(column.kind, column.uid) for column in topic.columns]
        unchecked &= np.array([item is not None and uid == (item.kind, item.revision.uid) for uid in uids])
    rows, columns = np.nonzero(unchecked)
    keys = suspicious(topic).scores[rows, columns] * 10 + topic.graded[rows, columns] / 10
    for at in np.argsort(-keys, kind="stable").tolist():
        yield topic, int(rows[at]), int(columns[at]), False


def topic_of(cells: BankCells, query: CheckQuery) -> TopicCells | None:
    """Return the chosen topic, else the first one with unchecked cells."""
    for topic in cells.topics:
        if query.topic in (0, topic.pool.topic_id) and (query.topic or _unchecked(topic, query).any()):
            return topic
    return None


def my_verdicts(person: User, bank: Bank) -> QuerySet[AnswerVerdict]:
    """Return the person's verdicts on answers in the bank's collection."""
    mine = AnswerVerdict.objects.filter(by=person, topic__collection=bank.collection)
    return secrecy.readable(mine.select_related("config"))


def my_events(person: User, bank: Bank) -> QuerySet[HumanGrade]:
    """Return the person's events in the bank's collection."""
    return secrecy.readable(HumanGrade.objects.filter(by=person, topic__collection=bank.collection))


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """A verified answer."""

    topic_id: int
    query_id: str
    passage_pk: int
    doc_id: str
    item: Item
    answer: str
    keys: tuple[str, ...]
    state: str
    """The state as `window.answer_state` names it."""
    closeness: int
    """The closeness to the nearest accepted answer, in percent."""
    by_people: str
    """People's verdict: "right", "wrong", or empty."""

    @property
    def at(self) -> str:
        return f"{self.topic_id}-{self.passage_pk}-{self.item.pk}"

    @property
    def is_near(self) -> bool:
        return self.state == "wrong" and self.closeness >= NEAR

    @property
    def can_accept(self) -> bool:
        return self.state == "wrong" and is_acceptable(self.item, self.answer, self.keys)


def answer_rows(
    bank: Bank, rater: Rater, cells: BankCells, query: CheckQuery, page: int
) -> Page[VerifiedAnswer]:
    """Return a page of the answers that the filters keep, of one topic or of all."""
    topics = [topic for topic in cells.topics if query.topic in (0, topic.pool.topic_id)]
    judged, scores = [], [np.zeros(0)]  # suspicious verdicts first, then as they are in the bank
    for number, topic in enumerate(topics):
        mask = kept_by(topic, query)
        rows, columns = np.nonzero(mask)
        judged += [(number, int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
        close = topic.closeness.astype(np.float64)
        is_near_miss = (topic.graded == 0) & (close >= NEAR)
        is_far_hit = (topic.graded == 1) & (close < FAR)
        suspicion = np.where(is_near_miss, 200 + close, np.where(is_far_hit, 200 - close, 0.0))
        scores.append(suspicion[mask])
    order = np.argsort(-np.concatenate(scores), kind="stable")
    selected = Paginator([judged[at] for at in order.tolist()], PAGE_ROWS).get_page(page)
    places = [(topics[number], row, column, False) for number, row, column in selected.object_list]
    listed = list(_rows(bank, rater, places))
    return Page(listed, selected.number, selected.paginator)  # pages of places, shown as rows


def _rows(bank: Bank, rater: Rater, places: list[Place]) -> Iterable[VerifiedAnswer]:
    items = items_at(bank, places)
    keys = selectors.keys_of(
        column.revision_pk for topic, _, at, _ in places for column in (topic.columns[at],)
    )
    revisions = {topic.columns[at].revision_pk for topic, _, at, _ in places}
    passages = {topic.pool.passage_pks[row] for topic, row, _, _ in places}
    rows = Grade.objects.filter(config__in=rater.configs, revision__in=revisions, passage__in=passages)
    answers = {
        (cell[0], cell[1]): cell[2] for cell in rows.values_list("revision_id", "passage_id", "answer")
    }
    for topic, row, at, _ in places:
        column, pool = topic.columns[at], topic.pool
        rating, by_people = int(topic.graded[row, at]), int(topic.by_people[row, at])
        yield VerifiedAnswer(
            topic_id=pool.topic_id,
            query_id=pool.query_id,
            passage_pk=pool.passage_pks[row],
            doc_id=pool.doc_ids[row],
            item=items[pool.topic_id, column.kind, column.uid],
            answer=answers.get((column.revision_pk, pool.passage_pks[row]), ""),
            keys=keys.get(column.revision_pk, ()),
            state=answer_state(rating, is_empty=False),
            closeness=int(topic.closeness[row, at]),
            by_people={0: "wrong", 1: "right"}.get(by_people, ""),
        )
