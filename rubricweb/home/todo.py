"""What waits for a person in their collections: a fixed number of queries, however many collections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from django.db.models import CharField, Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.draft_models import Draft
from rubricweb.banks.secrecy import sees_secrets
from rubricweb.campaigns.conflicts import ConflictQuery
from rubricweb.campaigns.leases import LAPSED, NEW
from rubricweb.campaigns.models import Campaign, CampaignCell, Decision, Turn
from rubricweb.campaigns.progress import with_open_turns
from rubricweb.campaigns.selectors import LEAST_SECONDS, PACE_OF, pace
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import everything
from rubricweb.corpus.models import Collection, Run
from rubricweb.grades import visibility
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GradingJob
from rubricweb.home.collections import Keys, number_of
from rubricweb.review.models import Flag
from rubricweb.submissions.models import Submission
from rubricweb.webhooks.models import Endpoint

State = Turn.State


class WaitingKind(StrEnum):
    RATE = "rate"
    VERIFY = "verify"
    DECIDE = "decide"
    LABEL = "label"
    VOTE = "vote"
    ANSWER = "answer"
    OTHER = "other"
    """What organizers do elsewhere: drafts, jobs, files of teams."""


SECONDS = {
    WaitingKind.RATE: LEAST_SECONDS,
    WaitingKind.VERIFY: LEAST_SECONDS,
    WaitingKind.DECIDE: 20.0,
    WaitingKind.LABEL: LEAST_SECONDS,
    WaitingKind.VOTE: 60.0,
    WaitingKind.ANSWER: 60.0,
}
"""What one takes, before the person's own pace is known."""


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """Something that waits for the person, and where it is done."""

    count: int
    what: str
    collection: Collection
    address: str
    verb: str
    """What the button says."""
    kind: WaitingKind = WaitingKind.OTHER
    campaign: Campaign | None = None
    """Where it is one's cells."""
    passages: int = 0
    """Passages that have cells to rate."""
    pace: float | None = None
    """The person's own seconds for one, at least LEAST_SECONDS."""

    @property
    def seconds(self) -> float | None:
        """Return how long all of it takes; None for what is not counted in time."""
        each = self.pace or SECONDS.get(self.kind)
        return None if each is None else each * self.count

    @property
    def where(self) -> str:
        return self.campaign.name if self.campaign else ""


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Counts by collection of what is not done, whoever does it."""

    turns: Mapping[int, int]
    """Ratings that open campaigns lack."""
    left_out: Mapping[int, int]
    """Cells of open campaigns: public boards and releases are without them until these are closed."""
    conflicts: Mapping[int, int]
    flags: Mapping[tuple[int, int | None], int]
    """Open ones, by collection and assignee."""
    submitted: Mapping[int, int]
    """Runs of teams that an organizer has neither accepted nor rejected."""
    late: Mapping[int, int]
    """Files sent after the deadline that nobody decided about."""
    paused: Mapping[int, int]
    """Jobs."""
    disabled: Mapping[int, int]
    """Webhooks that failed until they were turned off."""
    rated: Mapping[int, int]
    """Open campaigns that have all their ratings."""

    def flags_in(self, collection: int) -> int:
        return sum(count for (pk, _), count in self.flags.items() if pk == collection)


@dataclass(frozen=True, slots=True)
class WaitingWork:
    tasks: tuple[WaitingTask, ...] = ()
    open: OpenWork = field(default_factory=lambda: OpenWork({}, {}, {}, {}, {}, {}, {}, {}, {}))

    @property
    def total(self) -> int:
        return sum(task.count for task in self.tasks)


def waiting_for(user: User, held: Mapping[Collection, roles.Role]) -> WaitingWork:
    """Return the person's tasks, cells to rate first, and what is open in the collections."""
    by_pk = {collection.pk: collection for collection in held}
    holding = partial(_holding, held)
    work = open_work(user, by_pk.values(), holding(roles.TO_EDIT_BANK))
    tasks = [
        *_cells(user, holding(roles.TO_RATE)),
        *_flags(user, work, by_pk, holding),
        *_conflicts(work, holding(roles.TO_DECIDE)),
        *_drafts(by_pk, [place for place, role in held.items() if role.includes(roles.role_to_edit(place))]),
        *_paused_jobs(work, holding(roles.TO_GRADE)),
        *_teams_files(work, holding(roles.TO_ORGANIZE)),
        *_webhooks(work, holding(roles.TO_ORGANIZE)),
        *_rated_campaigns(work, holding(roles.TO_ORGANIZE)),
    ]
    return WaitingWork(tuple(tasks), work)


