"""Whose turn a cell is: handed out once, kept alive by the open page, free again when its lease runs out.

One code path for both databases: a candidate is looked for (on PostgreSQL past the rows that others are
taking), then taken by a conditional UPDATE, so that of two who try only one succeeds.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Now

from rubricweb.accounts.models import User
from rubricweb.grades.models import HumanGrade
from rubricweb.review.queue.models import Campaign, CampaignCell, Turn

LEASE = timedelta(minutes=5)
HELD = 2
"""The cell that is worked on, and the one that is fetched ahead."""
TRIES = 8

State, Mode = Turn.State, Turn.Mode
_WAITING = Q(state=State.PENDING)
NEW = Q(_WAITING, person=None)
"""Nobody has it, whatever became of it before."""
LAPSED = Q(state=State.LEASED, lease_until__lt=Now(), assigned_by=None)
"""Somebody let it lapse."""


def take(campaign: Campaign, person: User, *, count: int = HELD) -> list[Turn]:
    """The person's open turns, renewed, and new ones until there are `count` or none is to be had."""
    top_up(campaign, person, count=count)
    return list(campaign.turns.filter(person=person, state=State.LEASED).order_by("taken_at", "pk"))


def top_up(campaign: Campaign, person: User, *, count: int = HELD) -> None:
    """Renew the person's open turns, and lease new ones until there are `count` or none is to be had."""
    missing = count - renew(campaign, person)
    for _ in range(missing if campaign.is_open else 0):
        if not _take_one(campaign, person):
            break


def renew(campaign: Campaign, person: User) -> int:
    """Keep what the person has for another while, also where the lease ran out and nobody else came."""
    held = campaign.turns.filter(person=person, state=State.LEASED)
    return held.update(lease_until=Now() + LEASE)


def hand_back(campaign: Campaign, person: User) -> int:
    """Give up what the person has and did not rate; what was assigned to them stays theirs."""
    held = campaign.turns.filter(person=person, state=State.LEASED)
    free = {"state": State.PENDING, "lease_until": None, "taken_at": None}
    assigned = held.exclude(assigned_by=None).update(**free)
    return assigned + held.filter(assigned_by=None).update(person=None, mode="", comment="", **free)


def drawn_mode(campaign: Campaign, cell: CampaignCell, person: User) -> Turn.Mode:
    """Blind or assisted: the campaign's mode, or by lot, which falls the same way whenever it is drawn."""
    if campaign.mode != Campaign.Mode.MIXED:
        return Mode(campaign.mode)
    lot = hashlib.sha256(f"{campaign.seed}:{cell.pk}:{person.pk}".encode()).digest()
    return Mode.BLIND if lot[0] < 128 else Mode.ASSISTED


def fresh(
    campaign: Campaign, cell: CampaignCell, person: User, *, was_rated: bool = True
) -> dict[str, object]:
    """The fields of a turn that the person begins.

    Who rated the cell before, and took that back, has seen what the grader says of it: a blind rating that
    they gave then stays their first one, and after another rating the turn is not blind. `was_rated` is False
    where the person is known never to have rated the cell.
    """
    mode, first = drawn_mode(campaign, cell, person), None
    said = HumanGrade.objects.filter(by=person, revision=cell.revision_id, passage=cell.passage_id)
    before = said.exclude(rating=None).order_by("number").first() if was_rated else None
    if before is not None and mode == Mode.BLIND:
        is_blind = before.how == HumanGrade.How.BLIND
        mode, first = (mode, before.rating) if is_blind else (Mode.ASSISTED, None)
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
    """A turn of the cell that nobody has, or that was let lapse."""
    return cell.turns.select_for_update().filter(NEW | LAPSED).order_by("pk").first()


def _take_one(campaign: Campaign, person: User) -> bool:
    """False where nothing is to be had."""
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                turn = _candidate(campaign, person)
                if turn is None or _lease(turn, campaign, person):
                    return turn is not None
        except IntegrityError:  # another window of the same person took the same cell
            continue
    return False


def _candidate(campaign: Campaign, person: User) -> Turn | None:
    """The next turn that the person could take: assigned to them, let lapse by others, or new.

    At the end come cells that they rated elsewhere, or nobody might finish the campaign.

    One query: the database stops at the first kind that has a turn, and an index finds it at its first row.
    """
    theirs = campaign.turns.filter(_WAITING, person=person)
    others = [_takeable(campaign, person, free) for free in (LAPSED, NEW)]
    unrated = [turns.filter(_unrated_by(person)) for turns in others]
    turns = Turn.objects.filter(pk=Coalesce(*map(_first, (theirs, *unrated, *others))))
    said = _of_cell(_said(person).values_list(Value(True)))
    return turns.select_related("cell").annotate(was_rated=Coalesce(said, Value(False))).first()


def _takeable(campaign: Campaign, person: User, free: Q) -> QuerySet[Turn]:
    """Free turns of cells of which the person has no turn."""
    had = Turn.objects.filter(cell=OuterRef("cell"), person=person)
    return campaign.turns.filter(free, ~Exists(had))


def _unrated_by(person: User) -> Coalesce:
    """Of a turn: the person said nothing of its cell anywhere, or took it back."""
    said = _said(person).order_by("-number").values_list("is_withdrawn")
    return Coalesce(_of_cell(said), Value(True))


def _said(person: User) -> QuerySet[HumanGrade]:
    """What the person said of the cell of the query around it."""
    cell = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
    return HumanGrade.objects.filter(by=person, **cell)


def _of_cell(said: QuerySet[HumanGrade, Any]) -> Subquery:
    """The first value of `said` of a turn's cell; without a join, so that only turns are locked."""
    cell = CampaignCell.objects.filter(pk=OuterRef("cell")).order_by()
    return Subquery(cell.values_list(Subquery(said[:1])))


def _first(turns: QuerySet[Turn]) -> Subquery:
    """The first of them that nobody else is taking just now. SQLite has one writer anyway."""
    return Subquery(turns.select_for_update(skip_locked=True).order_by("order", "pk").values("pk")[:1])


def _lease(turn: Any, campaign: Campaign, person: User) -> bool:
    """False where somebody else was quicker."""
    free = Turn.objects.filter(NEW | LAPSED | Q(_WAITING, person=person), pk=turn.pk)
    times = {"taken_at": Now(), "lease_until": Now() + LEASE, "done_at": None}
    begun = fresh(campaign, turn.cell, person, was_rated=turn.was_rated)
    return bool(free.update(state=State.LEASED, **begun, **times))
