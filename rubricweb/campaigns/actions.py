"""Every change to a campaign and its turns. Ratings themselves are saved by `grades.human_ratings`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from secrets import randbelow
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from grading.types import USUAL_MIN_GRADE, ItemKind
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.campaigns.leases import LEASE, free_turn, fresh, retried
from rubricweb.campaigns.models import SAMPLES, Campaign, CampaignCell, Turn
from rubricweb.campaigns.population import CellChoice, ChosenCell, ChosenCells, chosen
from rubricweb.core import audit, events
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.grades import human_ratings
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import KINDS, raters

How, State = HumanGrade.How, Turn.State

MOST_TURNS = 100_000
BATCH = 2_000
ASSIGNED = "Assigned to you."
SEEDS = 2**31


class QueueError(Exception):
    """Root of the queue's refusals."""


class UnfitCampaign(QueueError):
    """A choice that leaves nothing to rate, or too much."""


class NothingToUndo(QueueError):
    """This person did nothing in this campaign that could be undone."""


class NotYours(QueueError):
    """The cell was handed to somebody else, or to nobody."""


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """How a campaign is worked on."""

    name: str
    mode: Campaign.Mode = Campaign.Mode.BLIND
    assessors: int = 1
    assignees: tuple[User, ...] = ()
    """Who may take turns; empty for every assessor."""


@transaction.atomic
def open_campaign(
    choice: CellChoice, plan: CampaignPlan, *, by: User | None, seed: int | None = None
) -> Campaign:
    """Freeze the chosen cells in order, each with one turn per independent assessor."""
    seed = randbelow(SEEDS) if seed is None else seed
    choice = replace(choice, rater=choice.rater.saved())
    drawn = chosen(choice, seed=seed)
    if not drawn.cells:
        raise UnfitCampaign("No pair matches: choose other topics, kinds or pairs.")
    if len(drawn.cells) * plan.assessors > MOST_TURNS:
        raise UnfitCampaign(
            f"This selects {len(drawn.cells):,} pairs; {plan.assessors} assessors each are more than "
            f"{MOST_TURNS:,} ratings. Choose a sample."
        )
    if choice.bank.collection.campaigns.filter(name=plan.name).exists():
        raise UnfitCampaign(f"A campaign has the name \u201c{plan.name}\u201d already.")
    campaign = _campaign(choice, plan, by, seed=seed, drawn=drawn)
    campaign.assignees.set(plan.assignees)
    cells = _frozen(campaign, drawn.cells)
    Turn.objects.bulk_create(
        (
            Turn(campaign=campaign, cell=cell, order=cell.order)
            for cell in cells
            for _ in range(plan.assessors)
        ),
        batch_size=BATCH,
    )
    detail = ", ".join(filter(None, (counted(len(cells), "pair"), plan.mode, choice.drawn_by)))
    audit.record("campaign opened", campaign, by=by, detail=detail)
    _publish(campaign)
    return campaign


def _campaign(
    choice: CellChoice, plan: CampaignPlan, by: User | None, *, seed: int, drawn: ChosenCells
) -> Campaign:
    is_random = choice.order == Campaign.Order.RANDOM or choice.cells in SAMPLES
    return Campaign.objects.create(
        collection=choice.bank.collection,
        bank=choice.bank,
        name=plan.name,
        kinds=sorted(str(kind) for kind in choice.kinds),
        cells_taken=choice.cells,
        min_grade=choice.min_grade,
        cutoff=choice.cutoff,
        mode=plan.mode,
        order=Campaign.Order.RANDOM if is_random else choice.order,
        random_share=1.0 if is_random else choice.random_share,
        passage_order=choice.passage_order,
        assessors=plan.assessors,
        seed=seed,
        population=drawn.population,
        draw=_draw(choice, drawn),
        grader=f"{choice.rater.name} ({choice.rater.prompt_classes})"[:200],
        by=by,
    )


