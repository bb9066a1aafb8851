"""What the queue's screens ask: campaigns with their progress, and one assessor's desk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from grading.types import Outcome, Purpose
from rubricweb.accounts.models import User
from rubricweb.campaigns.queue.actions import saying_of
from rubricweb.campaigns.queue.leases import LAPSED, NEW, may_take
from rubricweb.campaigns.queue.meanings import Meanings, meanings_of
from rubricweb.campaigns.queue.models import Campaign, CampaignCell, Turn, new_uid
from rubricweb.core.models import JsonList
from rubricweb.corpus.models import Collection
from rubricweb.grades import humans
from rubricweb.grades.highlighting import Segment, highlighted
from rubricweb.grades.models import Grade, GraderConfig, HumanGrade

State = Turn.State
PACE_OF = 20
"""The pace is that of the last so many."""
BREAK_SECONDS = 600
"""Whoever does nothing for longer had a break."""
RECENT = 50
LAST_TURNS = 2_000
"""Paces are taken from these."""


@dataclass(slots=True)
class CampaignRow:
    """A campaign as it is listed."""

    campaign: Campaign
    states: dict[str, int] = field(default_factory=dict)
    mine: int = 0
    """Handed in by the person who looks."""
    is_mine: bool = True
    """The person may work on it."""

    @property
    def total(self) -> int:
        """Ratings that are wanted; a skipped cell waits for somebody else."""
        return sum(count for state, count in self.states.items() if state != State.SKIPPED)

    @property
    def done(self) -> int:
        return self.states.get(State.SUBMITTED, 0)

    @property
    def left(self) -> int:
        return self.total - self.done

    @property
    def leased(self) -> int:
        return self.states.get(State.LEASED, 0)

    @property
    def skipped(self) -> int:
        return self.states.get(State.SKIPPED, 0)

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


def campaign_rows(collection: Collection, person: User) -> list[CampaignRow]:
    """Every campaign, open ones first: a fixed number of queries."""
    campaigns = list(collection.campaigns.select_related("bank", "collection", "by").order_by("-pk"))
    rows = {campaign.pk: CampaignRow(campaign) for campaign in campaigns}
    turns = Turn.objects.filter(campaign__collection=collection).order_by()
    for pk, state, count in turns.values_list("campaign", "state").annotate(Count("pk")):
        rows[pk].states[state] = count
    had = (
        turns.filter(person=person)
        .values_list("campaign")
        .annotate(mine=Count("pk", filter=Q(state=State.SUBMITTED)))
    )
    for pk, mine in had:
        rows[pk].mine = mine
    _mark_theirs(rows, collection, person, {pk for pk, _ in had})
    return sorted(rows.values(), key=lambda row: (not row.campaign.is_open, -row.campaign.pk))


def _mark_theirs(
    rows: dict[int, CampaignRow], collection: Collection, person: User, touched: set[int]
) -> None:
    named = defaultdict(set)
    pairs = Campaign.people.through.objects.filter(campaign__collection=collection)
    for campaign, user in pairs.values_list("campaign_id", "user_id"):
        named[campaign].add(user)
    for pk, row in rows.items():
        open_to_all = not named[pk] and not row.campaign.is_standing
        row.is_mine = pk in touched or open_to_all or person.pk in named[pk]


@dataclass(frozen=True, eq=False)
class Card:
    """One cell as an assessor sees it."""

    cell: CampaignCell
    turn: Turn
    said: HumanGrade | None
    """What the person says now."""
    seen: int
    grade: Grade | None
    """The grader's; None where it must not be seen yet, or is not there."""
    answer: str
    segments: tuple[Segment, ...]
    uid: UUID

    @property
    def is_rated(self) -> bool:
        return self.said is not None

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
class Desk:
    """What one person has before them in a campaign."""

    campaign: Campaign
    cards: tuple[Card, ...]
    """The one to work on, and the one that is fetched ahead."""
    cells: int
    done: int
    total: int
    mine: int
    pace: float | None
    """Seconds a cell of this person."""
    previous: int | None
    next: int | None
    """Neighbours, by cell, among what the person did."""
    can_undo: bool
    may_start: bool
    """The person holds nothing, and may take something."""
    skipped: int | None
    """A cell that the person skipped and that still waits for somebody; only where nothing else is left."""
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


