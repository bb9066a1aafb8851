"""Cells that are handed out no more leave the total of their campaign."""

from __future__ import annotations

import pytest
from django.urls import reverse

from rubricweb.banks.changes import hide_item
from rubricweb.campaigns.models import Campaign
from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Judgment
from tests.factories import RankingFactory, RunFactory, take
from tests.rubricweb.campaigns.conftest import rate_next
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db


def at(name: str, campaign: Campaign) -> str:
    return reverse(f"campaigns:{name}", args=[campaign.collection.slug, campaign.pk])


def finish(campaign: Campaign, person) -> None:
    while take(campaign, person, count=1):
        rate_next(campaign, person)


def test_secret_cells_leave_the_total(campaign_of, client_of, assessor, owner):
    campaign, client = campaign_of(), client_of(assessor)
    first = take(campaign, assessor, count=1)[0].cell
    rate_next(campaign, assessor)
    hide_item(first.item, seen=first.item.version, by=owner)
    page = markup(client_of(owner).get(at("campaign", campaign)))
    assert "1 of 10" in page, "its rated cell stays, two others go"
    assert "No longer asked" in page
    finish(campaign, assessor)
    assert "All 10 ratings are done" in markup(client.get(at("queue", campaign)))


def test_cells_of_withdrawn_runs_leave_the_total(campaign_of, client_of, assessor, owner):
    campaign = campaign_of()
    cell = campaign.cells.last()
    run = RunFactory(collection=campaign.collection)
    RankingFactory(run=run, topic=cell.topic, doc_ids=[cell.passage.doc_id])
    Judgment.objects.all().delete()
    withdraw_run(run, by=owner)
    assert "0 of 10" in markup(client_of(owner).get(at("campaign", campaign)))
    finish(campaign, assessor)
    assert "All 10 ratings are done" in markup(client_of(assessor).get(at("queue", campaign)))
