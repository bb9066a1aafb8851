"""The queue of one assessor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from grading.topic_sampler import DrawnTopic
from grading.types import Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.campaigns.queue.leases import LAPSED, NEW, may_take
from rubricweb.campaigns.queue.left_out import has_absent_runs, is_left_out, unasked, unasked_secrets
from rubricweb.campaigns.queue.meanings import Meanings, meanings_of
from rubricweb.campaigns.queue.models import Campaign, CampaignCell, Turn, new_uid
from rubricweb.core.models import JsonList
from rubricweb.core.prepared import Prepared
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades import humans
from rubricweb.grades.highlighting import Segment, highlighted
from rubricweb.grades.models import Grade, GraderConfig, HumanGrade

State = Turn.State
PACE_OF = 20
"""How many turns the pace is computed from."""
BREAK_SECONDS = 600
"""A longer time between turns was a break."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A topic that was drawn for a campaign."""

    topic: Topic
    distance: float | None
    """To the nearest topic that was drawn before; None for the first."""


def drawn_rows(collection: Collection, drawn: Sequence[DrawnTopic]) -> list[DrawnRow]:
    """Return the topics in the order of the draw."""
    topics = collection.topics.by_query_id([one.query_id for one in drawn])
    by_query_id = {topic.query_id: topic for topic in topics}
    return [DrawnRow(by_query_id[one.query_id], one.distance) for one in drawn]


@dataclass(frozen=True, eq=False)
class Card:
    """One cell as an assessor sees it."""

    cell: CampaignCell
    turn: Turn
    event: HumanGrade | None
    """The person's latest event for the cell."""
    seen: int
    grade: Grade | None
    """The grader's; None if the person may not see it yet, or there is none."""
    answer: str
    segments: tuple[Segment, ...]
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
    def is_answer_in_passage(self) -> bool:
        return any(segment.is_answer for segment in self.segments)


@dataclass(frozen=True, eq=False)
class QueuePage:
    """What a person sees of a campaign's queue."""

    campaign: Campaign
    cards: tuple[Card, ...]
    """The cell to rate, and the one fetched ahead."""
    cells: int
    done: int
    total: int
    unasked: int
    """Ratings that are not in `total`, because their cells are handed out no more."""
    mine: int
    pace: float | None
    """The person's seconds per cell."""
    previous: int | None
    next: int | None
    """The cells that the person finished before and after this one."""
    can_undo: bool
    may_start: bool
    """The person holds nothing and may take a turn."""
    skipped: int | None
    """A cell that the person skipped and that still waits; only if nothing else is left."""
    uid: UUID

    @property
    def card(self) -> Card | None:
        return self.cards[0] if self.cards else None

    @property
    def ahead(self) -> Card | None:
        return self.cards[1] if len(self.cards) > 1 else None

    @property
    def left(self) -> int:
        return self.total - self.done

    @property
    def time_left(self) -> float | None:
        return None if self.pace is None else self.pace * self.left


def queue_page(
    campaign: Campaign, person: User, *, cell: CampaignCell | None = None, rating: HumanGrade | None = None
) -> QueuePage:
    """Show the cells that the person holds; `cell`, one of theirs, first.

    `rating` is their latest rating of `cell`, if the caller knows it.
    """
    turns = _turns(campaign, person, cell)
    looked_at = next((turn for turn in turns if cell is not None and turn.cell_id == cell.pk), None)
    if looked_at is not None:
        looked_at.event = rating
    cards = _cards(turns[:2], person)
    figures = _figures(campaign, person, looked_at)
    return QueuePage(
        campaign=campaign,
        cards=cards,
        cells=figures.cells,
        done=figures.done,
        total=figures.turns - figures.skips - figures.unasked,
        unasked=figures.unasked,
        mine=figures.mine,
        pace=pace(map(datetime.fromisoformat, figures.times or ())),
        previous=figures.before,
        next=figures.after,
        can_undo=figures.can_undo,
        may_start=not cards and may_take(campaign, person),
        skipped=None if cards else _skipped(campaign, person),
        uid=new_uid(),
    )


def _turns(campaign: Campaign, person: User, cell: CampaignCell | None) -> list[Any]:
    """The turns that the person holds, in the order taken, after their turn of `cell`.

    Each has `last_number`, the number of the person's latest event for its cell; 0 without one.
    """
    at = 0 if cell is None else cell.pk
    turns: list[Any] = _held_turns(campaign.pk, person.pk, at)
    for turn in turns:
        turn.cell.campaign, turn.cell.has_absent_runs = campaign, turn.has_absent_runs
    turns = [turn for turn in turns if not is_left_out(turn.cell, campaign.collection)]
    return sorted(turns, key=lambda turn: turn.cell_id != at)


@Prepared
def _held_turns(campaign: int, person: int, cell: int) -> QuerySet[Any, Any]:
    place = {"revision": OuterRef("cell__revision"), "passage": OuterRef("cell__passage")}
    numbers = HumanGrade.objects.filter(by=person, **place).order_by("-number").values("number")
    turns = Turn.objects.filter(Q(state=State.LEASED) | Q(cell=cell), campaign=campaign, person=person)
    turns = turns.filter(cell__revision__is_secret=False)
    return (
        turns.annotate(
            last_number=Coalesce(Subquery(numbers[:1]), 0),
            has_absent_runs=has_absent_runs("campaign__collection"),
        )
        .select_related("cell__topic", "cell__item", "cell__revision", "cell__passage", "cell__config")
        .order_by("taken_at", "pk")
    )