def desk(
    campaign: Campaign, person: User, *, cell: CampaignCell | None = None, rating: HumanGrade | None = None
) -> Desk:
    """The cells that the person holds; `cell`, one of theirs, goes before them.

    `rating` is what they said last of `cell`, where that is known already.
    """
    turns = _turns(campaign, person, cell)
    looked_at = next((turn for turn in turns if cell is not None and turn.cell_id == cell.pk), None)
    if looked_at is not None:
        looked_at.said = rating
    cards = _cards(turns[:2], person)
    figures = _figures(campaign, person, looked_at)
    return Desk(
        campaign=campaign,
        cards=cards,
        cells=figures["all_cells"],
        done=figures["done"],
        total=figures["all_turns"] - figures["skips"],
        mine=figures["mine"],
        pace=pace(map(datetime.fromisoformat, figures["times"] or ())),
        previous=figures["before"],
        next=figures["after"],
        can_undo=figures["can_undo"],
        may_start=not cards and may_take(campaign, person),
        skipped=None if cards else _skipped(campaign, person),
        uid=new_uid(),
    )


def _turns(campaign: Campaign, person: User, cell: CampaignCell | None) -> list[Any]:
    """The turns that the person holds, in the order in which they took them, behind their turn of `cell`.

    Each has `last_number`, that of what the person said last of its cell; 0 if nothing.
    """
    rows = campaign.turns.select_related(
        "cell__topic", "cell__item", "cell__revision", "cell__passage", "cell__config"
    )
    wanted = Q(state=State.LEASED) | Q(cell=cell) if cell is not None else Q(state=State.LEASED)
    place = {"revision": OuterRef("cell__revision"), "passage": OuterRef("cell__passage")}
    said = HumanGrade.objects.filter(by=person, **place).order_by("-number").values("number")
    rows = rows.annotate(last_number=Coalesce(Subquery(said[:1]), 0))
    turns = list(rows.filter(wanted, person=person).order_by("taken_at", "pk"))
    for turn in turns:
        turn.cell.campaign = campaign
    return sorted(turns, key=lambda turn: cell is None or turn.cell_id != cell.pk)


def _done_by(campaign: Campaign, person: User) -> QuerySet[Turn]:
    return campaign.turns.filter(person=person, state__in=(State.SUBMITTED, State.SKIPPED))


def _figures(campaign: Campaign, person: User, looked_at: Turn | None) -> dict[str, Any]:
    """How far the campaign and the person are, in one query of counts that indexes answer."""
    mine = _done_by(campaign, person)
    before, after = _neighbours(mine, looked_at)
    rows = Campaign.objects.filter(pk=campaign.pk).order_by()
    figures = rows.values(
        all_cells=_count(campaign.cells.all()),
        all_turns=_count(campaign.turns.all()),
        done=_count(campaign.turns.filter(state=State.SUBMITTED)),
        skips=_count(campaign.turns.filter(state=State.SKIPPED)),
        mine=_count(mine.filter(state=State.SUBMITTED)),
        can_undo=Exists(mine.filter(can_undo=True)),
        before=Subquery(before.values("cell")[:1]),
        after=Subquery(after.values("cell")[:1]),
        times=_last_times(mine),
    ).get()
    return dict(figures)


def _last_times(mine: QuerySet[Turn]) -> Subquery:
    """When the last of them were done, as a list of texts."""
    last = mine.order_by("-done_at").values("pk")[: PACE_OF + 1]
    listed = Turn.objects.filter(pk__in=last).order_by().values("campaign")
    return Subquery(listed.annotate(times=JsonList("done_at")).values("times"))


def _count(rows: QuerySet[Any]) -> Coalesce:
    """Of rows of one campaign."""
    counted = rows.order_by().values("campaign").annotate(rows=Count("*"))
    return Coalesce(Subquery(counted.values("rows")), 0)


def _skipped(campaign: Campaign, person: User) -> int | None:
    free = campaign.turns.filter(NEW | LAPSED, cell=OuterRef("cell"))
    mine = campaign.turns.filter(Exists(free), person=person, state=State.SKIPPED)
    return mine.order_by("order").values_list("cell", flat=True).first()


def pace(times: Iterable[datetime | None]) -> float | None:
    """Seconds between one and the next, the middle one; None with fewer than two, or only breaks."""
    known = sorted(time for time in times if time is not None)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(known)]
    worked = [gap for gap in gaps if gap < BREAK_SECONDS]
    return median(worked) if worked else None