def _frozen(campaign: Campaign, cells: Sequence[ChosenCell], *, first: int = 1) -> list[CampaignCell]:
    return CampaignCell.objects.bulk_create(
        (
            CampaignCell(
                campaign=campaign,
                topic_id=cell.topic,
                item_id=cell.item,
                revision_id=cell.revision,
                passage_id=cell.passage,
                order=order,
                reason=cell.reason,
                is_random=cell.is_random,
                draw_probability=cell.probability,
                config_id=cell.config,
            )
            for order, cell in enumerate(cells, first)
        ),
        batch_size=BATCH,
    )


def _draw(choice: CellChoice, drawn: ChosenCells) -> Draw | None:
    """Create the sampling design that estimates rely on; None without cells drawn from all of their items."""
    if choice.design is None or not any(cell.is_random for cell in drawn.cells):
        return None
    is_cover = choice.design == Draw.Design.COVER
    draw = Draw.objects.create(
        collection=choice.bank.collection,
        design=choice.design,
        cutoff=choice.cutoff if choice.cells in SAMPLES else None,
        min_grade=choice.min_grade if is_cover else None,
        revisions=list(drawn.revisions),
        passages=list(drawn.passages),
    )
    if is_cover:
        draw.configs.set(choice.rater.configs)
    return draw


@transaction.atomic
def close_campaign(campaign: Campaign, *, by: User) -> Campaign:
    """Hand out no more cells; people may still hand in those they have."""
    return _set_closed(campaign, Now(), "campaign closed", by)


@transaction.atomic
def reopen_campaign(campaign: Campaign, *, by: User) -> Campaign:
    return _set_closed(campaign, None, "campaign opened again", by)


def _set_closed(campaign: Campaign, when: Now | None, verb: str, by: User) -> Campaign:
    Campaign.objects.filter(pk=campaign.pk).update(closed_at=when)
    campaign.refresh_from_db()
    audit.record(verb, campaign, by=by)
    _publish(campaign)
    return campaign


@transaction.atomic
def assign_cells(bank: Bank, cells: Iterable[human_ratings.Cell], *, to: User, by: User) -> int:
    """Put these cells into one person's queue, in this order, and return how many are new there.

    They go to the bank's standing campaign, where the grader's rating is shown. Raises UnfitCampaign if `to`
    may not rate here.
    """
    if not roles.holds(to, bank.collection, roles.TO_RATE):
        raise UnfitCampaign(f"{to} is not an assessor here.")
    fixed = {
        "collection": bank.collection,
        "name": f"Assigned pairs of {bank.name}"[:120],
        "kinds": [str(kind) for kind in KINDS],
        "mode": Campaign.Mode.ASSISTED,
        "order": Campaign.Order.RANDOM,
        "passage_order": Campaign.PassageOrder.CELL,
        "min_grade": USUAL_MIN_GRADE,
        "random_share": 0,
        "seed": randbelow(SEEDS),
        "population": 0,
        "by": by,
    }
    campaign = Campaign.objects.get_or_create(bank=bank, is_standing=True, defaults=fixed)[0]
    frozen = _joined(campaign, list(dict.fromkeys(cells)))
    assigned = set(campaign.turns.filter(person=to, cell__in=frozen).values_list("cell_id", flat=True))
    new = [cell for cell in frozen if cell.pk not in assigned]
    Turn.objects.bulk_create(
        (Turn(campaign=campaign, cell=cell, order=cell.order, person=to, assigned_by=by) for cell in new),
        batch_size=BATCH,
    )
    Campaign.objects.filter(pk=campaign.pk).update(closed_at=None)
    audit.record("cells assigned", campaign, by=by, detail=f"{len(new)} to {to.username}")
    _publish(campaign)
    return len(new)


