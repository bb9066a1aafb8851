"""How far campaigns are, and the announcement to webhooks when one is done.

A campaign is done when it is closed, or has no turn that somebody has or may take. This follows from the rows
whenever a worker looks, so that of two who hand in the last turns at once neither has to know, and that
assessors wait for nothing.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse

from rubricweb.accounts.models import User
from rubricweb.banks.secrecy import readable
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn
from rubricweb.campaigns.ratable import UNREADABLE, unasked, without_text
from rubricweb.campaigns.selectors import PACE_OF, pace
from rubricweb.corpus.models import Collection, Topic
from rubricweb.webhooks import actions as webhooks
from rubricweb.webhooks.models import Announced, EventType

State = Turn.State
DONE = Count("pk", filter=Q(state=State.SUBMITTED))
RECENT = 50
LAST_TURNS = 2_000
"""How many turns a pace is computed from."""


@dataclass(slots=True)
class CampaignRow:
    """A campaign as it is listed."""

    campaign: Campaign
    states: dict[str, int] = field(default_factory=dict)
    unasked: int = 0
    """Ratings whose cells are handed out no more."""
    mine: int = 0
    """Ratings that the reader handed in."""
    is_mine: bool = True
    """The reader may work on it."""

    @property
    def total(self) -> int:
        """Return the number of ratings needed; a skipped cell waits for somebody else."""
        turns = sum(count for state, count in self.states.items() if state != State.SKIPPED)
        return turns - self.unasked

    @property
    def done(self) -> int:
        return self.states.get(State.SUBMITTED, 0)

    @property
    def left(self) -> int:
        return self.total - self.done

    @property
    def left_for_reader(self) -> int:
        """Return the most that the reader can still rate: once a cell, and others may take some."""
        if self.campaign.is_standing:
            return self.left
        return max(0, min(self.left, self.total // self.campaign.assessors - self.mine))

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
    """Return every campaign, open ones first, in a fixed number of queries."""
    campaigns = list(collection.campaigns.select_related("bank", "collection", "by").order_by("-pk"))
    rows = {campaign.pk: CampaignRow(campaign) for campaign in campaigns}
    turns = Turn.objects.filter(campaign__collection=collection).order_by()
    for pk, state, count in turns.values_list("campaign", "state").annotate(Count("pk")):
        rows[pk].states[state] = count
    for pk, count in unasked(turns, collection).values_list("campaign").annotate(Count("pk")):
        rows[pk].unasked = count
    had = (
        turns.filter(person=person)
        .values_list("campaign")
        .annotate(mine=Count("pk", filter=Q(state=State.SUBMITTED)))
    )
    for pk, mine in had:
        rows[pk].mine = mine
    touched = {pk for pk, _ in had}
    named = defaultdict(set)
    pairs = Campaign.assignees.through.objects.filter(campaign__collection=collection)
    for campaign, user in pairs.values_list("campaign_id", "user_id"):
        named[campaign].add(user)
    for pk, row in rows.items():
        open_to_all = not named[pk] and not row.campaign.is_standing
        row.is_mine = pk in touched or open_to_all or person.pk in named[pk]
    return sorted(rows.values(), key=lambda row: (not row.campaign.is_open, -row.campaign.pk))


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of a campaign: how many ratings it has, and how many it is to have."""

    topic: Topic
    done: int
    total: int


def topic_rows(campaign: Campaign) -> list[TopicRow]:
    """Return the topics in the order in which the campaign comes to them."""
    turns = campaign.turns.exclude(state=State.SKIPPED).filter(cell__revision__is_secret=False)
    by_topic = turns.order_by().values_list("cell__topic")
    rows = list(by_topic.annotate(first=Min("order"), total=Count("pk"), done=DONE).order_by("first"))
    topics = campaign.collection.topics.in_bulk([pk for pk, *_ in rows])
    return [TopicRow(topics[pk], done, total) for pk, _, total, done in rows]


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
class CampaignProgress:
    """The progress of a campaign, for its organizer."""

    row: CampaignRow
    by_assessor: tuple[PersonRow, ...]
    leases: tuple[Turn, ...]
    """Who holds which cell now."""
    skips: tuple[Turn, ...]
    random: int
    random_done: int
    textless: int
    """Ratings that wait for the text of their passage."""


