"""What people can rate in campaigns: items with their grades, and passages as an assessor sees them.

What people can rate in campaigns: items with their grades, without the cells that are left out.

A campaign hands out a cell no more once only runs that are not accepted bring its passage, or its wording has
become secret, and not while its passage has no text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet

from grading.types import CONTRADICTS, ItemKind, Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, ItemRevision
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn, new_uid
from rubricweb.campaigns.ordering import Floats
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import rating_sign, rating_words
from rubricweb.corpus.models import Collection, Passage, Pooled, Run, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.corpus.topic_pools import restamped
from rubricweb.grades import human_ratings
from rubricweb.grades.configs import WHOLE_SCALE, name_of, possible_ratings, scale_of
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn
from rubricweb.grades.verification import PassageSegment, highlighted

UNREADABLE = Q(revision__is_secret=True) | Q(passage__text="")
"""Cells that nobody may or can read."""


_IS_OPEN = Q(state__in=(Turn.State.PENDING, Turn.State.LEASED))


@dataclass(frozen=True, slots=True)
class RatableItem:
    """An item of the choice, and its column in the matrices."""

    item: int
    revision: int
    item_column: ItemColumn


def ratable_items(bank: Bank, kinds: frozenset[ItemKind]) -> dict[int, tuple[RatableItem, ...]]:
    """Return the active items of these kinds with text, each wording once, without secret ones, by topic id.

    Assessors must not read those, and the cells of a campaign shall not depend on who opens it.
    """
    rows = bank.items.active().of_kinds(kinds).filter(revision__is_secret=False).exclude(revision__text="")
    fields = rows.order_by("topic_id", "position", "pk").values_list(
        "topic_id", "pk", "revision_id", "revision__uid", "kind"
    )
    by_topic: dict[int, dict[int, RatableItem]] = {}
    for topic, item, revision, uid, kind in fields:
        column = RatableItem(item, revision, ItemColumn(ItemKind(kind), uid, revision, has_text=True))
        by_topic.setdefault(topic, {}).setdefault(revision, column)
    return {topic: tuple(columns.values()) for topic, columns in by_topic.items()}


def readable_pool(collection: Collection) -> tuple[CollectionPool, dict[int, int]]:
    """Return the pool without passages that have no text, and how many each topic has of these."""
    pool = collection_pool(collection)
    rows = Pooled.objects.filter(topic__collection=collection, passage__text="").order_by()
    without: dict[int, set[int]] = defaultdict(set)
    for topic, passage in rows.values_list("topic_id", "passage_id"):
        without[topic].add(passage)
    if not without:
        return pool, {}
    topics = tuple(_without(topic, without.get(topic.topic_id, set())) for topic in pool.topics)
    counts = {
        after.topic_id: len(before.passage_pks) - len(after.passage_pks)
        for before, after in zip(pool.topics, topics, strict=True)
    }
    key = sorted((topic, sorted(passages)) for topic, passages in without.items())
    return replace(pool, topics=topics, stamp=restamped(pool.stamp, key)), counts


def _without(topic: TopicPool, passages: set[int]) -> TopicPool:
    if not passages:
        return topic
    rows = [row for row, pk in enumerate(topic.passage_pks) if pk not in passages]
    return topic.keeping(np.array(rows, dtype=np.intp))


def grades_by_kind(rater: Rater, pool: CollectionPool) -> dict[ItemKind, Mapping[int, TopicGrades]]:
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    return {kind: by_config[config.pk] for kind, config in rater.by_kind.items()}


def confidences(rater: Rater, columns: Mapping[int, Iterable[RatableItem]]) -> dict[tuple[int, int], float]:
    """Return the grader's confidences by (revision, passage); 0 if its reply held no rating."""
    rows = Grade.objects.filter(config__in=rater.configs, topic__in=list(columns))
    rows = rows.filter(Q(confidence__isnull=False) | Q(outcome=Outcome.DEFAULTED))
    fields = rows.values_list("revision_id", "passage_id", "confidence", "outcome")
    return {
        (revision, passage): 0.0 if outcome == Outcome.DEFAULTED else confidence
        for revision, passage, confidence, outcome in fields.iterator(chunk_size=10_000)
    }


def placed_confidences(
    topic: TopicPool, columns: tuple[RatableItem, ...], confidence: dict[tuple[int, int], float]
) -> Floats:
    revisions = [column.revision for column in columns]
    values = [confidence.get((r, p), np.nan) for p in topic.passage_pks for r in revisions]
    return np.array(values, dtype=np.float64).reshape(len(topic.doc_ids), len(columns))