def _joined(campaign: Campaign, cells: list[human_ratings.Cell]) -> list[CampaignCell]:
    """Return the campaign's rows of these cells, new ones at its end.

    Cells of items that are secret or not in the bank are left out.
    """
    by_place = {(cell.revision_id, cell.passage_id): cell for cell in cells}
    handed_out = {"revision__in": {cell.revision_id for cell in cells}, "revision__is_secret": False}
    frozen = {(row.revision_id, row.passage_id): row for row in campaign.cells.filter(**handed_out)}
    items = campaign.bank.items.active().filter(**handed_out)
    by_revision = {item.revision_id: item for item in items}
    rater = raters(campaign.bank)[0].saved()
    last = campaign.cells.aggregate(last=Max("order"))["last"] or 0
    new = []
    for place, cell in by_place.items():
        item = by_revision.get(cell.revision_id)
        if item is not None and place not in frozen:
            config = rater.rating_config(ItemKind(item.kind))
            ids = (cell.topic_id, item.pk, cell.revision_id, cell.passage_id)
            new.append(ChosenCell(*ids, ASSIGNED, probability=0.0, config=config.pk if config else None))
    for row in _frozen(campaign, new, first=last + 1):
        frozen[row.revision_id, row.passage_id] = row
    return [frozen[place] for place in by_place if place in frozen]


@retried
@transaction.atomic
def rate(cell: CampaignCell, *, rating: int, by: User, seen: int, uid: UUID, comment: str = "") -> Turn:
    """Hand in a rating.

    `seen` is the number of `by`'s latest event for the cell. A rating that comes
    after its lease ended, when somebody else has the cell, counts as an additional turn. Sent twice, it is
    saved once. Raises what `grades.human_ratings.rate_cell` raises.
    """
    turn, state = _own_turn(cell, by)
    is_blind = turn.is_blind and turn.rating is None
    displayed = None
    if not is_blind and cell.config is not None:
        displayed = human_ratings.ShownRating(cell.config, state.grader_rating)
    turn.event = human_ratings.rate_cell(
        cell.human_cell,
        rating=rating,
        by=by,
        seen=seen,
        how=How.BLIND if is_blind else How.ASSISTED,
        displayed=displayed,
        draw=cell.campaign.draw_id if cell.is_random else None,
        uid=uid,
    )
    if turn.event.number > state.last_number:
        if turn.state == State.SKIPPED:
            _undo_skip(turn)
        turn.rating = rating if turn.rating is None else turn.rating
        turn.comment = comment
        _hand_in(turn, State.SUBMITTED, uid)
    return turn


def comment(cell: CampaignCell, *, text: str, by: User) -> None:
    """Save the comment to the adjudicator on a cell that `by` holds; raises NotYours."""
    if not cell.turns.filter(person=by).update(comment=text):
        raise NotYours("You can comment only on pairs that are yours to rate now.")


@transaction.atomic
def skip(cell: CampaignCell, *, reason: str, by: User, uid: UUID) -> Turn:
    """Give the cell up, with a reason; somebody else may take it."""
    turn, _ = _own_turn(cell, by)
    if turn.uid == uid:
        return turn
    if turn.state != State.LEASED:
        raise NotYours("Only a pair that waits for your rating can be skipped.")
    turn.reason = reason
    _hand_in(turn, State.SKIPPED, uid)
    if cell.turns.exclude(state=State.SKIPPED).count() < cell.campaign.assessors and not turn.assigned_by_id:
        cell.turns.create(campaign=cell.campaign, order=cell.order)
    return turn


@transaction.atomic
def undo(campaign: Campaign, *, by: User, uid: UUID) -> Turn:
    """Undo `by`'s latest action in this campaign: a rating, a changed rating, or a skip."""
    mine = campaign.turns.select_related("cell__campaign__collection").filter(person=by)
    if (done := mine.filter(uid=uid).first()) is not None:
        return done
    turn = mine.filter(can_undo=True).order_by("-done_at", "-pk").first()
    if turn is None:
        raise NothingToUndo("Nothing to undo: you have not rated anything here.")
    is_open = _undo_skip(turn) if turn.state == State.SKIPPED else _withdraw_rating(turn, by, uid)
    turn.can_undo, turn.uid = False, uid
    if is_open:
        turn.state, turn.done_at, turn.lease_until = State.LEASED, None, Now() + LEASE
    turn.save()
    turn.refresh_from_db()
    return turn