def _holding(held: Mapping[Collection, roles.Role], needed: roles.Role) -> list[Collection]:
    return [collection for collection, role in held.items() if role.includes(needed)]


def open_work(user: User | None, collections: Iterable[Collection], edited: Sequence[Collection]) -> OpenWork:
    """Count what is open; conflicts only where the user edits banks, and decides them."""
    here = list(collections)
    keys = tuple(collection.pk for collection in here)
    of_campaigns, of_others = _turns_and_cells(keys), _numbers(keys)
    flags: Counter[tuple[int, int | None]] = Counter()
    for pk, assignee, is_secret, count in _open_flags(keys):
        if not is_secret or sees_secrets(pk):
            flags[pk, assignee] += count
    return OpenWork(
        turns={pk: turns for pk, turns, _ in of_campaigns},
        left_out={pk: cells for pk, _, cells in of_campaigns},
        conflicts=Counter(collection for collection, _ in conflict_topics(user, edited)),
        flags=flags,
        submitted={pk: runs for pk, runs, *_ in of_others},
        late={pk: files for pk, _, files, *_ in of_others},
        paused={pk: jobs for pk, _, _, jobs, *_ in of_others},
        disabled={pk: webhooks for pk, *_, webhooks, _ in of_others},
        rated={pk: campaigns for pk, *_, campaigns in of_others},
    )


@compiled_once
def _open_flags(collections: Keys) -> QuerySet[Flag, tuple[int, int | None, bool | None, int]]:
    """Count by collection, assignee and whether the item is secret, which is None without one."""
    with everything():
        flags: QuerySet[Flag] = Flag.objects.open().filter(bank__collection__in=collections).order_by()
    return flags.values_list("bank__collection", "assignee", "revision__is_secret").annotate(Count("pk"))


@compiled_once
def _numbers(collections: Keys) -> QuerySet[Collection, Any]:
    """Count by collection what waits for organizers, in the order of `OpenWork`."""
    submitted = Turn.objects.filter(campaign=OuterRef("pk"), state=State.SUBMITTED)
    has_all = Exists(submitted) & ~with_open_turns()
    late = Submission.objects.filter(outcome=Submission.Outcome.LATE)
    return (
        Collection.objects.filter(pk__in=collections)
        .order_by()
        .values_list(
            "pk",
            number_of(Run.objects.filter(state=Run.State.SUBMITTED, is_made_here=False)),
            number_of(late, "call__collection"),
            number_of(GradingJob.objects.filter(state=GradingJob.State.PAUSED)),
            number_of(Endpoint.objects.filter(state=Endpoint.State.DISABLED)),
            number_of(Campaign.objects.filter(has_all, closed_at=None, is_standing=False)),
        )
    )


@compiled_once
def _turns_and_cells(collections: Keys) -> QuerySet[CampaignCell, tuple[int, int, int]]:
    """Count by collection the turns that are not taken, and the cells, those of several campaigns once."""
    cells = CampaignCell.objects.filter(campaign__collection__in=collections, campaign__closed_at=None)
    place = Concat(Cast("revision", CharField()), Value(" "), Cast("passage", CharField()))
    is_open = Q(turns__state__in=(State.PENDING, State.LEASED))
    counted = (
        cells.order_by()
        .values("campaign__collection")
        .annotate(n_turns=Count("turns", filter=is_open), n_cells=Count(place, distinct=True))
    )
    return counted.values_list("campaign__collection", "n_turns", "n_cells")