def has_absent_runs(collection: str) -> Exists:
    """Return whether the row's collection, at this path, has runs that are not accepted.

    If it has none, no cell is left out, and the queries of each rating need not look at the pool.
    """
    return Exists(Run.objects.not_accepted().filter(collection=OuterRef(collection)))


def is_left_out(cell: Any, collection: Collection) -> bool:  # Any: a cell with `has_absent_runs`
    """Return whether the passage of the annotated cell no longer counts."""
    return bool(cell.has_absent_runs) and collection_pool(collection).is_left_out(
        cell.topic_id, cell.passage_id
    )


def left_out_turns(campaign: Campaign) -> Exists:
    """Return whether only runs that are not accepted bring the turn's passage, so that it does not count."""
    return Exists(CampaignCell.objects.filter(_left_out(campaign.collection), pk=OuterRef("cell")))


def unasked(turns: QuerySet[Turn], collection: Collection) -> QuerySet[Turn]:
    """Return those of `turns` that are not done and not handed out any more: they leave the total."""
    return _unasked(turns, UNREADABLE | _left_out(collection))


def unreadable(campaign: int, collection: int) -> QuerySet[Turn]:
    """Return what `unasked` returns where every run of the collection is accepted.

    It begins with the few items and passages, so that it need not look at each turn of a large campaign.
    """
    secret = ItemRevision.including_secret.filter(topic__collection=collection, is_secret=True).values("pk")
    textless = Passage.objects.filter(collection=collection, text="").values("pk")
    cells = CampaignCell.objects.filter(Q(revision__in=secret) | Q(passage__in=textless), campaign=campaign)
    return Turn.objects.filter(_IS_OPEN, campaign=campaign, cell__in=cells.order_by().values("pk"))


