"""Ratings by others stay hidden from whoever shall rate a cell independently."""

from __future__ import annotations

import pytest

from rubricweb.review.queue.actions import assign_cells, close_campaign, saying_of
from rubricweb.review.queue.leases import take
from rubricweb.review.queue.veil import veiled, veiled_in
from tests.rubricweb.review.queue.conftest import rate_next

pytestmark = pytest.mark.django_db


def places(campaign):
    return {(cell.revision_id, cell.passage_id) for cell in campaign.cells.all()}


def test_until_they_rated_assessors_are_veiled(campaign_of, assessor, second, collection):
    campaign = campaign_of(mode="blind", assessors=2)
    assert veiled_in(assessor, collection) == places(campaign)
    turn = rate_next(campaign, assessor)
    assert veiled_in(assessor, collection) == places(campaign) - {
        (turn.cell.revision_id, turn.cell.passage_id)
    }
    assert veiled_in(second, collection) == places(campaign)
    topic = collection.topics.first()
    assert veiled(second, topic) == {
        (cell.revision_id, cell.passage_id) for cell in campaign.cells.filter(topic=topic)
    }


def test_developers_are_veiled_from_what_they_took_or_were_named_for(campaign_of, developer, collection):
    campaign = campaign_of(mode="blind")
    assert veiled_in(developer, collection) == set()
    cell = take(campaign, developer, count=1)[0].cell
    assert veiled_in(developer, collection) == {(cell.revision_id, cell.passage_id)}
    named = campaign_of(people=[developer])
    assert veiled_in(developer, collection) == places(named)


def test_a_closed_campaign_and_one_of_others_veil_nothing(campaign_of, assessor, second, owner, collection):
    close_campaign(campaign_of(), by=owner)
    campaign_of(people=[second])
    assert veiled_in(assessor, collection) == set()


def test_assigned_cells_are_veiled_from_that_person_only(
    bank, campaign_of, assessor, second, developer, owner
):
    campaign = campaign_of(size=1)
    assign_cells(bank, [saying_of(cell) for cell in campaign.cells.all()], to=assessor, by=developer)
    close_campaign(campaign, by=owner)
    assert veiled_in(assessor, bank.collection) == places(campaign)
    assert veiled_in(second, bank.collection) == set()