def _neighbours(mine: QuerySet[Turn], at: Turn | None) -> tuple[QuerySet[Turn], QuerySet[Turn]]:
    """What the person did before and after the one looked at, the nearest first."""
    if at is None or at.done_at is None:
        return mine.order_by("-done_at", "-pk"), mine.none()
    before = mine.filter(Q(done_at__lt=at.done_at) | Q(done_at=at.done_at, pk__lt=at.pk))
    after = mine.filter(Q(done_at__gt=at.done_at) | Q(done_at=at.done_at, pk__gt=at.pk))
    return before.order_by("-done_at", "-pk"), after.order_by("done_at", "pk")


def _cards(turns: list[Any], person: User) -> tuple[Card, ...]:
    asked = [saying_of(turn.cell) for turn in turns if turn.last_number and turn.said is None]
    said = humans.last_said(person, asked)
    shows = [turn.cell for turn in turns if not _hides_grader(turn)]
    answers = graded(shows)
    for turn in turns:
        turn.said = turn.said or said.get(saying_of(turn.cell))
    return tuple(_card(turn, *answers.get(turn.cell_id, (None, ""))) for turn in turns)


def _hides_grader(turn: Turn) -> bool:
    return turn.is_blind and turn.rating is None


def _card(turn: Turn, grade: Grade | None, answer: str) -> Card:
    said = turn.said
    return Card(
        cell=turn.cell,
        turn=turn,
        said=None if said is None or said.is_withdrawn else said,
        seen=said.number if said else 0,
        grade=grade,
        answer=answer,
        segments=highlighted(turn.cell.passage.text, answer),
        uid=new_uid(),
    )


def graded(cells: Iterable[CampaignCell]) -> dict[int, tuple[Grade | None, str]]:
    """By the key of the cell: the grader's rating, and the answer that it, or its model by another prompt,
    extracted.
    """
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
    found = [row for row in rows if row.outcome != Outcome.FAILED or row.config_id == config.pk]
    grade = next((row for row in found if row.config_id == config.pk), None)
    extracted = [row for row in found if row.config.purpose == Purpose.EXTRACT]
    answers = [row.answer for row in (grade, *extracted) if row and row.outcome != Outcome.FAILED]
    return grade, next(filter(None, answers), "")


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One assessor's work in a campaign."""

    person: User
    done: int
    skipped: int
    holds: int
    pace: float | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How a campaign goes, for its organizer."""

    row: CampaignRow
    people: tuple[PersonRow, ...]
    leases: tuple[Turn, ...]
    """Who has which cell now."""
    skips: tuple[Turn, ...]
    random: int
    random_done: int


def progress(campaign: Campaign, person: User) -> Progress:
    row = next(row for row in campaign_rows(campaign.collection, person) if row.campaign.pk == campaign.pk)
    leases = campaign.turns.filter(state=State.LEASED, lease_until__gte=Now()).order_by("lease_until")
    full = ("person", "cell__topic", "cell__revision", "cell__passage")
    skips = campaign.turns.filter(state=State.SKIPPED).order_by("-done_at")
    random = campaign.cells.filter(is_random=True)
    rated = random.filter(turns__state=State.SUBMITTED).distinct()
    return Progress(
        row=row,
        people=_people(campaign),
        leases=tuple(leases.select_related(*full)[:RECENT]),
        skips=tuple(skips.select_related(*full)[:RECENT]),
        random=random.count(),
        random_done=rated.count(),
    )


def _people(campaign: Campaign) -> tuple[PersonRow, ...]:
    rows = campaign.turns.exclude(person=None).order_by()
    counted = rows.values_list("person").annotate(
        done=Count("pk", filter=Q(state=State.SUBMITTED)),
        skips=Count("pk", filter=Q(state=State.SKIPPED)),
        holds=Count("pk", filter=Q(state=State.LEASED, lease_until__gte=Now())),
        last=Max("done_at"),
    )
    people = User.objects.in_bulk([pk for pk, *_ in counted])
    times: dict[int, list[datetime]] = defaultdict(list)
    last = rows.exclude(done_at=None).order_by("-done_at").values_list("person", "done_at")
    for pk, at in last[:LAST_TURNS]:
        if at is not None and len(times[pk]) <= PACE_OF:
            times[pk].append(at)
    found = [
        PersonRow(people[pk], done, skipped, holds, pace(times[pk]), last_at)
        for pk, done, skipped, holds, last_at in counted
    ]
    return tuple(sorted(found, key=lambda row: -row.done))
