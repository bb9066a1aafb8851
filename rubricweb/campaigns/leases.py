"""Hand out turns: each is leased once, kept by the open page, and free again when its lease expires.

Both databases use the same code: select a candidate (on PostgreSQL skipping rows that others lock), then take
it by a conditional UPDATE, so that of two who try only one succeeds.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Now

from rubricweb.accounts.models import User
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn
from rubricweb.campaigns.ratable import UNREADABLE, has_absent_runs, left_out_turns
from rubricweb.core.compiled import compiled_once
from rubricweb.core.models import is_duplicate
from rubricweb.grades.human_models import HumanGrade

LEASE = timedelta(minutes=5)
HELD = 8
"""How many cells a page keeps, so that work goes on without a connection."""
LEAST_HELD = 2
"""The cell on the screen and the one after it."""
MOST_HELD = 32
"""A passage with more items is leased in parts."""
COUNTED = 1_000
"""More turns are not counted to bound what one person holds."""
TRIES = 8
COMMENTED = "commented on, and not rated"
"""The reason of a turn that was given up after a comment."""
P = ParamSpec("P")
Result = TypeVar("Result")

State, Mode = Turn.State, Turn.Mode
_WAITING = Q(state=State.PENDING)
NEW = Q(_WAITING, person=None)
"""Free turns, whatever happened to them before."""
_IS_UNREADABLE = Exists(CampaignCell.objects.filter(UNREADABLE, pk=OuterRef("cell")))
"""The cell is not joined, so that only turns are locked."""
LAPSED = Q(state=State.LEASED, lease_until__lte=Now(), assigned_by=None)
"""Turns whose lease expired, also in this very millisecond: SQLite has no finer clock."""


def retried(change: Callable[P, Result]) -> Callable[P, Result]:
    """Retry a transaction if another window of the same person took the same cell at the same time."""

    @wraps(change)
    def tried(*args: P.args, **kwargs: P.kwargs) -> Result:
        for _ in range(TRIES - 1):
            try:
                return change(*args, **kwargs)
            except IntegrityError as error:
                if not is_duplicate(error, Turn):
                    raise
        return change(*args, **kwargs)

    return tried


def top_up(campaign: Campaign, person: User, *, count: int = HELD) -> None:
    """Renew the person's open turns, and lease new ones as `take_missing` does."""
    renew(campaign, person)
    take_missing(campaign, person, count=count)


def take_missing(campaign: Campaign, person: User, *, count: int = HELD) -> None:
    """Lease turns until the person holds `count`, or their `allowance`, or none is left.

    Where the campaign goes by passage, the other cells of a passage come with its first one, even beyond
    `count`. Call it after the transaction of a rating: the topic's other raters wait for that one's end.
    """
    if campaign.is_open and not (campaign.is_by_passage and _holds(campaign, person) >= count):
        _take_up_to(count, campaign, person)


@retried
@transaction.atomic
def _take_up_to(count: int, campaign: Campaign, person: User) -> None:
    holds = 0
    while holds < count and (turn := _candidate(campaign, person)):
        most = allowance(turn.left, turn.others)
        holds = turn.holds
        if holds >= min(count, most):
            break
        if _lease(turn, campaign, person):
            holds += 1
            if campaign.is_by_passage:
                holds += _lease_rest(turn, campaign, person, most=most - holds)


