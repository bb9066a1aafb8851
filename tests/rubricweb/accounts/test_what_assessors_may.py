"""Assessors edit the bank and start grading where the collection lets them, not what they rate blind."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from rubricweb.banks.models import Item
from rubricweb.grades.configs import active_configs
from rubricweb.grades.models import GradingJob
from rubricweb.grades.store import GradeRow, save_grades
from tests.factories import gradable
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=4, items=2)


def edit(client, item: Item):
    sent = {"text": "Which pigment is red?", "seen": item.version}
    return client.post(reverse("editor:item-edit", args=[item.bank_id, item.pk]), sent)


def test_a_retry_that_costs_too_much_is_refused_beside_its_button(bank, assessor, owner, client_of, settings):
    collection, topic = bank.collection, bank.collection.topics.get()
    collection.grader_backend, collection.grader_llm = "openai_compatible", "a-model"
    collection.save()
    config = active_configs(collection)[0]
    item, passage = bank.items.first(), topic.pool.first().passage
    failed = GradeRow(topic.pk, item.revision_id, passage.pk, None, "failed", "", "no reply", "timeout")
    save_grades(config, [failed])
    settings.PRICES = {"a-model": 1_000_000}
    address = reverse("grades:retry-failed", args=[collection.slug])
    refused = client_of(assessor).post(address, {"part": "missing"}, headers={"HX-Request": "true"})
    assert refused.status_code == 422
    page = markup(refused)
    assert page.index("Grade 1 failed pair again") < page.index("Not started. About $")
    assert not GradingJob.objects.exists()


def start(client, collection, **headers):
    return client.post(reverse("grades:start", args=[collection.slug]), headers=headers)


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
    campaign = blind_campaign(bank, by=owner, assignees=[assessor])
    item = campaign.cells.first().item
    answer = edit(client_of(assessor), item)
    assert answer.status_code == 403
    assert b"You are rating this question blind. Finish it to edit." in answer.content
    assert edit(client_of(owner), item).status_code == 302


def test_assessors_start_grading_up_to_a_price(bank, assessor, viewer, outsider, client_of, settings):
    collection = bank.collection
    collection.grader_backend, collection.grader_llm = "openai_compatible", "a-model"
    collection.save()
    assert start(client_of(outsider), collection).status_code == 404
    assert start(client_of(viewer), collection).status_code == 403
    assert b"price of this model is unknown" in start(client_of(assessor), collection, **HTMX).content
    settings.PRICES = {"a-model": 1_000_000}
    assert b"assessors may start up to $1.00" in start(client_of(assessor), collection, **HTMX).content
    refused = client_of(assessor).post(
        reverse("grades:start", args=[collection.slug]), {"part": "missing"}, headers={"HX-Request": "true"}
    )
    text = markup(refused)
    assert refused.status_code == 422
    assert text.lstrip().startswith('<div id="missing"')
    assert re.search(
        r'id="start-refusal" role="alert">Not started. About \$[\d,.]+; assessors may start', text
    )
    assert not GradingJob.objects.exists()
    settings.PRICES = {"a-model": 0.01}
    assert start(client_of(assessor), collection).status_code == 302
    assert GradingJob.objects.exists()
    collection.assessors_grade = False
    collection.save()
    assert start(client_of(assessor), collection).status_code == 403