def progress(campaign: Campaign, person: User) -> CampaignProgress:
    row = next(row for row in campaign_rows(campaign.collection, person) if row.campaign.pk == campaign.pk)
    readable_turns = readable(campaign.turns.all(), "cell__revision")
    leases = readable_turns.filter(state=State.LEASED, lease_until__gt=Now()).order_by("lease_until")
    full = ("person", "cell__topic", "cell__revision", "cell__passage")
    skips = readable_turns.filter(state=State.SKIPPED).order_by("-done_at")
    away = unasked(campaign.turns.all(), campaign.collection)
    random = campaign.cells.filter(is_random=True)
    rated = random.filter(turns__state=State.SUBMITTED).distinct()
    left = random.exclude(pk__in=rated.values("pk")).exclude(pk__in=away.values("cell"))
    rated_cells = rated.count()
    turns = campaign.turns.exclude(person=None).order_by()
    counted = turns.values_list("person").annotate(
        done=Count("pk", filter=Q(state=State.SUBMITTED)),
        skips=Count("pk", filter=Q(state=State.SKIPPED)),
        holds=Count("pk", filter=Q(state=State.LEASED, lease_until__gt=Now())),
        last=Max("done_at"),
    )
    users = User.objects.in_bulk([pk for pk, *_ in counted])
    times: dict[int, list[datetime]] = defaultdict(list)
    last = turns.exclude(done_at=None).order_by("-done_at").values_list("person", "done_at")
    for pk, at in last[:LAST_TURNS]:
        if at is not None and len(times[pk]) <= PACE_OF:
            times[pk].append(at)
    rows = [
        PersonRow(users[pk], done, skipped, holds, pace(times[pk]), last_at)
        for pk, done, skipped, holds, last_at in counted
    ]
    return CampaignProgress(
        row=row,
        by_assessor=tuple(sorted(rows, key=lambda row: -row.done)),
        leases=tuple(leases.select_related(*full)[:RECENT]),
        skips=tuple(skips.select_related(*full)[:RECENT]),
        random=rated_cells + left.count(),
        random_done=rated_cells,
        textless=without_text(campaign.turns.all()).count(),
    )


def announce_done() -> int:
    """Announce each campaign that is done once, and return how many. Workers call it every few seconds."""
    listeners = webhooks.listened_to(EventType.CAMPAIGN_DONE).items()
    done = [campaign for collection, since in listeners for campaign in _done(collection, since)]
    return sum(_announce(campaign) for campaign in done)


def with_open_turns() -> Exists:
    """Return the condition of campaigns that have a turn which somebody has or may take."""
    unreadable = CampaignCell.objects.filter(UNREADABLE, pk=OuterRef("cell"))
    turns = Turn.objects.filter(campaign=OuterRef("pk"), state__in=(State.PENDING, State.LEASED))
    return Exists(turns.filter(~Exists(unreadable)))


def _done(collection_id: int, since: dt.datetime) -> QuerySet[Campaign]:
    """Return the campaigns done after `since` that were not announced yet."""
    campaigns = Campaign.objects.filter(collection=collection_id, is_standing=False)
    ended = campaigns.annotate(last=Max("turns__done_at")).filter(
        Q(closed_at__gte=since) | (Q(last__gte=since) & ~with_open_turns())
    )
    subjects = Announced.objects.filter(collection=collection_id).values_list("subject", flat=True)
    announced = [int(subject.partition(" ")[2]) for subject in subjects if subject.startswith("campaign ")]
    return ended.exclude(pk__in=announced).select_related("collection", "bank")


@transaction.atomic
def _announce(campaign: Campaign) -> bool:
    collection = campaign.collection
    _, is_new = Announced.objects.get_or_create(collection=collection, subject=f"campaign {campaign.pk}")
    if is_new:
        named = {"id": campaign.pk, "name": campaign.name, "is_closed": not campaign.is_open}
        page = reverse("campaigns:campaigns", args=[collection.slug])
        details = {"campaign": named, "bank": {"id": campaign.bank_id, "name": campaign.bank.name}}
        api = webhooks.api_address("campaign", collection.slug, campaign.pk)
        webhooks.write(collection, EventType.CAMPAIGN_DONE, {**details, "page": page, "api": api})
    return is_new