def _withdraw_rating(turn: Turn, by: User, uid: UUID) -> bool:
    """Withdraw the rating; return whether the cell waits for one again."""
    cell = turn.cell.human_cell
    last = human_ratings.latest_by(by, cell)
    event = human_ratings.undo(cell, by=by, seen=last.number if last else 0, uid=uid)
    return event.is_withdrawn or event.how not in {How.BLIND, How.ASSISTED}


def _undo_skip(turn: Turn) -> bool:
    """Remove the turn that was made for somebody else, unless somebody has begun it."""
    others = turn.cell.turns.exclude(state=State.SKIPPED).exclude(pk=turn.pk)
    spare = others.filter(state=State.PENDING, person=None).order_by("-pk").first()
    if spare is not None and others.count() >= turn.cell.campaign.assessors:
        Turn.objects.filter(pk=spare.pk, state=State.PENDING, person=None).delete()
    turn.reason = ""
    return True


@transaction.atomic
def undo_in_grid(cell: human_ratings.Cell, *, by: User, seen: int, uid: UUID | None = None) -> HumanGrade:
    """Undo outside the queue; once `by` has no rating left, the queue offers the cell again.

    Raises what `grades.human_ratings.undo` raises.
    """
    event = human_ratings.undo(cell, by=by, seen=seen, uid=uid)
    if event.is_withdrawn and human_ratings.latest_by(by, cell) == event:
        place = {"cell__revision": cell.revision_id, "cell__passage": cell.passage_id}
        done = Turn.objects.filter(person=by, state=State.SUBMITTED, **place)
        free = {"state": State.PENDING, "can_undo": False, "done_at": None}
        done.exclude(assigned_by=None).update(**free)
        done.filter(assigned_by=None).update(person=None, **free)
    return event


class CellState(NamedTuple):
    """The state of a cell when a person comes to it."""

    last_number: int
    """The number of the person's latest event for it; 0 without one."""
    grader_rating: int | None


def _own_turn(cell: CampaignCell, person: User) -> tuple[Turn, CellState]:
    """Return the person's turn of the cell, else a free one; a new one if others hold them all."""
    place = (cell.revision_id, cell.passage_id, person.pk, cell.config_id or 0)
    for turn in _locked_turn(cell.pk, *place):
        return turn, CellState(turn.last_number, turn.grader_rating)
    turn = free_turn(cell) or Turn(campaign=cell.campaign, cell=cell, order=cell.order)
    begun = {**fresh(cell.campaign, cell, person), "state": State.PENDING, "lease_until": None}
    for name, value in begun.items():
        setattr(turn, name, value)
    row: Any = CampaignCell.objects.filter(pk=cell.pk).values_list(*_cell_state(*place)).get()
    return turn, CellState(*row)


@compiled_once
def _locked_turn(cell: int, revision: int, passage: int, person: int, config: int) -> QuerySet[Any, Any]:
    """Lock the person's turn of the cell, if there is one, and return it with the fields of `CellState`."""
    last_number, grader_rating = _cell_state(revision, passage, person, config)
    own = Turn.objects.select_for_update(of=("self",)).filter(cell=cell, person=person).order_by()
    return own.annotate(last_number=last_number, grader_rating=grader_rating)


def _cell_state(revision: int, passage: int, person: int, config: int) -> tuple[Combinable, Combinable]:
    place = {"revision": revision, "passage": passage}
    numbers = HumanGrade.objects.filter(by=person, **place).order_by("-number").values("number")
    grades = Grade.objects.filter(config=config, **place).values("rating")
    return Coalesce(Subquery(numbers[:1]), 0), Subquery(grades[:1])


def _hand_in(turn: Turn, state: Turn.State, uid: UUID) -> Turn:
    turn.state, turn.uid, turn.can_undo = state, uid, True
    turn.done_at, turn.lease_until = timezone.now(), None
    turn.save()
    return turn


def _publish(campaign: Campaign) -> None:
    events.publish_on_commit(campaign.collection.channel, "campaigns")
