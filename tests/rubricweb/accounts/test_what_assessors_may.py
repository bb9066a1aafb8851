"""Assessors edit the bank and start grading where the collection lets them, not what they rate blind."""

from __future__ import annotations

import pytest
from django.urls import reverse

from rubricweb.banks.models import Item
from rubricweb.grades.models import GradingJob
from tests.factories import gradable
from tests.rubricweb.worlds import blind_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=4, items=2)


def edit(client, item: Item):
    sent = {"text": "Which pigment is red?", "seen": item.version}
    return client.post(reverse("banks:item-edit", args=[item.bank_id, item.pk]), sent)


def start(client, collection):
    return client.post(reverse("grades:start", args=[collection.slug]))


def test_assessors_edit_unless_the_collection_says_no(bank, assessor, viewer, outsider, client_of):
    item = bank.items.first()
    assert edit(client_of(outsider), item).status_code == 404
    assert edit(client_of(viewer), item).status_code == 403
    assert edit(client_of(assessor), item).status_code == 302
    item.refresh_from_db()
    assert item.revision.text == "Which pigment is red?"
    bank.collection.assessors_edit = False
    bank.collection.save()
    assert edit(client_of(assessor), bank.items.last()).status_code == 403


def test_nobody_edits_what_they_are_to_rate_blind(bank, assessor, owner, client_of):
    campaign = blind_campaign(bank, by=owner, people=[assessor])
    item = campaign.cells.first().item
    answer = edit(client_of(assessor), item)
    assert answer.status_code == 403
    assert b"for your blind rating. Rate them first, then edit it." in answer.content
    assert edit(client_of(owner), item).status_code == 302


def test_assessors_start_grading_up_to_a_price(bank, assessor, viewer, outsider, client_of, settings):
    collection = bank.collection
    collection.grader_backend, collection.grader_llm = "openai_compatible", "a-model"
    collection.save()
    assert start(client_of(outsider), collection).status_code == 404
    assert start(client_of(viewer), collection).status_code == 403
    assert b"price of this model is not known" in start(client_of(assessor), collection).content
    settings.PRICES = {"a-model": 1_000_000}
    assert b"assessors may start up to $1.00" in start(client_of(assessor), collection).content
    assert not GradingJob.objects.exists()
    settings.PRICES = {"a-model": 0.01}
    assert start(client_of(assessor), collection).status_code == 302
    assert GradingJob.objects.exists()
    collection.assessors_grade = False
    collection.save()
    assert start(client_of(assessor), collection).status_code == 403
