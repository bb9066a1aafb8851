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
from django.urls import reverse

from grading.topic_attributes import DrawnTopic
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import banks_with_texts
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
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import banks_graded_by, default_bank

State = Turn.State
PACE_OF = 20
"""How many turns the pace is computed from."""
LAST_TURNS = 1_000
"""How many turns of a collection its pace is measured on."""
LEAST_SECONDS = 15.0
"""Seconds of one rating, in forecasts: nobody reads passages faster than that for hours."""
BREAK_SECONDS = 600
"""A longer time between turns was a break."""


@dataclass(frozen=True, slots=True)
class RatingPace:
    """How long one rating takes in a collection, for every forecast."""

    seconds: float
    is_measured: bool
    """It is the pace of people who rated here."""


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
    """Ratings needed, without those of cells that are handed out no more; a skipped cell waits for others."""
    textless: int
    """Ratings that wait for the text of their passage; counted only if nothing else is left."""
    mine: int
    pace: float | None
    """The person's seconds per cell."""
    previous: int | None
    next: int | None
    """The cells that the person finished before and after this one."""
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
    figures = _figures(campaign, person, are_runs_absent=_are_runs_absent(campaign, turns))
    previous, following = figures.last[0][0] if figures.last else None, None
    if looked_at is not None and looked_at.done_at is not None and not looking.rating:
        previous, following = _neighbours(campaign, person, looked_at)
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
        cells=sum(_cells(campaign.pk)),
        done=figures.done,
        total=figures.total,
        textless=sum(_textless(campaign.pk)) if has_nothing else 0,
        mine=figures.mine,
        pace=pace(at for _, at in figures.last),
        previous=previous,
        next=following,
        may_start=has_nothing and may_take(campaign, person),
        skipped=next(iter(_skipped(campaign.pk, person.pk)), None) if has_nothing else None,
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
    turns = _held_or_looked_at(campaign.pk, person.pk, at)
    for turn in turns:
        turn.cell.campaign, turn.cell.has_absent_runs = campaign, turn.has_absent_runs
    turns = [turn for turn in turns if not is_left_out(turn.cell, campaign.collection)]
    first = {turn.cell.passage_id for turn in turns if turn.cell_id == at}
    return sorted(turns, key=lambda turn: turn.cell.passage_id not in first)


@compiled_once
def _held_or_looked_at(campaign: int, person: int, cell: int) -> QuerySet[Any, Any]:
    held = Turn.objects.filter(Q(state=State.LEASED) | Q(cell=cell), campaign=campaign, person=person)
    return _with_card_fields(held, person)


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

    total: int
    done: int
    mine: int
    last: list[tuple[int, datetime | None]]
    """The cells that the person finished last, and when; the latest first."""


def _figures(campaign: Campaign, person: User, *, are_runs_absent: bool) -> Figures:
    states = _by_state(campaign.pk, person.pk)
    counts = {State(state): (number, mine) for state, number, mine in states}
    done, mine = counts.get(State.SUBMITTED, (0, 0))
    needed = sum(number for state, (number, _) in counts.items() if state != State.SKIPPED)
    away = unasked(campaign.turns.all(), campaign.collection).count() if are_runs_absent else 0
    unreadable = 0 if are_runs_absent else sum(_unreadable(campaign.pk, campaign.collection_id))
    last = _last_done(campaign.pk, person.pk)
    return Figures(total=needed - away - unreadable, done=done, mine=mine, last=last)


@compiled_once
def _cells(campaign: int) -> QuerySet[CampaignCell, Any]:
    cells = CampaignCell.objects.filter(campaign=campaign).order_by()
    return cells.values("campaign").annotate(cells=Count("*")).values_list("cells", flat=True)


@compiled_once
def _by_state(campaign: int, person: int) -> QuerySet[Turn, Any]:
    """Return how many turns are in each state, and how many of these are the person's."""
    turns = Turn.objects.filter(campaign=campaign).order_by().values_list("state")
    return turns.annotate(Count("pk"), mine=Count("pk", filter=Q(person=person)))


