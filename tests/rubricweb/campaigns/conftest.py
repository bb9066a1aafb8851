"""Campaigns over two topics whose cells can all be rated."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from grading.types import ItemKind
from rubricweb.accounts.roles import Role
from rubricweb.campaigns.actions import CampaignPlan, open_campaign, rate
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.campaigns.population import CellChoice
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.raters import raters
from tests.factories import MembershipFactory, UserFactory, gradable, grade, lexical_config, take

KINDS = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})


@pytest.fixture
def bank(collection):
    """Two topics with three passages and two questions each: 12 cells, all graded 4."""
    bank = gradable(collection, topics=2, passages=3, items=2)
    grade_all(bank, lexical_config(), 4)
    return bank


@pytest.fixture
def second(collection):
    return MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user


def grade_all(bank, config: GraderConfig, rating: int) -> None:
    for item in bank.items.all():
        for pooled in item.topic.pool.all():
            grade(config, item, pooled.passage, rating)


def choice_of(bank, *, passage_order: str = "cell", order: str = "random", **options) -> CellChoice:
    """Cells by lot that come each by itself, unless an `order` or `passage_order` is named."""
    topics = tuple(bank.collection.topics.all())
    places = Campaign.PassageOrder(passage_order)
    drawn = Campaign.Order(order)
    return CellChoice(bank, topics, KINDS, raters(bank)[0], order=drawn, passage_order=places, **options)


@pytest.fixture
def campaign_of(bank, owner):
    """`campaign_of(mode="blind", assessors=2, size=4)`: a campaign over the bank."""

    def made(
        *, mode: str = "assisted", assessors: int = 1, assignees=(), seed: int = 7, **options
    ) -> Campaign:
        plan = CampaignPlan(f"campaign {uuid4().hex[:6]}", Campaign.Mode(mode), assessors, tuple(assignees))
        return open_campaign(choice_of(bank, **options), plan, by=owner, seed=seed)

    return made


def rate_next(campaign: Campaign, person, rating: int = 3):
    """The person's next turn, rated."""
    turn = take(campaign, person, count=1)[0]
    return rate(turn.cell, rating=rating, by=person, seen=0, uid=uuid4())


def expire(campaign: Campaign) -> None:
    campaign.turns.filter(state=Turn.State.LEASED).update(lease_until=timezone.now() - timedelta(seconds=1))