def conflict_topics(user: User | None, collections: Sequence[Collection]) -> Iterator[tuple[int, int]]:
    """Yield the collection and topic of each cell that `adjudication.conflicts` counts.

    Assessors rate it differently, nobody decided, and `user` has not still to rate it.
    """
    keys = tuple(collection.pk for collection in collections)
    for collection, topic, revision, passage, *_ in _conflicting(keys):
        if (revision, passage) not in visibility.without_ratings(collection)[topic].ratings:
            yield collection, topic


@compiled_once
def _conflicting(collections: Keys) -> QuerySet[HumanGrade, Any]:
    """Return collection, topic, revision and passage of each cell in conflict, whoever reads."""
    place = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
    decided = Decision.objects.filter(**place, withdrawn_at=None)
    latest: QuerySet[HumanGrade] = HumanGrade.objects.exclude(how=HumanGrade.How.ADJUDICATED).standing()
    cells = latest.filter(topic__collection__in=collections).exclude(rating=None).order_by()
    by_cell = cells.values_list("topic__collection", "topic", "revision", "passage")
    rule = ConflictQuery()
    apart = Q(high__gt=F("low") + rule.distance)
    across = Q(low__lt=rule.min_grade, high__gte=rule.min_grade)
    spans = by_cell.annotate(low=Min("rating"), high=Max("rating")).filter(apart | across)
    return spans.filter(~Exists(decided))


def turns_to_rate(person: int, collections: Iterable[int]) -> QuerySet[Turn]:
    """Return the turns of open campaigns that the person has or may take; of a cell, perhaps several."""
    named = Campaign.assignees.through.objects.filter(campaign=OuterRef("campaign"))
    is_open_to = ~Exists(named) | Exists(named.filter(user=person))
    had = Turn.objects.filter(cell=OuterRef("cell"), person=person)
    free = (NEW | LAPSED) & Q(campaign__is_standing=False) & ~Exists(had) & is_open_to
    mine = Q(person=person, state__in=(State.PENDING, State.LEASED))
    turns = Turn.objects.filter(mine | free, campaign__closed_at=None, cell__revision__is_secret=False)
    return turns.filter(campaign__collection__in=list(collections))


def _cells(user: User, collections: Sequence[Collection]) -> Iterator[WaitingTask]:
    """Yield the cells that the person may still rate, by campaign, the oldest campaign first."""
    rows = _cells_to_rate(user.pk, tuple(collection.pk for collection in collections))
    counts = {campaign: (cells, passages) for campaign, cells, passages in rows}
    if not counts:
        return
    own = pace(_times(user.pk))
    for campaign in _campaigns(tuple(counts)):
        cells, passages = counts[campaign.pk]
        yield WaitingTask(
            cells,
            _plural(cells, "pair", "to rate in"),
            campaign.collection,
            campaign.get_absolute_url(),
            "Rate",
            WaitingKind.RATE,
            campaign,
            passages,
            None if own is None else max(LEAST_SECONDS, own),
        )


@compiled_once
def _times(person: int) -> QuerySet[Turn, datetime | None]:
    """Return when the person rated last, the latest first."""
    done = Turn.objects.filter(person=person, state__in=Turn.DONE).exclude(done_at=None)
    return done.order_by("-done_at").values_list("done_at", flat=True)[: PACE_OF + 1]


@compiled_once
def _campaigns(pks: Keys) -> QuerySet[Campaign, Campaign]:
    return Campaign.objects.filter(pk__in=pks).select_related("collection").order_by("pk")


@compiled_once
def _cells_to_rate(person: int, collections: Keys) -> QuerySet[Turn, tuple[int, int, int]]:
    """Return campaign, cells and passages of the turns of `turns_to_rate`."""
    place = Concat(Cast("cell__topic", CharField()), Value(" "), Cast("cell__passage", CharField()))
    turns = turns_to_rate(person, collections).order_by().values_list("campaign")
    return turns.annotate(cells=Count("cell", distinct=True), passages=Count(place, distinct=True))


