"""What comes back: cells that were undone, handed back, let lapse or skipped, until all are rated."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from uuid import uuid4

import pytest

from rubricweb.accounts.models import User
from rubricweb.campaigns.actions import NothingToUndo, NotYours, comment, rate, skip, undo, undo_in_grid
from rubricweb.campaigns.leases import hand_back
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn
from rubricweb.campaigns.progress import campaign_rows
from rubricweb.campaigns.selectors import queue_page
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import latest, latest_by, rate_cell
from tests.factories import take
from tests.rubricweb.campaigns.conftest import expire, rate_next

pytestmark = pytest.mark.django_db
State, How = Turn.State, HumanGrade.How


@pytest.mark.parametrize("lapses", [False, True])
def test_an_undone_cell_comes_back_after_a_stop(campaign_of, assessor, lapses):
    campaign = campaign_of(size=3)
    cell = rate_next(campaign, assessor).cell
    undo(campaign, by=assessor, uid=uuid4())
    hand_back(campaign, assessor)
    if lapses:
        take(campaign, assessor)
        expire(campaign)
    assert take(campaign, assessor)[0].cell == cell
    assert [turn.order for turn in take(campaign, assessor)] == [1, 2]


def test_an_undone_cell_that_another_let_lapse_comes_back(campaign_of, assessor, second):
    campaign = campaign_of(size=1)
    cell = rate_next(campaign, assessor).cell
    undo(campaign, by=assessor, uid=uuid4())
    hand_back(campaign, assessor)
    assert take(campaign, second)[0].cell == cell
    assert take(campaign, assessor) == []
    expire(campaign)
    assert take(campaign, assessor)[0].cell == cell


def test_who_saw_the_graders_rating_does_not_rate_blind_when_the_cell_comes_back(campaign_of, assessor):
    campaign = campaign_of(mode="blind", size=1)
    cell = rate_next(campaign, assessor, 1).cell
    undo(campaign, by=assessor, uid=uuid4())
    hand_back(campaign, assessor)
    turn = take(campaign, assessor)[0]
    assert (turn.mode, turn.rating) == ("blind", 1)
    assert rate(cell, rating=5, by=assessor, seen=2, uid=uuid4()).rating == 1
    assert [event.how for event in HumanGrade.objects.order_by("pk")] == [How.BLIND, How.BLIND, How.ASSISTED]


def test_who_rated_in_the_grid_and_took_it_back_does_not_rate_blind(campaign_of, assessor):
    campaign = campaign_of(mode="blind", size=1)
    cell = campaign.cells.get()
    rate_cell(cell.human_cell, rating=1, by=assessor, seen=0)
    undo_in_grid(cell.human_cell, by=assessor, seen=1)
    assert (take(campaign, assessor)[0].mode, take(campaign, assessor)[0].rating) == ("assisted", None)


def test_what_a_person_rated_elsewhere_comes_last(campaign_of, assessor):
    campaign = campaign_of(size=3)
    rate_cell(campaign.cells.get(order=1).human_cell, rating=1, by=assessor, seen=0)
    orders = []
    while held := take(campaign, assessor, count=1):
        orders.append(held[0].order)
        rate(held[0].cell, rating=2, by=assessor, seen=held[0].order == 1, uid=uuid4())
    assert orders == [2, 3, 1]


def test_a_skipped_cell_can_be_rated_after_all(campaign_of, assessor):
    campaign = campaign_of(size=1)
    cell = take(campaign, assessor)[0].cell
    skip(cell, reason="not English", by=assessor, uid=uuid4())
    assert queue_page(campaign, assessor).skipped == cell.pk
    rate(cell, rating=2, by=assessor, seen=0, uid=uuid4())
    assert [turn.state for turn in campaign.turns.all()] == [State.SUBMITTED]
    assert queue_page(campaign, assessor).skipped is None


def test_a_rating_that_comes_late_takes_a_free_turn(campaign_of, assessor):
    campaign = campaign_of(size=1)
    cell = take(campaign, assessor)[0].cell
    hand_back(campaign, assessor)
    rate(cell, rating=2, by=assessor, seen=0, uid=uuid4())
    assert [turn.state for turn in campaign.turns.all()] == [State.SUBMITTED]


def test_another_persons_lapsed_cell_cannot_be_skipped(campaign_of, assessor, second):
    campaign = campaign_of(size=1)
    cell = take(campaign, second)[0].cell
    expire(campaign)
    with pytest.raises(NotYours):
        skip(cell, reason="not English", by=assessor, uid=uuid4())
    assert campaign.turns.get().person == second


def test_a_rating_taken_back_in_the_grid_is_asked_for_again(campaign_of, assessor):
    campaign, uid = campaign_of(size=2), uuid4()
    cell = rate_next(campaign, assessor).cell
    undo_in_grid(cell.human_cell, by=assessor, seen=1, uid=uid)
    assert [turn.order for turn in take(campaign, assessor)] == [1, 2]
    rate(cell, rating=2, by=assessor, seen=2, uid=uuid4())
    undo_in_grid(cell.human_cell, by=assessor, seen=1, uid=uid)  # the same request again
    assert campaign.turns.get(cell=cell).state == State.SUBMITTED


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.portable) for seed in range(2, 8))]
)
def test_whatever_people_do_the_campaign_can_be_finished(campaign_of, assessor, second, seed):
    """They take, rate, undo, skip, stop and let lapse as it comes; then each works to the end."""
    campaign, chance = campaign_of(size=4, assessors=1 + seed % 2), Random(seed)
    people = (assessor, second)
    for _ in range(60):
        _do_something(campaign, chance.choice(people), chance)
    for person in people:
        _finish(campaign, person)
    row = next(iter(campaign_rows(campaign.collection, assessor)))
    assert (row.left, row.total >= 4 * campaign.assessors) == (0, True)
    for cell in campaign.cells.all():
        assert len(latest(cell.human_cell)) >= campaign.assessors


def _do_something(campaign: Campaign, person: User, chance: Random) -> None:
    held = take(campaign, person)
    match chance.choice(["rate", "rate", "undo", "skip", "stop", "lapse", "elsewhere"]):
        case "rate" if held:
            _rate(held[0].cell, person)
        case "undo":
            with suppress(NothingToUndo):
                undo(campaign, by=person, uid=uuid4())
        case "skip" if held:
            skip(held[0].cell, reason="not English", by=person, uid=uuid4())
        case "stop":
            hand_back(campaign, person)
        case "lapse":
            expire(campaign)
        case "elsewhere":
            cell = chance.choice(list(campaign.cells.all())).human_cell
            event = latest_by(person, cell)
            if event is None or event.is_withdrawn:
                rate_cell(cell, rating=3, by=person, seen=event.number if event else 0)
            else:
                undo_in_grid(cell, by=person, seen=event.number)


def _rate(cell: CampaignCell, person: User) -> None:
    event = latest_by(person, cell.human_cell)
    rate(cell, rating=4, by=person, seen=event.number if event else 0, uid=uuid4())


def _finish(campaign: Campaign, person: User) -> None:
    expire(campaign)
    while take(campaign, person) or queue_page(campaign, person).skipped:
        page = queue_page(campaign, person)
        _rate(page.card.cell if page.card else campaign.cells.get(pk=page.skipped), person)


def test_a_comment_outlives_a_stop(campaign_of, assessor, second):
    """The cell comes back with it; where another takes the cell, it stays with the one who gave it up."""
    campaign = campaign_of(size=2)
    cell = take(campaign, assessor)[0].cell
    comment(cell, text="line 2 says no", by=assessor)
    assert hand_back(campaign, assessor) == 2
    assert [turn.comment for turn in take(campaign, assessor)] == ["line 2 says no", ""]
    hand_back(campaign, assessor)
    taken = take(campaign, second)[0]
    assert (taken.cell, taken.comment) == (cell, "")
    given_up = campaign.turns.get(person=assessor)
    assert (given_up.state, given_up.comment) == (State.SKIPPED, "line 2 says no")
    for turn in take(campaign, second):
        rate(turn.cell, rating=1, by=second, seen=0, uid=uuid4())
    assert campaign_rows(campaign.collection, second)[0].left == 0


def test_a_late_rating_takes_no_comment_away(campaign_of, assessor, second):
    campaign = campaign_of(size=1)
    cell = take(campaign, second)[0].cell
    comment(cell, text="line 2 says no", by=second)
    hand_back(campaign, second)
    rate(cell, rating=2, by=assessor, seen=0, uid=uuid4())
    assert campaign.turns.get(person=second).comment == "line 2 says no"