class Figures(NamedTuple):
    """The progress of a campaign and of one person in it."""

    cells: int
    turns: int
    done: int
    skips: int
    unasked: int
    has_absent_runs: bool
    mine: int
    can_undo: bool
    times: list[str] | None
    """When the person finished their latest turns."""
    before: int | None
    after: int | None
    """The cells that the person finished before and after the turn on the screen."""


def _figures(campaign: Campaign, person: User, looked_at: Turn | None) -> Figures:
    """In one query of counts, and another one where runs are not accepted."""
    (row,) = _count_figures(campaign.pk, person.pk, looked_at.pk if looked_at is not None else 0)
    figures = Figures(*row)
    if figures.has_absent_runs:
        return figures._replace(unasked=unasked(campaign.turns.all(), campaign.collection).count())
    return figures


@Prepared
def _count_figures(campaign: int, person: int, looked_at: int) -> QuerySet[Campaign, Any]:
    turns = Turn.objects.filter(campaign=campaign)
    mine = turns.filter(person=person, state__in=Turn.DONE)
    before, after = _neighbours(mine, Turn.objects.filter(pk=looked_at).exclude(done_at=None))
    return (
        Campaign.objects.filter(pk=campaign)
        .order_by()
        .values_list(
            _count(CampaignCell.objects.filter(campaign=campaign)),
            _count(turns),
            _count(turns.filter(state=State.SUBMITTED)),
            _count(turns.filter(state=State.SKIPPED)),
            _count(unasked_secrets(turns)),
            has_absent_runs("collection"),
            _count(mine.filter(state=State.SUBMITTED)),
            Exists(mine.filter(can_undo=True)),
            _last_times(mine),
            Subquery(before.values("cell")[:1]),
            Subquery(after.values("cell")[:1]),
        )
    )


def _last_times(mine: QuerySet[Turn]) -> Subquery:
    """When they finished the latest turns, as texts."""
    last = mine.order_by("-done_at").values("pk")[: PACE_OF + 1]
    listed = Turn.objects.filter(pk__in=last).order_by().values("campaign")
    return Subquery(listed.annotate(times=JsonList("done_at")).values("times"))


def _count(rows: QuerySet[Any]) -> Coalesce:
    """Count rows of one campaign."""
    counted = rows.order_by().values("campaign").annotate(rows=Count("*"))
    return Coalesce(Subquery(counted.values("rows")), 0)


def _skipped(campaign: Campaign, person: User) -> int | None:
    free = campaign.turns.filter(NEW | LAPSED, cell=OuterRef("cell"))
    mine = campaign.turns.filter(Exists(free), person=person, state=State.SKIPPED)
    return mine.order_by("order").values_list("cell", flat=True).first()


def pace(times: Iterable[datetime | None]) -> float | None:
    """The median of the seconds between turns; None with fewer than two, or only breaks."""
    known = sorted(time for time in times if time is not None)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(known)]
    worked = [gap for gap in gaps if gap < BREAK_SECONDS]
    return median(worked) if worked else None


def _neighbours(mine: QuerySet[Turn], at: QuerySet[Turn]) -> tuple[QuerySet[Turn], QuerySet[Turn]]:
    """What the person finished before and after this one, nearest first; without one, the latest."""
    when, pk = Subquery(at.values("done_at")), Subquery(at.values("pk"))
    before = mine.filter(~Exists(at) | Q(done_at__lt=when) | Q(done_at=when, pk__lt=pk))
    after = mine.filter(Q(done_at__gt=when) | Q(done_at=when, pk__gt=pk))
    return before.order_by("-done_at", "-pk"), after.order_by("done_at", "pk")


def _cards(turns: list[Any], person: User) -> tuple[Card, ...]:
    unread = [turn.cell.human_cell for turn in turns if turn.last_number and turn.event is None]
    events = humans.latest_by_cell(person, unread)
    shows = [turn.cell for turn in turns if not _hides_grader(turn)]
    answers = graded(shows)
    for turn in turns:
        turn.event = turn.event or events.get(turn.cell.human_cell)
    return tuple(_card(turn, *answers.get(turn.cell_id, (None, ""))) for turn in turns)


def _hides_grader(turn: Turn) -> bool:
    return turn.is_blind and turn.rating is None


def _card(turn: Turn, grade: Grade | None, answer: str) -> Card:
    event = turn.event
    return Card(
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
    """By cell key: the grader's rating, and the answer that it, or its model by another prompt, extracted."""
    graders = {cell: cell.config for cell in cells if cell.config is not None}
    places = Q(pk__in=())
    for cell, config in graders.items():
        places |= Q(revision=cell.revision_id, passage=cell.passage_id, config__llm=config.llm)
    by_place = defaultdict(list)
    for row in Grade.objects.filter(places).select_related("config") if graders else ():
        by_place[row.revision_id, row.passage_id, row.config.llm].append(row)
    return {
        cell.pk: _graded_by(config, by_place[cell.revision_id, cell.passage_id, config.llm])
        for cell, config in graders.items()
    }


def _graded_by(config: GraderConfig, rows: Iterable[Grade]) -> tuple[Grade | None, str]:
    usable = [row for row in rows if row.outcome != Outcome.FAILED or row.config_id == config.pk]
    grade = next((row for row in usable if row.config_id == config.pk), None)
    extracted = [row for row in usable if row.config.purpose == Purpose.EXTRACT]
    answers = [row.answer for row in (grade, *extracted) if row and row.outcome != Outcome.FAILED]
    return grade, next(filter(None, answers), "")