def _flags(
    user: User, work: OpenWork, by_pk: Mapping[int, Collection], holding: Any
) -> Iterator[WaitingTask]:
    """Yield flags assigned to the person, and for topic developers those assigned to nobody."""
    edited, commented = holding(roles.TO_RESOLVE), holding(roles.TO_COMMENT)
    answering = {user.pk: commented, None: edited}
    counts: Counter[int] = Counter()
    for (pk, assignee), count in work.flags.items():
        if by_pk[pk] in answering.get(assignee, ()):
            counts[pk] += count
    for pk, count in counts.items():
        who = "" if by_pk[pk] in edited else "?who=assigned"
        address = reverse("review:flags", args=[by_pk[pk].slug]) + who
        yield WaitingTask(
            count, _plural(count, "flag", "to answer"), by_pk[pk], address, "Answer", WaitingKind.ANSWER
        )


def _conflicts(work: OpenWork, collections: Iterable[Collection]) -> Iterator[WaitingTask]:
    for collection in collections:
        if count := work.conflicts.get(collection.pk, 0):
            address = reverse("campaigns:decide", args=[collection.slug])
            what = _plural(count, "conflict", "between assessors")
            yield WaitingTask(count, what, collection, address, "Decide", WaitingKind.DECIDE)


def _drafts(by_pk: Mapping[int, Collection], collections: Iterable[Collection]) -> Iterator[WaitingTask]:
    """Yield drafts to accept or reject; the button leads to the topic that has most."""
    topics: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for pk, bank, topic, count in _waiting_drafts(tuple(collection.pk for collection in collections)):
        topics[pk].append((count, bank, topic))
    for pk, rows in topics.items():
        _, bank, topic = max(rows)
        count = sum(row[0] for row in rows)
        address = reverse("editor:drafts", args=[bank, topic])
        yield WaitingTask(count, _plural(count, "draft", "to accept or reject"), by_pk[pk], address, "Review")


@compiled_once
def _waiting_drafts(collections: Keys) -> QuerySet[Draft, tuple[int, int, int, int]]:
    """Count by collection, rubric and topic; no draft that waits is an item, which might be secret."""
    with everything():
        waiting: QuerySet[Draft] = Draft.objects.filter(state=Draft.State.WAITING)
    drafts = waiting.filter(request__bank__collection__in=collections)
    names = ("request__bank__collection", "request__bank", "request__topic")
    return drafts.order_by().values_list(*names).annotate(Count("pk"))


def _paused_jobs(work: OpenWork, collections: Iterable[Collection]) -> Iterator[WaitingTask]:
    for collection in collections:
        if count := work.paused.get(collection.pk, 0):
            address = reverse("grades:jobs", args=[collection.slug])
            yield WaitingTask(count, _plural(count, "paused job", ""), collection, address, "View")


def _teams_files(work: OpenWork, collections: Iterable[Collection]) -> Iterator[WaitingTask]:
    """Yield runs and late files that an organizer decides about."""
    for collection in collections:
        if count := work.submitted.get(collection.pk, 0):
            address = reverse("submissions:desk", args=[collection.slug])
            yield WaitingTask(count, _plural(count, "run", "to accept"), collection, address, "Decide")
        if count := work.late.get(collection.pk, 0):
            address = reverse("submissions:desk", args=[collection.slug])
            yield WaitingTask(
                count, _plural(count, "late file", "to decide on"), collection, address, "Decide"
            )


def _webhooks(work: OpenWork, collections: Iterable[Collection]) -> Iterator[WaitingTask]:
    """Yield webhooks that failed until they were turned off."""
    for collection in collections:
        if count := work.disabled.get(collection.pk, 0):
            address = reverse("webhooks:webhooks", args=[collection.slug])
            yield WaitingTask(
                count, _plural(count, "webhook", "turned off after failures"), collection, address, "View"
            )


def _rated_campaigns(work: OpenWork, collections: Iterable[Collection]) -> Iterator[WaitingTask]:
    for collection in collections:
        if count := work.rated.get(collection.pk, 0):
            address = reverse("campaigns:campaigns", args=[collection.slug])
            yield WaitingTask(
                count, _plural(count, "rated campaign", "to close"), collection, address, "Close"
            )


def _plural(count: int, noun: str, rest: str) -> str:
    return f"{noun}{'' if count == 1 else 's'} {rest}".strip()
