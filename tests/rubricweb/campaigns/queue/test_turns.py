"""Turns: handed out once, kept alive, handed in, skipped, undone; nothing that arrives is refused."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from rubricweb.campaigns import leases
from rubricweb.campaigns.actions import (
    NothingToUndo,
    NotYours,
    UnfitCampaign,
    assign_cells,
    close_campaign,
    rate,
    reopen_campaign,
    skip,
    undo,
)
from rubricweb.campaigns.leases import drawn_mode, hand_back, renew
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.human_ratings import RatedMeanwhile, latest, rate_cell
from tests.factories import UserFactory, take
from tests.rubricweb.campaigns.conftest import expire, rate_next

pytestmark = pytest.mark.django_db
State, How = Turn.State, HumanGrade.How


def test_cells_come_in_order_and_two_are_held(campaign_of, assessor):
    campaign = campaign_of()
    held = take(campaign, assessor)
    assert [turn.order for turn in held] == [1, 2]
    assert take(campaign, assessor) == held
    assert campaign.turns.filter(state=State.LEASED).count() == 2


def test_two_assessors_never_hold_the_same_cell(campaign_of, assessor, second):
    campaign = campaign_of()
    mine, theirs = take(campaign, assessor), take(campaign, second)
    assert [turn.order for turn in mine + theirs] == [1, 2, 3, 4]


def test_a_cell_goes_to_as_many_as_are_wanted_and_never_twice_to_one(campaign_of, assessor, second):
    campaign = campaign_of(assessors=2, size=3)
    for person in (assessor, second):
        orders = []
        while held := take(campaign, person, count=1):
            orders.append(held[0].order)
            rate(held[0].cell, rating=2, by=person, seen=0, uid=uuid4())
        assert orders == [1, 2, 3]
    assert not campaign.turns.exclude(state=State.SUBMITTED).exists()
    assert HumanGrade.objects.count() == 6


def test_a_lease_that_ran_out_goes_to_another(campaign_of, assessor, second):
    campaign = campaign_of()
    lost = take(campaign, assessor, count=1)[0]
    expire(campaign)
    turn = take(campaign, second, count=1)[0]
    assert (turn.pk, turn.person) == (lost.pk, second)
    assert renew(campaign, assessor) == 0


def test_a_heartbeat_keeps_the_lease(campaign_of, assessor, second):
    campaign = campaign_of()
    kept = take(campaign, assessor, count=1)[0]
    expire(campaign)
    assert renew(campaign, assessor) == 1
    assert take(campaign, second, count=1)[0].cell_id != kept.cell_id


def test_a_rating_that_comes_late_counts_beside_the_other(campaign_of, assessor, second):
    campaign = campaign_of(size=1)
    late = take(campaign, assessor, count=1)[0]
    expire(campaign)
    rate_next(campaign, second, 1)
    rate(late.cell, rating=5, by=assessor, seen=0, uid=uuid4())
    assert sorted(event.rating for event in latest(late.cell.human_cell)) == [1, 5]
    assert campaign.turns.filter(state=State.SUBMITTED).count() == 2


def test_what_is_sent_twice_is_saved_once(campaign_of, assessor):
    campaign, uid = campaign_of(), uuid4()
    cell = take(campaign, assessor, count=1)[0].cell
    for _ in range(2):
        turn = rate(cell, rating=4, by=assessor, seen=0, uid=uid, comment="see line 2")
    assert HumanGrade.objects.count() == 1
    assert (turn.state, turn.rating, turn.comment) == (State.SUBMITTED, 4, "see line 2")


def test_an_old_rating_sent_again_after_an_undo_stays_undone(campaign_of, assessor):
    campaign, uid = campaign_of(), uuid4()
    cell = take(campaign, assessor, count=1)[0].cell
    rate(cell, rating=4, by=assessor, seen=0, uid=uid)
    undo(campaign, by=assessor, uid=uuid4())
    rate(cell, rating=4, by=assessor, seen=0, uid=uid)
    assert latest(cell.human_cell) == []
    assert take(campaign, assessor, count=1)[0].cell_id == cell.pk


def test_rated_elsewhere_meanwhile(campaign_of, assessor):
    cell = take(campaign_of(), assessor, count=1)[0].cell
    rate_cell(cell.human_cell, rating=1, by=assessor, seen=0)
    with pytest.raises(RatedMeanwhile) as refused:
        rate(cell, rating=5, by=assessor, seen=0, uid=uuid4())
    assert refused.value.now.rating == 1
    rate(cell, rating=5, by=assessor, seen=1, uid=uuid4())
    assert [event.rating for event in latest(cell.human_cell)] == [5]


def test_blind_then_a_change_of_mind_keeps_both(campaign_of, assessor):
    campaign = campaign_of(mode="blind")
    cell = take(campaign, assessor, count=1)[0].cell
    rate(cell, rating=1, by=assessor, seen=0, uid=uuid4())
    turn = rate(cell, rating=4, by=assessor, seen=1, uid=uuid4())
    events = HumanGrade.objects.values_list("rating", "how", "seen_rating")
    assert list(events) == [(1, How.BLIND, None), (4, How.ASSISTED, 4)]
    assert turn.rating == 1


def test_assisted_keeps_what_was_shown(campaign_of, assessor):
    rate_next(campaign_of(), assessor, 2)
    assert HumanGrade.objects.values_list("how", "seen_rating").get() == (How.ASSISTED, 4)


def test_modes_are_drawn_by_cell_and_assessor_and_recorded(campaign_of, assessor, second):
    campaign = campaign_of(mode="mixed", assessors=2)
    drawn = {}
    for person in (assessor, second):
        while held := take(campaign, person, count=1):
            drawn[held[0].order, person.pk] = held[0].mode
            assert held[0].mode == drawn_mode(campaign, held[0].cell, person)
            rate(held[0].cell, rating=2, by=person, seen=0, uid=uuid4())
    assert len(drawn) == 24
    assert set(drawn.values()) == {"blind", "assisted"}
    assert any(drawn[order, assessor.pk] != drawn[order, second.pk] for order in range(1, 13))


def test_undo_goes_back_step_by_step(campaign_of, assessor):
    campaign = campaign_of(mode="blind")
    first = rate_next(campaign, assessor, 1)
    second = rate_next(campaign, assessor, 2)
    rate(second.cell, rating=3, by=assessor, seen=1, uid=uuid4())
    assert undo(campaign, by=assessor, uid=uuid4()).state == State.SUBMITTED
    assert latest(second.cell.human_cell)[0].rating == 2
    turn = undo(campaign, by=assessor, uid=uuid4())
    assert (turn.cell, turn.state) == (first.cell, State.LEASED)
    assert latest(first.cell.human_cell) == []
    with pytest.raises(NothingToUndo):
        undo(campaign, by=assessor, uid=uuid4())


def test_an_undo_sent_twice_undoes_once(campaign_of, assessor):
    campaign, uid = campaign_of(), uuid4()
    for rating in (1, 2):
        rate_next(campaign, assessor, rating)
    assert undo(campaign, by=assessor, uid=uid) == undo(campaign, by=assessor, uid=uid)
    assert campaign.turns.filter(state=State.SUBMITTED).count() == 1


def test_undo_of_a_rating_given_twice_and_taken_back_once(campaign_of, assessor):
    campaign = campaign_of()
    turn = rate_next(campaign, assessor, 1)
    undo(campaign, by=assessor, uid=uuid4())
    rate(turn.cell, rating=5, by=assessor, seen=2, uid=uuid4())
    assert undo(campaign, by=assessor, uid=uuid4()).state == State.LEASED
    assert latest(turn.cell.human_cell) == []


def test_a_skipped_cell_goes_to_another_and_can_be_taken_back(campaign_of, assessor, second):
    campaign, uid = campaign_of(size=1), uuid4()
    cell = take(campaign, assessor, count=1)[0].cell
    for _ in range(2):
        assert skip(cell, reason="not English", by=assessor, uid=uid).reason == "not English"
    assert campaign.turns.count() == 2
    assert take(campaign, assessor) == []
    assert undo(campaign, by=assessor, uid=uuid4()).state == State.LEASED
    assert campaign.turns.count() == 1
    skip(cell, reason="not English", by=assessor, uid=uuid4())
    assert take(campaign, second)[0].cell == cell
    with pytest.raises(NotYours):
        skip(cell, reason="again", by=assessor, uid=uuid4())


def test_handed_back_turns_are_free(campaign_of, assessor, second):
    campaign = campaign_of()
    take(campaign, assessor)
    assert hand_back(campaign, assessor) == 2
    assert [turn.order for turn in take(campaign, second)] == [1, 2]


def test_the_next_cells_are_leased_after_a_rating(campaign_of, assessor):
    campaign = campaign_of()
    first = take(campaign, assessor)[0]
    rate(first.cell, rating=1, by=assessor, seen=0, uid=uuid4())
    leases.take_missing(campaign, assessor, count=2)
    held = campaign.turns.filter(person=assessor, state=State.LEASED)
    assert [turn.order for turn in held] == [2, 3]


def test_a_topics_raters_do_not_wait_while_the_next_cells_are_looked_for(
    campaign_of, client_of, assessor, monkeypatch
):
    """A rating locks its topic until it is committed."""
    campaign, within = campaign_of(), []
    cell = take(campaign, assessor, count=1)[0].cell
    address = reverse("campaigns:queue-cell", args=[campaign.collection.slug, campaign.pk, cell.pk])
    monkeypatch.setattr(leases, "take_missing", lambda *_: within.append(list(connection.savepoint_ids)))
    client_of(assessor).post(address, {"rating": 3, "seen": 0, "uid": uuid4()}, HTTP_HX_REQUEST="true")
    assert within == [connection.savepoint_ids]
    assert HumanStamp.objects.filter(topic=cell.topic_id).exists()


def test_a_cell_that_two_windows_take_at_once_is_taken_again(campaign_of, assessor, monkeypatch):
    """The other window leases the same cell between the choice and the lease."""
    campaign = campaign_of(assessors=2)
    first = take(campaign, assessor, count=1)[0]
    chosen, other = leases._candidate, Turn(person=assessor, state=State.LEASED, lease_until=timezone.now())

    def raced(campaign, person):
        turn = chosen(campaign, person)
        if other.pk is None:
            other.campaign, other.cell, other.order = campaign, turn.cell, turn.order
            other.save()
        return turn

    monkeypatch.setattr(leases, "_candidate", raced)
    rate(first.cell, rating=1, by=assessor, seen=0, uid=uuid4())
    leases.take_missing(campaign, assessor, count=2)
    assert HumanGrade.objects.count() == 1
    assert campaign.turns.filter(person=assessor, state=State.LEASED).count() == 2


def test_a_closed_campaign_hands_out_nothing_and_takes_what_is_sent(campaign_of, assessor, owner):
    campaign = campaign_of()
    cell = take(campaign, assessor, count=1)[0].cell
    close_campaign(campaign, by=owner)
    rate(cell, rating=3, by=assessor, seen=0, uid=uuid4())
    assert take(campaign, assessor) == []
    reopen_campaign(campaign, by=owner)
    assert len(take(campaign, assessor)) == 2


def test_who_rated_a_cell_elsewhere_does_not_get_it(campaign_of, assessor):
    campaign = campaign_of(size=3)
    cell = campaign.cells.get(order=1)
    rate_cell(cell.human_cell, rating=1, by=assessor, seen=0)
    assert [turn.order for turn in take(campaign, assessor)] == [2, 3]


def test_assigned_cells_wait_for_one_person(bank, campaign_of, assessor, second, developer):
    cells = [cell.human_cell for cell in campaign_of(size=2).cells.all()]
    assert assign_cells(bank, [*cells, cells[0]], to=assessor, by=developer) == 2
    assert assign_cells(bank, cells[:1], to=assessor, by=developer) == 0
    assert assign_cells(bank, cells[1:], to=second, by=developer) == 1
    campaign = Campaign.objects.get(is_standing=True)
    assert campaign.cells.count() == 2
    assert [turn.order for turn in take(campaign, assessor)] == [1, 2]
    expire(campaign)
    assert [turn.order for turn in take(campaign, second)] == [2]
    assert renew(campaign, assessor) == 2


def test_cells_are_assigned_to_assessors_only(bank, campaign_of, viewer, developer):
    cells = [cell.human_cell for cell in campaign_of(size=2).cells.all()]
    for person in (viewer, UserFactory()):
        with pytest.raises(UnfitCampaign, match="not an assessor"):
            assign_cells(bank, cells, to=person, by=developer)
    assert not Campaign.objects.filter(is_standing=True).exists()