@compiled_once
def _textless(campaign: int) -> QuerySet[Turn, Any]:
    turns = without_text(Turn.objects.filter(campaign=campaign)).order_by()
    return turns.values("campaign").annotate(turns=Count("*")).values_list("turns", flat=True)


@compiled_once
def _unreadable(campaign: int, collection: int) -> QuerySet[Turn, Any]:
    turns = unreadable(campaign, collection).order_by()
    return turns.values("campaign").annotate(turns=Count("*")).values_list("turns", flat=True)


@compiled_once
def _last_done(campaign: int, person: int) -> QuerySet[Turn, Any]:
    done = Turn.objects.filter(campaign=campaign, person=person, state__in=Turn.DONE)
    return done.order_by("-done_at", "-pk").values_list("cell", "done_at")[: PACE_OF + 1]


def _are_runs_absent(campaign: Campaign, turns: list[Any]) -> bool:
    """Return whether runs of the collection are not accepted, which its turns know."""
    if turns:
        return bool(turns[0].has_absent_runs)
    return Run.objects.not_accepted().filter(collection=campaign.collection_id).exists()


@compiled_once
def _skipped(campaign: int, person: int) -> QuerySet[Turn, int]:
    """Return the first cell that the person skipped and may still take."""
    free = Turn.objects.filter(NEW | LAPSED, campaign=campaign, cell=OuterRef("cell"))
    mine = Turn.objects.filter(Exists(free), campaign=campaign, person=person, state=State.SKIPPED)
    return mine.order_by("order").values_list("cell", flat=True)[:1]


def check_address(
    collection: Collection, grader: GraderConfig, bank: Bank | None = None, **chosen: str
) -> str:
    """Return where a campaign begins that checks the grader's ratings; empty where no item has a text.

    Without `bank` it is the default one that the grader graded. `chosen` are further fields of the form.
    """
    banks = [bank] if bank else [default_bank(collection, grader), *banks_graded_by(grader, collection)]
    worded = banks_with_texts([bank for bank in banks if bank])
    first = next((bank for bank in banks if bank in worded), None)
    if first is None:
        return ""
    query = {"bank": first.pk, "grader": grader.pk, **chosen}
    return reverse("campaigns:campaign-new", args=[collection.slug], query=query)


@read_once
def rating_pace(collection: Collection) -> RatingPace:
    """Return the median, over people, of their seconds per rating, at least LEAST_SECONDS.

    LEAST_SECONDS where nobody rated.
    """
    times: dict[int | None, list[datetime | None]] = defaultdict(list)
    for person, at in _last_turns(collection.pk):
        if len(times[person]) <= PACE_OF:
            times[person].append(at)
    paces = [seconds for seconds in map(pace, times.values()) if seconds]
    return RatingPace(max(LEAST_SECONDS, median(paces or [0.0])), bool(paces))


@compiled_once
def _last_turns(collection: int) -> QuerySet[Turn, Any]:
    turns = Turn.objects.filter(campaign__collection=collection, state__in=Turn.DONE).exclude(done_at=None)
    return turns.order_by("-done_at").values_list("person", "done_at")[:LAST_TURNS]


def pace(times: Iterable[datetime | None]) -> float | None:
    """Return the median of the seconds between turns; None with fewer than two, or only breaks."""
    ordered = sorted(time for time in times if time is not None)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(ordered)]
    worked = [gap for gap in gaps if gap < BREAK_SECONDS]
    return median(worked) if worked else None


def _neighbours(campaign: Campaign, person: User, at: Turn) -> tuple[int | None, int | None]:
    """Return the cells that the person finished before and after this turn."""
    mine = campaign.turns.filter(person=person, state__in=Turn.DONE).values_list("cell", flat=True)
    before = mine.filter(Q(done_at__lt=at.done_at) | Q(done_at=at.done_at, pk__lt=at.pk))
    after = mine.filter(Q(done_at__gt=at.done_at) | Q(done_at=at.done_at, pk__gt=at.pk))
    return before.order_by("-done_at", "-pk").first(), after.order_by("done_at", "pk").first()
