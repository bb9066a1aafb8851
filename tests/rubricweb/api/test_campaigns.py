"""Campaigns by scripts: planned, opened, watched, closed."""

from __future__ import annotations

import pytest

from rubricweb.campaigns.models import Campaign
from tests.factories import grade, lexical_config, ranked
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db
CAMPAIGNS = f"{AT}campaigns/"


@pytest.fixture
def graded(bank):
    """Twelve grades of two topics, and two runs."""
    for item in bank.items.all():
        for pooled in item.topic.pool.all():
            grade(lexical_config(), item, pooled.passage, item.position + 1)
    topic = bank.collection.topics.first()
    doc_ids = [row.passage.doc_id for row in topic.pool.all()]
    ranked(topic, {"alpha": doc_ids, "beta": doc_ids[::-1]})
    return bank


@pytest.fixture
def new(graded) -> dict[str, object]:
    topics = [graded.collection.topics.first().query_id]
    chosen = {"name": "First", "bank": graded.pk, "grader": lexical_config().pk, "order": "random"}
    return {**chosen, "topics": topics, "assignees": ["assessor"], "assessors": 2}


def test_a_campaign_is_planned_without_being_opened(new, assessor, owner, script_of):
    plan = script_of(owner).post(f"{CAMPAIGNS}plan/", {**new, "seconds": 30}, format="json")
    assert plan.status_code == 200
    document = plan.json()
    assert (document["cells"], document["ratings"], document["raters"]) == (6, 12, 1)
    assert (document["hours"], document["is_measured"]) == (pytest.approx(12 * 30 / 3600), False)
    assert not Campaign.objects.exists()


def test_it_is_opened_watched_closed_and_reopened(new, assessor, owner, viewer, script_of):
    script = script_of(owner)
    made = script.post(CAMPAIGNS, new, format="json")
    assert (made.status_code, made.json()["counts"]["total"]) == (201, 12)
    campaign = Campaign.objects.get()
    assert [person.username for person in campaign.assignees.all()] == ["assessor"]
    at = made["Location"]
    assert script.get(at).json()["random"] == 6
    (row,) = script_of(viewer).get(CAMPAIGNS).json()["items"]
    assert (row["name"], row["mode"], row["counts"]["done"]) == ("First", "blind", 0)
    for steer in ("close", "close", "reopen"):
        now = script.post(f"{at}{steer}/").json()
        assert (now["closed_at"] is None) == (steer == "reopen")
    assert script.post(f"{at}explode/").status_code == 404


@pytest.mark.parametrize(
    ("wrong", "status", "field"),
    [
        ({"topics": ["nowhere"]}, 400, "topics"),
        ({"assignees": ["nobody"]}, 400, "assignees"),
        ({"grader": 1}, 400, "grader"),
        ({"kinds": ["nugget"]}, 422, ""),
        ({"assessors": 0}, 400, "assessors"),
    ],
)
def test_what_does_not_fit_is_named(wrong, status, field, new, assessor, owner, script_of):
    answer = script_of(owner).post(CAMPAIGNS, {**new, **wrong}, format="json")
    assert (answer.status_code, [*answer.json().get("errors", [""])]) == (status, [field])
    assert not Campaign.objects.exists()
