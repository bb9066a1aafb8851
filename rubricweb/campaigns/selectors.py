"""The queue of one assessor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from grading.topic_attributes import DrawnTopic
from rubricweb.accounts.models import User
from rubricweb.campaigns.leases import LAPSED, NEW, may_take
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn, new_uid
from rubricweb.campaigns.ratable import (
    PassageCard,
    RatableCell,
    cards_of,
    has_absent_runs,
    is_left_out,
    passage_cards,
    unasked,
    unreadable,
    without_text,
)
from rubricweb.core.models import JsonList
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.human_models import HumanGrade

State = Turn.State
PACE_OF = 20
"""How many turns the pace is computed from."""
LEAST_SECONDS = 15.0
"""Seconds of one rating, in forecasts: nobody reads passages faster than that for hours."""
BREAK_SECONDS = 600
"""A longer time between turns was a break."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A topic that was drawn for a campaign."""

    topic: Topic
    distance: float | None
    """The distance to the nearest topic that was drawn before; None for the first."""


def drawn_rows(collection: Collection, drawn: Sequence[DrawnTopic]) -> list[DrawnRow]:
    """Return the topics in the order of the draw."""
    topics = collection.topics.by_query_id([topic.query_id for topic in drawn])
    by_query_id = {topic.query_id: topic for topic in topics}
    return [DrawnRow(by_query_id[topic.query_id], topic.distance) for topic in drawn]


@dataclass(frozen=True, eq=False)
class QueuePage:
    """A campaign's queue as one person sees it."""

    campaign: Campaign
    passages: tuple[PassageCard, ...]
    """The passage to read, and those fetched ahead."""
    answered: RatableCell | None
    """The cell that was rated just now."""
    is_empty: bool
    """The person holds nothing."""
    cells: int
    done: int
    total: int
    unasked: int
    """Ratings that are not in `total`, because their cells are handed out no more."""
    textless: int
    """Ratings among them that wait for the text of their passage."""
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
    def card(self) -> RatableCell | None:
        """Return the cell that the keys are for."""
        return self.passages[0].current if self.passages else None

    @property
    def left(self) -> int:
        return self.total - self.done

    @property
    def most_of_mine(self) -> int:
        """Return the most that the person may rate in all: once a cell, and others may take some."""
        share = self.total if self.campaign.is_standing else self.total // self.campaign.assessors
        return max(self.mine, min(share, self.mine + self.left))

    @property
    def time_left(self) -> float | None:
        """Return the seconds of the person's own part, at their pace."""
        left = self.most_of_mine - self.mine
        return None if self.pace is None else max(LEAST_SECONDS, self.pace) * left


@dataclass(frozen=True, slots=True)
class Looking:
    """The state of a person's page: the cells that it has, and the one to show first."""

    cell: CampaignCell | None = None
    """One of theirs, to be shown first."""
    rating: HumanGrade | None = None
    """Their latest rating of `cell`, if it was given just now: the page then goes on to another one."""
    on_page: frozenset[int] = frozenset()
    """Keys of the cells that the page has: of those that are held, only others are shown."""


NOWHERE = Looking()


def queue_page(campaign: Campaign, person: User, looking: Looking = NOWHERE) -> QueuePage:
    """Show the passages of the cells that the person holds, and what they rated of the first one."""
    turns = _turns(campaign, person, looking.cell)
    at = 0 if looking.cell is None else looking.cell.pk
    looked_at = next((turn for turn in turns if turn.cell_id == at), None)
    figures = _figures(campaign, person, None if looking.rating else looked_at)
    cards = cards_of(_not_on_page(turns, person, looking), person)
    answered = next((card for card in cards if looking.rating and card.cell.pk == at), None)
    passages = passage_cards([card for card in cards if card != answered], current=at)
    is_empty = all(turn.is_done for turn in turns)
    has_nothing = is_empty and not passages
    return QueuePage(
        campaign=campaign,
        passages=passages,
        answered=answered,
        is_empty=is_empty,
        cells=figures.cells,
        done=figures.done,
        total=figures.turns - figures.skips - figures.unasked,
        unasked=figures.unasked,
        textless=figures.textless,
        mine=figures.mine,
        pace=pace(map(datetime.fromisoformat, figures.times or ())),
        previous=figures.before,
        next=figures.after,
        can_undo=figures.can_undo,
        may_start=has_nothing and may_take(campaign, person),
        skipped=_skipped(campaign, person) if has_nothing else None,
        uid=new_uid(),
    )


def _not_on_page(turns: list[Any], person: User, looking: Looking) -> list[Any]:
    """Return the turns that the page lacks, after what the person rated of the first passage."""
    at = 0 if looking.cell is None else looking.cell.pk
    missing = [turn for turn in turns if turn.cell_id == at or turn.cell_id not in looking.on_page]
    for turn in missing:
        turn.event = looking.rating if turn.cell_id == at else None
    if missing and not looking.rating and missing[0].cell.campaign.is_by_passage:
        first = missing[0]
        place = {"cell__topic": first.cell.topic_id, "cell__passage": first.cell.passage_id}
        mine = Turn.objects.filter(campaign=first.campaign_id, person=person, state__in=Turn.DONE, **place)
        turns = list(_with_card_fields(mine.exclude(pk=first.pk), person.pk))
        for turn in turns:
            turn.cell.campaign = first.cell.campaign
        return [*turns, *missing]
    return missing


