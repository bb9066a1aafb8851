"""Diverse topics of a new campaign: shown before they are taken, then drawn."""

from __future__ import annotations

import pytest
from django.urls import reverse

from rubricweb.campaigns.models import Campaign
from rubricweb.core.models import AuditEntry
from rubricweb.grades.models import Grade
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db


def sent(bank, **fields: object) -> dict[str, object]:
    return {
        "name": "Second look",
        "bank": bank.pk,
        "grader": Grade.objects.values_list("config", flat=True).first(),
        "kinds": ["question", "nugget"],
        "cells": "all",
        "cutoff": 20,
        "order": "random",
        "random_percent": 0,
        "mode": "blind",
        "assessors": 1,
    } | fields


def described(bank):
    """Give the two topics an attribute; a third one has it too, and no items."""
    factories.TopicFactory(collection=bank.collection, query_id="empty", attributes={"kind": "set"})
    for number, topic in enumerate(bank.collection.topics.exclude(query_id="empty")):
        topic.attributes = {"ambiguity": number}
        topic.save()


def test_diverse_topics_are_shown_and_then_drawn(bank, client_of, owner):
    described(bank)
    client, new = client_of(owner), reverse("campaigns:campaign-new", args=["autumn"])
    preview = reverse("campaigns:campaign-preview", args=["autumn"])
    part = markup(client.post(preview, sent(bank, diverse=5), headers={"HX-Request": "true"}))
    assert "2 diverse topics in the order of the draw" in part, "of the empty one nothing can be rated"
    page = markup(client.post(preview, sent(bank, diverse=1)))
    assert "1 diverse topic in the order of the draw" in page
    assert 'value="Second look"' in page, "what was filled in stays"

    client.post(new, sent(bank, diverse=1, diverse_seed=4))
    campaign = Campaign.objects.get()
    assert len(set(campaign.cells.values_list("topic", flat=True))) == 1
    entry = AuditEntry.objects.filter(verb="campaign opened").get()
    assert "diverse topics: 1, seed 4" in entry.detail


def test_topics_without_attributes_are_not_drawn(bank, client_of, owner):
    page = markup(client_of(owner).get(reverse("campaigns:campaign-new", args=["autumn"])))
    assert "Diverse topics" not in page
