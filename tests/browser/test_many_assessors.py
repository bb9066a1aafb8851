"""Twenty assessors at once over real HTTP: nothing is lost, nothing is handed out twice."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.leases import MOST_HELD
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.campaigns.population import CellChoice
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.raters import raters
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb.campaigns.assessors import Assessor

pytestmark = pytest.mark.concurrent

CLIENTS = 20
WRITES = 10


def assessors_of(campaign: Campaign, url: str, count: int) -> dict[int, Assessor]:
    """By person: each signed in."""
    queue = reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk])
    found = {}
    for number in range(count):
        person = MembershipFactory(
            user=UserFactory(username=f"rater{number}"), collection=campaign.collection, role=Role.ASSESSOR
        ).user
        client = Client()
        client.force_login(person, "django.contrib.auth.backends.ModelBackend")
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        found[person.pk] = Assessor(url, queue, {settings.SESSION_COOKIE_NAME: session})
    return found


@pytest.mark.parametrize(("cells", "assessors"), [(CLIENTS * (WRITES + MOST_HELD), 1), (WRITES, CLIENTS)])
def test_twenty_at_once_lose_nothing(server_url, demo, cells, assessors):
    """Many cells, each for one, with those that everybody holds at the end; and few cells, each for all."""
    bank = demo.banks.get()
    kinds = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
    choice = CellChoice(bank, tuple(demo.topics.all()), kinds, raters(bank)[0], size=cells)
    plan = CampaignPlan("All together", Campaign.Mode.ASSISTED, assessors)
    campaign = open_campaign(choice, plan, by=User.objects.get(username="organizer"), seed=1)
    people = assessors_of(campaign, server_url, CLIENTS)
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(lambda one: one.work(wanted=lambda done: done < WRITES), people.values()))
    believed = {(pk, cell): rating for pk, one in people.items() for cell, rating in one.sent.items()}
    turns = campaign.turns.filter(state=Turn.State.SUBMITTED)
    kept = {(turn.person_id, turn.cell_id): turn.rating for turn in turns}
    assert len(believed) == CLIENTS * WRITES
    assert kept == believed
    assert HumanGrade.objects.count() == CLIENTS * WRITES
    assert set(Counter(cell for _, cell in kept).values()) == {assessors}