def _turns(campaign: Campaign, person: User, cell: CampaignCell | None) -> list[Any]:
    """Return the turns that the person holds: those of the passage of `cell` first, else in the order taken.

    Each has `last_number`, the number of the person's latest event for its cell; 0 without one.
    """
    at = 0 if cell is None else cell.pk
    held = Turn.objects.filter(Q(state=State.LEASED) | Q(cell=at), campaign=campaign.pk, person=person.pk)
    turns: list[Any] = list(_with_card_fields(held, person.pk))
    for turn in turns:
        turn.cell.campaign, turn.cell.has_absent_runs = campaign, turn.has_absent_runs
    turns = [turn for turn in turns if not is_left_out(turn.cell, campaign.collection)]
    first = {turn.cell.passage_id for turn in turns if turn.cell_id == at}
    return sorted(turns, key=lambda turn: turn.cell.passage_id not in first)


def _with_card_fields(turns: QuerySet[Turn], person: int) -> QuerySet[Any, Any]:
    """Fetch along what cards show of the turns; leave out secret items."""
    place = {"revision": OuterRef("cell__revision"), "passage": OuterRef("cell__passage")}
    numbers = HumanGrade.objects.filter(by=person, **place).order_by("-number").values("number")
    turns = turns.filter(cell__revision__is_secret=False)
    return (
        turns.annotate(
            last_number=Coalesce(Subquery(numbers[:1]), 0),
            has_absent_runs=has_absent_runs("campaign__collection"),
        )
        .select_related("cell__topic", "cell__item", "cell__revision", "cell__passage", "cell__config")
        .order_by("taken_at", "order", "pk")
    )


class Figures(NamedTuple):
    """The progress of a campaign and of one person in it."""

    cells: int
    turns: int
    done: int
    skips: int
    unasked: int
    textless: int
    has_absent_runs: bool
    mine: int
    can_undo: bool
    times: list[str] | None
    """When the person finished their latest turns."""
    before: int | None
    after: int | None
    """The cells that the person finished before and after the turn on the screen."""


def _figures(campaign: Campaign, person: User, looked_at: Turn | None) -> Figures:
    """Return the figures by one query of counts, and another one where runs are not accepted."""
    turns = Turn.objects.filter(campaign=campaign.pk)
    mine = turns.filter(person=person.pk, state__in=Turn.DONE)
    before, after = _neighbours(
        mine, Turn.objects.filter(pk=looked_at.pk if looked_at is not None else 0).exclude(done_at=None)
    )
    last = mine.order_by("-done_at").values("pk")[: PACE_OF + 1]
    listed = Turn.objects.filter(pk__in=last).order_by().values("campaign")
    last_times = Subquery(listed.annotate(times=JsonList("done_at")).values("times"))
    (row,) = (
        Campaign.objects.filter(pk=campaign.pk)
        .order_by()
        .values_list(
            _count(CampaignCell.objects.filter(campaign=campaign.pk)),
            _count(turns),
            _count(turns.filter(state=State.SUBMITTED)),
            _count(turns.filter(state=State.SKIPPED)),
            _count(unreadable(turns)),
            _count(without_text(turns)),
            has_absent_runs("collection"),
            _count(mine.filter(state=State.SUBMITTED)),
            Exists(mine.filter(can_undo=True)),
            last_times,
            Subquery(before.values("cell")[:1]),
            Subquery(after.values("cell")[:1]),
        )
    )
    figures = Figures(*row)
    if figures.has_absent_runs:
        return figures._replace(unasked=unasked(campaign.turns.all(), campaign.collection).count())
    return figures


def _count(rows: QuerySet[Any]) -> Coalesce:
    """Count rows of one campaign."""
    counted = rows.order_by().values("campaign").annotate(rows=Count("*"))
    return Coalesce(Subquery(counted.values("rows")), 0)


def _skipped(campaign: Campaign, person: User) -> int | None:
    free = campaign.turns.filter(NEW | LAPSED, cell=OuterRef("cell"))
    mine = campaign.turns.filter(Exists(free), person=person, state=State.SKIPPED)
    return mine.order_by("order").values_list("cell", flat=True).first()


def pace(times: Iterable[datetime | None]) -> float | None:
    """Return the median of the seconds between turns; None with fewer than two, or only breaks."""
    ordered = sorted(time for time in times if time is not None)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(ordered)]
    worked = [gap for gap in gaps if gap < BREAK_SECONDS]
    return median(worked) if worked else None


def _neighbours(mine: QuerySet[Turn], at: QuerySet[Turn]) -> tuple[QuerySet[Turn], QuerySet[Turn]]:
    """Return what the person finished before and after this one, nearest first; without one, the latest."""
    when, pk = Subquery(at.values("done_at")), Subquery(at.values("pk"))
    before = mine.filter(~Exists(at) | Q(done_at__lt=when) | Q(done_at=when, pk__lt=pk))
    after = mine.filter(Q(done_at__gt=when) | Q(done_at=when, pk__gt=pk))
    return before.order_by("-done_at", "-pk"), after.order_by("done_at", "pk")
