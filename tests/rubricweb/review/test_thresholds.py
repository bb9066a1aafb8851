"""Each prompt's own threshold, on every screen that covers anything."""

import pytest
from django.urls import reverse

from grading.types import ItemKind
from rubricweb.campaigns.forms import CampaignForm
from rubricweb.grades.configs import config_for
from rubricweb.grades.raters import raters
from tests.factories import BankFactory, ItemFactory, JudgmentFactory, TopicFactory, grade, pooled
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]

RATES = "QuestionSelfRatedUnanswerablePromptWithChoices"


def t5(prompt_class):
    return config_for("hf_seq2seq", "google/flan-t5-large", prompt_class)


@pytest.fixture
def mixed(collection):
    """A nugget labelled 0 to 2 and a question rated 0 to 5, both of one model, on three passages.

    The first passage is relevant and supports the nugget. The third is relevant and reaches no threshold.
    """
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-large"
    collection.grader_prompts = [RATES, "NuggetAssignment"]
    collection.save()
    topic = TopicFactory(collection=collection, query_id="q1", text="why do leaves turn red")
    passages = pooled(topic, 3)
    bank = BankFactory(collection=collection)
    question = ItemFactory(bank=bank, topic=topic, text="Which pigment is red?")
    nugget = ItemFactory(bank=bank, topic=topic, kind="nugget", text="anthocyanins")
    for passage, rating, label, relevance in zip(passages, (0, 4, 2), (2, 0, 1), (3, 0, 3), strict=True):
        grade(t5(RATES), question, passage, rating)
        grade(t5("NuggetAssignment"), nugget, passage, label)
        JudgmentFactory(topic=topic, doc_id=passage.doc_id, relevance=relevance)
    return bank


def test_each_kind_of_item_has_its_own_threshold(mixed):
    (rater,) = raters(mixed)
    assert (rater.min_grade, rater.highest) == (4, 5)
    assert rater.min_grade_words == "4 (questions) and 2 (nuggets)"
    kinds = [ItemKind.QUESTION, ItemKind.NUGGET]
    assert rater.min_grades_of(kinds).tolist() == [4, 2]
    assert rater.min_grades_of(kinds, 4).tolist() == [4, 2], "the default that the form shows"
    assert rater.min_grades_of(kinds, 5).tolist() == [5, 2], "as far as the scale reaches"
    assert rater.min_grades_of(kinds, 1).tolist() == [1, 1]


def test_the_collection_page_and_the_grid_cover_alike(client_of, viewer, mixed):
    """Passage d0 is covered by its nugget; only d2 is relevant and uncovered."""
    client = client_of(viewer)
    page = client.get(mixed.collection.get_absolute_url())
    (row,) = page.context["page"].object_list
    assert (row.facts.uncovered, row.facts.nobody) == (1, 0)
    assert "reaches grade 4 (questions) and 2 (nuggets)" in markup(page)
    grid = client.get(
        reverse("review:topic", args=[mixed.pk, row.pk], query={"view": "grid", "show": "uncovered"})
    )
    assert [row.doc_id for row in grid.context["grid"].rows] == ["d2"]


def test_uncovered_and_spurious_cover_alike(client_of, viewer, mixed):
    client = client_of(viewer)
    address = reverse("review:problems", args=[mixed.collection.slug])
    assert client.get(address, {"kind": "uncovered"}).context["page"].paginator.count == 1
    listed = client.get(address, {"kind": "misleading"})
    assert [row.text for row in listed.context["rows"]] == ["Which pigment is red?"]


def test_a_campaign_takes_the_threshold_of_its_grader(mixed):
    mixed.items.filter(kind="question").delete()
    (rater,) = raters(mixed)
    sent = {"name": "Pilot", "bank": mixed.pk, "grader": rater.pk, "kinds": ["nugget"], "cells": "all"}
    sent |= {"cutoff": 20, "order": "random", "random_percent": 20, "assessors": 1, "mode": "blind"}
    form = CampaignForm(mixed.collection, [mixed], sent)
    assert form.is_valid(), form.errors
    assert form.choice.min_grade == 2
