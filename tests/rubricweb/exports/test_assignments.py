"""Grades of whole answers as assignments of nuggetizer, from the page of a rubric."""

import json

import pytest

from grading.types import text_md5
from rubricweb.corpus.models import Response
from rubricweb.grades.configs import config_for, imported_config
from tests import factories

pytestmark = pytest.mark.django_db
TEXT = "The moon pulls the sea."


@pytest.fixture
def bank(collection):
    """A rubric of two nuggets, and an answer that is one passage."""
    topic = factories.TopicFactory(collection=collection, query_id="s1", text="tides")
    run = factories.RunFactory(collection=collection, run_tag="writer")
    told = [{"text": TEXT, "citations": None}]
    Response.objects.create(run=run, topic=topic, sentences=told, passages_of="whole")
    passage = factories.PassageFactory(collection=collection, doc_id=text_md5(TEXT), text=TEXT)
    factories.PooledFactory(topic=topic, passage=passage)
    factories.RankingFactory(run=run, topic=topic, doc_ids=[passage.doc_id], scores=[1.0])
    bank = factories.BankFactory(collection=collection)
    for text, importance in (("The moon pulls", "vital"), ("Coasts matter", "okay")):
        factories.ItemFactory(bank=bank, topic=topic, kind="nugget", text=text, importance=importance)
    return bank


def downloaded(client, bank, config):
    address = f"/collections/autumn/exports/banks/{bank.pk}/file/"
    answer = client.get(address, {"dialect": "assign", "by": config.pk})
    return [json.loads(line) for line in answer.content.decode().splitlines()]


def grade(bank, config, *ratings):
    topic = bank.collection.topics.get()
    passage = bank.collection.passages.get()
    for item, rating in zip(topic.items.order_by("pk"), ratings, strict=False):
        factories.grade(config, item, passage, rating)


def test_grades_of_a_grader_of_ours_are_assignments(client_of, owner, bank):
    config = config_for("x", "m", "NuggetAssignment")
    grade(bank, config, 1)
    (line,) = downloaded(client_of(owner), bank, config)
    assert line == {
        "query": "tides",
        "qid": "s1",
        "nuggets": [
            {"text": "The moon pulls", "importance": "vital", "assignment": "partial_support"},
            {"text": "Coasts matter", "importance": "okay", "assignment": "failed"},
        ],
        "run_id": "writer",
        "answer_text": TEXT,
        "response_length": 5,
    }


def test_other_scales_become_assignments_by_their_thresholds(client_of, owner, bank):
    config = imported_config("m", "NuggetSelfRatedPrompt", "rate")
    grade(bank, config, 4, 2)
    (line,) = downloaded(client_of(owner), bank, config)
    words = [nugget["assignment"] for nugget in line["nuggets"]]
    assert words == ["support", "partial_support"]
    page = client_of(owner).get(f"/collections/autumn/exports/banks/{bank.pk}/", {"dialect": "assign"})
    assert "m · NuggetSelfRatedPrompt" in page.content.decode()