def allowance(left: int, others: int) -> int:
    """Return how many turns one person may hold; `left` turns wait or are held, and `others` hold some.

    An equal share of what is left, as if one more person came, so that nobody holds the end of a campaign:

    >>> [allowance(left, 3) for left in (1_000, 60, 20, 4)]
    [32, 12, 4, 2]
    """
    return min(MOST_HELD, max(LEAST_HELD, left // (others + 2)))


def may_take(campaign: Campaign, person: User) -> bool:
    """Return whether `top_up` would find a turn to lease."""
    own, free = _theirs(campaign.pk, person.pk), _takeable(campaign.pk, person.pk, NEW | LAPSED)
    away = left_out_turns(campaign)
    return campaign.is_open and (own.exclude(away).exists() or free.exclude(away).exists())


def renew(campaign: Campaign, person: User) -> int:
    """Renew the person's leases, also expired ones that nobody else took."""
    held = campaign.turns.filter(person=person, state=State.LEASED)
    return held.update(lease_until=Now() + LEASE)


def hand_back(campaign: Campaign, person: User) -> int:
    """Give up the turns that the person holds and did not rate.

    Cells that were assigned to them, or that they commented on, stay theirs until somebody else takes them.
    """
    held = campaign.turns.filter(person=person, state=State.LEASED)
    free = {"state": State.PENDING, "lease_until": None, "taken_at": None}
    assigned = held.exclude(assigned_by=None).update(**free)
    others = held.filter(assigned_by=None)
    commented = others.exclude(comment="").update(lease_until=Now())
    return assigned + commented + others.filter(comment="").update(person=None, mode="", **free)


def drawn_mode(campaign: Campaign, cell: CampaignCell, person: User) -> Turn.Mode:
    """Return the campaign's mode; if it mixes modes, a random one fixed for this cell and person."""
    if campaign.mode != Campaign.Mode.MIXED:
        return Mode(campaign.mode)
    lot = hashlib.sha256(f"{campaign.seed}:{cell.pk}:{person.pk}".encode()).digest()
    return Mode.BLIND if lot[0] < 128 else Mode.ASSISTED


def fresh(
    campaign: Campaign, cell: CampaignCell, person: User, *, was_rated: bool = True
) -> dict[str, object]:
    """Return the fields of a turn that the person begins.

    A person who rated the cell before, and withdrew that, has seen the grader's rating: a blind rating of
    theirs stays the first one, otherwise the turn is not blind. `was_rated` is False if the person is known
    never to have rated the cell.
    """
    mode, first = drawn_mode(campaign, cell, person), None
    events = HumanGrade.objects.filter(by=person, revision=cell.revision_id, passage=cell.passage_id)
    before = events.exclude(rating=None).order_by("number").first() if was_rated else None
    if before is not None and mode == Mode.BLIND:
        is_blind = before.how == HumanGrade.How.BLIND
        mode, first = (mode, before.rating) if is_blind else (Mode.ASSISTED, None)
    return _begun(person, mode, first)


def _begun(person: User, mode: Turn.Mode, first: int | None = None) -> dict[str, object]:
    return {
        "person": person,
        "mode": mode,
        "rating": first,
        "comment": "",
        "reason": "",
        "can_undo": False,
        "uid": None,
    }


def free_turn(cell: CampaignCell) -> Turn | None:
    """Return a turn of the cell that is free, or whose lease expired without a comment."""
    free = NEW | LAPSED & Q(comment="")
    return cell.turns.select_for_update().filter(free).order_by("pk").first()


class NextTurn(NamedTuple):
    """A turn that the person could take."""

    pk: int
    order: int
    person_id: int | None
    """Who had it before."""
    mode: str
    taken_at: datetime | None
    comment: str
    cell_id: int
    topic_id: int
    revision_id: int
    passage_id: int
    was_rated: bool
    """Whether the person ever rated the cell."""
    holds: int
    """How many turns the person holds."""
    left: int
    """Turns of the campaign that wait or are held; counted up to COUNTED."""
    others: int
    """How many other people hold turns."""
    has_absent_runs: bool
    """Some runs of the collection are not accepted, so that passages of the campaign may not count."""

    @property
    def cell(self) -> CampaignCell:
        return CampaignCell(pk=self.cell_id, revision_id=self.revision_id, passage_id=self.passage_id)


def _holds(campaign: Campaign, person: User) -> int:
    """Return how many turns the person surely holds, by a query far cheaper than `_candidate`.

    A passage's turns come at once, so most ratings need no further one.
    """
    return sum(_surely_held(campaign.pk, person.pk))


@compiled_once
def _surely_held(campaign: int, person: int) -> QuerySet[Turn, Any]:
    held = Turn.objects.filter(~_IS_UNREADABLE, campaign=campaign, person=person, state=State.LEASED)
    held = held.exclude(has_absent_runs("campaign__collection")).order_by()
    return held.values("campaign").annotate(turns=Count("*")).values_list("turns", flat=True)


def _candidate(campaign: Campaign, person: User) -> NextTurn | None:
    """Return the next turn that the person could take: assigned to them, expired, or new.

    Cells that they rated elsewhere come last; without them nobody might finish the campaign.
    """
    key = (campaign.pk, person.pk)
    rows = _first_of((_theirs(*key), *_others(*key)), *key)
    if rows and NextTurn(*rows[0]).has_absent_runs:
        away = left_out_turns(campaign)
        rows = _first_of([turns.exclude(away) for turns in _unrated_first(*key)], *key, away=away)
    elif rows and NextTurn(*rows[0]).was_rated:
        rows = _first_of(_unrated_first(campaign.pk, person.pk), campaign.pk, person.pk)
    return NextTurn(*rows[0]) if rows else None


def _unrated_first(campaign: int, person: int) -> list[QuerySet[Turn]]:
    others = _others(campaign, person)
    unrated = [turns.filter(_unrated_by(person)) for turns in others]
    return [_theirs(campaign, person), *unrated, *others]


def _theirs(campaign: int, person: int) -> QuerySet[Turn]:
    return Turn.objects.filter(_WAITING, ~_IS_UNREADABLE, campaign=campaign, person=person)


def _others(campaign: int, person: int) -> list[QuerySet[Turn]]:
    return [_takeable(campaign, person, free) for free in (LAPSED, NEW)]


def _first_of(
    kinds: Iterable[QuerySet[Turn]], campaign: int, person: int, *, away: Exists = _IS_UNREADABLE
) -> QuerySet[Turn, Any]:
    """Return the `NextTurn` of the first of these kinds that has one; those `away` count as not held.

    One query: the database stops at the first kind with a turn, and an index finds it at its first row.
    """
    cell = {"revision": OuterRef("cell__revision"), "passage": OuterRef("cell__passage")}
    held = Turn.objects.filter(~_IS_UNREADABLE, ~away, campaign=campaign, person=person, state=State.LEASED)
    holds = held.order_by().values("campaign").annotate(turns=Count("*")).values("turns")
    leased = Turn.objects.filter(campaign=campaign, state=State.LEASED, lease_until__gt=Now())
    others = leased.exclude(person=person).order_by().values("campaign")
    return Turn.objects.filter(pk=Coalesce(*map(_first, kinds))).values_list(
        "pk",
        "order",
        "person",
        "mode",
        "taken_at",
        "comment",
        "cell",
        "cell__topic",
        "cell__revision",
        "cell__passage",
        Exists(HumanGrade.objects.filter(by=person, **cell)),
        Coalesce(Subquery(holds), 0),
        Coalesce(Subquery(_left(campaign)), 0),
        Coalesce(Subquery(others.annotate(people=Count("person", distinct=True)).values("people")), 0),
        has_absent_runs("campaign__collection"),
    )


def _left(campaign: int) -> QuerySet[Turn, Any]:
    """Count the campaign's turns that are not done, up to COUNTED of them."""
    waiting = Turn.objects.filter(campaign=campaign, state__in=(State.PENDING, State.LEASED))
    first = Turn.objects.filter(pk__in=waiting.order_by().values("pk")[:COUNTED])
    return first.order_by().values("campaign").annotate(turns=Count("*")).values("turns")


def _takeable(campaign: int, person: int, free: Q) -> QuerySet[Turn]:
    """Return the free turns of cells in which the person has no turn."""
    had = Turn.objects.filter(cell=OuterRef("cell"), person=person)
    return Turn.objects.filter(free, ~Exists(had), ~_IS_UNREADABLE, campaign=campaign)


def _unrated_by(person: int) -> Coalesce:
    """Return whether the person never rated the turn's cell, or withdrew the rating.

    The cell is not joined, so that only turns are locked.
    """
    place = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
    withdrawn = HumanGrade.objects.filter(by=person, **place).order_by("-number").values("is_withdrawn")
    cell = CampaignCell.objects.filter(pk=OuterRef("cell")).order_by()
    return Coalesce(Subquery(cell.values_list(Subquery(withdrawn[:1]))), Value(True))


def _first(turns: QuerySet[Turn]) -> Subquery:
    """Return the first turn that nobody else is taking at this moment. SQLite has one writer anyway."""
    return Subquery(turns.select_for_update(skip_locked=True).order_by("order", "pk").values("pk")[:1])


def _lease(turn: NextTurn, campaign: Campaign, person: User) -> bool:
    """Return False if somebody else was quicker."""
    free = Turn.objects.filter(NEW | LAPSED | Q(_WAITING, person=person), pk=turn.pk)
    times = {"taken_at": Now(), "lease_until": Now() + LEASE, "done_at": None}
    begun = fresh(campaign, turn.cell, person, was_rated=turn.was_rated)
    if not free.update(state=State.LEASED, **begun, **times):
        return False
    if turn.comment and turn.person_id not in {None, person.pk}:
        # Whoever let the turn lapse keeps the comment as a skipped turn, and may still rate.
        comment = {"comment": turn.comment, "reason": COMMENTED, "mode": turn.mode, "taken_at": turn.taken_at}
        given_up = {"cell_id": turn.cell_id, "order": turn.order, "person_id": turn.person_id}
        Turn.objects.create(campaign=campaign, state=State.SKIPPED, done_at=Now(), **given_up, **comment)
    return True


def _lease_rest(turn: NextTurn, campaign: Campaign, person: User, *, most: int) -> int:
    """Lease further turns of the passage of `turn` and return how many; `most` bounds it.

    Only turns that anybody could take, of cells that the person never rated: others come as any next turn.
    """
    by_mode: dict[Turn.Mode, list[int]] = defaultdict(list)
    rated = HumanGrade.objects.filter(by=person, revision=OuterRef("revision"), passage=OuterRef("passage"))
    cells = campaign.cells.filter(~Exists(rated), topic=turn.topic_id, passage=turn.passage_id).order_by()
    unrated = list(cells.values_list("pk", flat=True))
    # In one query, PostgreSQL looked for them under each free turn where it had not counted the rows yet.
    free = _takeable(campaign.pk, person.pk, NEW | LAPSED & Q(comment="")).filter(cell__in=unrated)
    free = free.select_for_update(skip_locked=True).order_by("order", "pk")
    first: dict[int, int] = {}
    for pk, cell in free.values_list("pk", "cell_id"):
        first.setdefault(cell, pk)
    for pk, cell in [(pk, cell) for cell, pk in first.items()][: max(most, 0)]:
        by_mode[drawn_mode(campaign, CampaignCell(pk=cell), person)].append(pk)
    times = {"taken_at": Now(), "lease_until": Now() + LEASE, "done_at": None}
    leased = 0
    for mode, pks in by_mode.items():
        begun = _begun(person, mode) | times
        leased += Turn.objects.filter(NEW | LAPSED, pk__in=pks).update(state=State.LEASED, **begun)
    return leased