def without_text(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """Return those of `turns` that wait for the text of their passage."""
    return _unasked(turns, Q(passage__text=""))


def _unasked(turns: QuerySet[Turn], cells: Q) -> QuerySet[Turn]:
    is_away = Exists(CampaignCell.objects.filter(cells, pk=OuterRef("cell")))
    return turns.filter(is_away, _IS_OPEN)


def _left_out(collection: Collection) -> Q:
    places = Q(pk__in=())
    for topic, passages in collection_pool(collection).left_out.items():
        places |= Q(topic=topic, passage__in=passages)
    return places


Meanings = tuple[tuple[int, str], ...]
"""(rating, what it means), the highest first."""

OF_WHOLE_SCALE: Meanings = (
    (5, "fully"),
    (4, "with small gaps"),
    (3, "in part"),
    (2, "is related"),
    (1, "is hardly related"),
    (0, "not at all"),
)


def whole_scale(ratings: Iterable[int]) -> Meanings:
    """Return the whole scale, with contradiction where one of these ratings is that."""
    return (*OF_WHOLE_SCALE, (CONTRADICTS, "contradicts")) if CONTRADICTS in ratings else OF_WHOLE_SCALE


def meanings_of(config: GraderConfig | None) -> Meanings:
    """Return what ratings mean on the grader's scale: UMBRELA's labels 0 to 3, or support of a nugget."""
    if config is None or scale_of(config) == WHOLE_SCALE:
        return OF_WHOLE_SCALE
    highest = scale_of(config)[1]
    return tuple((n, name_of(config, n) or f"{n} of {highest}") for n in possible_ratings(config))


@dataclass(frozen=True, eq=False)
class RatableCell:
    """One cell as an assessor sees it."""

    cell: CampaignCell
    turn: Turn
    event: HumanGrade | None
    """The person's latest event for the cell."""
    seen: int
    grade: Grade | None
    """The grader's; None if the person may not see it yet, or there is none."""
    answer: str
    segments: tuple[PassageSegment, ...]
    uid: UUID

    @property
    def is_rated(self) -> bool:
        return self.event is not None

    @property
    def hides_grader(self) -> bool:
        return _hides_grader(self.turn)

    @property
    def meanings(self) -> Meanings:
        return meanings_of(self.cell.config)

    @property
    def waits(self) -> bool:
        """Return whether the person has not handed in the cell."""
        return not self.turn.is_done

    @property
    def was_seen(self) -> bool:
        """Return whether the person has seen the grade of a blind cell, and took their rating back."""
        return self.waits and self.turn.is_blind and not _hides_grader(self.turn)

    @property
    def differs(self) -> bool:
        """Return whether the person and the grader are at least two levels apart."""
        own = None if self.event is None else self.event.rating
        graders = None if self.grade is None else self.grade.rating
        return own is not None and graders is not None and abs(own - graders) > 1

    @property
    def graders_sign(self) -> str:
        rating = self.grade.rating if self.grade else None
        return "failed" if rating is None else rating_sign(rating)

    @property
    def graders_words(self) -> str:
        rating = self.grade.rating if self.grade else None
        return "nothing readable" if rating is None else rating_words(rating)

    @property
    def marks(self) -> str:
        """Return where the answer stands in the passage, as scripts count characters: "12-40 52-80"."""
        at, spans = 0, []
        for segment in self.segments:
            end = at + len(segment.text.encode("utf-16-le")) // 2
            spans += [f"{at}-{end}"] if segment.is_answer else []
            at = end
        return " ".join(spans)

    @property
    def is_answer_in_passage(self) -> bool:
        return any(segment.is_answer for segment in self.segments)


@dataclass(frozen=True, eq=False)
class PassageCard:
    """One passage with those of its cells that a person has."""

    cards: tuple[RatableCell, ...]
    """The cells in the order of the campaign."""
    current: RatableCell
    """The one that the keys are for."""

    @property
    def topic(self) -> Topic:
        return self.current.cell.topic

    @property
    def passage(self) -> Passage:
        return self.current.cell.passage

    @property
    def is_blind(self) -> bool:
        return any(card.hides_grader for card in self.cards)


def passage_cards(cards: Sequence[RatableCell], *, current: int = 0) -> tuple[PassageCard, ...]:
    """Put together what follows each other of one passage.

    The keys are for the cell with key `current` where it is there, else for the first that waits.
    """
    together = groupby(cards, lambda card: (card.cell.topic_id, card.cell.passage_id))
    groups = [sorted(group, key=lambda card: card.turn.order) for _, group in together]
    return tuple(_passage_card(group, current) for group in groups)


def _passage_card(cards: list[RatableCell], current: int) -> PassageCard:
    named = [card for card in cards if card.cell.pk == current]
    waiting = [card for card in cards if card.waits]
    return PassageCard(tuple(cards), (named or waiting or cards)[0])


def cards_of(turns: Sequence[Any], person: User) -> tuple[RatableCell, ...]:
    """Return a card of each turn, which is annotated with `last_number`."""
    unread = [turn.cell.human_cell for turn in turns if turn.last_number and turn.event is None]
    events = human_ratings.latest_by_cell(person, unread)
    shows = [turn.cell for turn in turns if not _hides_grader(turn)]
    answers = graded(shows)
    for turn in turns:
        turn.event = turn.event or events.get(turn.cell.human_cell)
    return tuple(_card(turn, *answers.get(turn.cell_id, (None, ""))) for turn in turns)


def _hides_grader(turn: Turn) -> bool:
    return turn.is_blind and turn.rating is None


def _card(turn: Turn, grade: Grade | None, answer: str) -> RatableCell:
    event = turn.event
    return RatableCell(
        cell=turn.cell,
        turn=turn,
        event=None if event is None or event.is_withdrawn else event,
        seen=event.number if event else 0,
        grade=grade,
        answer=answer,
        segments=highlighted(turn.cell.passage.text, answer),
        uid=new_uid(),
    )


def graded(cells: Iterable[CampaignCell]) -> dict[int, tuple[Grade | None, str]]:
    """Return, by cell key, the grader's rating and the answer that it extracted.

    An answer may also come from the same model by another prompt.
    """
    graders = {cell: cell.config for cell in cells if cell.config is not None}
    places = [(cell.revision_id, cell.passage_id, config.llm) for cell, config in graders.items()]
    by_place = defaultdict(list)
    for row in _grades_at_one(*places[0]) if len(places) == 1 else _grades_at(places):
        by_place[row.revision_id, row.passage_id, row.config.llm].append(row)
    return {
        cell.pk: _graded_by(config, by_place[cell.revision_id, cell.passage_id, config.llm])
        for cell, config in graders.items()
    }


def _grades_at(places: Iterable[tuple[int, int, str]]) -> QuerySet[Grade]:
    """Return the grades of these places, as (revision, passage, model), with their configs."""
    at = Q(pk__in=())
    for revision, passage, llm in places:
        at |= Q(revision=revision, passage=passage, config__llm=llm)
    return Grade.objects.filter(at).select_related("config")


@compiled_once
def _grades_at_one(revision: int, passage: int, llm: str) -> QuerySet[Grade]:
    return _grades_at([(revision, passage, llm)])


def _graded_by(config: GraderConfig, rows: Iterable[Grade]) -> tuple[Grade | None, str]:
    usable = [row for row in rows if row.outcome != Outcome.FAILED or row.config_id == config.pk]
    grade = next((row for row in usable if row.config_id == config.pk), None)
    extracted = [row for row in usable if row.config.purpose == Purpose.EXTRACT]
    answers = [row.answer for row in (grade, *extracted) if row and row.outcome != Outcome.FAILED]
    return grade, next(filter(None, answers), "")
