"""Flags by scripts: listed, opened, answered, decided; and never over somebody else's decision."""

from __future__ import annotations

from uuid import uuid4

import pytest

from rubricweb.core.models import AuditEntry
from rubricweb.review.models import Flag
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db
FLAGS = f"{AT}flags/"


@pytest.fixture
def cell(bank) -> dict[str, object]:
    item = bank.items.first()
    passage = item.topic.pool.first().passage_id
    return {"bank": bank.pk, "topic": item.topic.query_id, "item": item.pk, "passage": passage}


@pytest.fixture
def flag(cell, assessor, script_of):
    """A cell that the assessor flagged."""
    sent = {**cell, "kind": "spurious", "text": "It asks nothing."}
    return script_of(assessor).post(FLAGS, sent, format="json")


def test_a_flag_is_opened_read_and_listed(flag, cell, viewer, script_of):
    assert (flag.status_code, flag["ETag"]) == (201, '"1"')
    script = script_of(viewer)
    document = script.get(flag["Location"]).json()
    assert {name: document[name] for name in cell} == cell
    assert [(one["verb"], one["text"], one["by"]) for one in document.pop("events")] == [
        ("opened", "It asks nothing.", "assessor")
    ]
    assert script.get(FLAGS).json()["items"] == [document]
    assert AuditEntry.objects.filter(verb="flag opened").count() == 1


def test_a_thread_is_answered_assigned_resolved_and_reopened(flag, developer, script_of):
    script, at = script_of(developer), f"{flag['Location']}events/"
    said = [
        {"verb": "replied", "text": "I see."},
        {"verb": "assigned", "assignee": "developer"},
        {"verb": "resolved", "text": "Reworded."},
        {"verb": "reopened"},
    ]
    for seen, event in enumerate(said, 1):
        answer = script.post(at, event, format="json", headers={"If-Match": f'"{seen}"'})
        assert (answer.status_code, answer["ETag"]) == (201, f'"{seen + 1}"'), answer.json()
    document = script.get(flag["Location"]).json()
    assert [event["verb"] for event in document["events"]] == ["opened", *(event["verb"] for event in said)]
    assert (document["assignee"], document["resolved_at"]) == ("developer", None)


def test_a_decision_over_somebody_elses_is_refused_with_what_they_did(flag, developer, script_of):
    script, at = script_of(developer), f"{flag['Location']}events/"
    script.post(at, {"verb": "replied", "text": "Wait."}, format="json")
    late = script.post(at, {"verb": "resolved"}, format="json", headers={"If-Match": '"1"'})
    assert (late.status_code, late.json()["since"]) == (
        412,
        [{"number": 2, "verb": "replied", "text": "Wait."}],
    )
    assert script.post(at, {"verb": "resolved"}, format="json").status_code == 428
    assert Flag.objects.get().is_open


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({}, 1),
        ({"state": "open"}, 1),
        ({"state": "resolved"}, 0),
        ({"kind": "spurious"}, 1),
        ({"kind": "unclear"}, 0),
        ({"topic": "nowhere"}, 0),
    ],
)
def test_the_list_is_narrowed(query, number, flag, viewer, script_of):
    assert len(script_of(viewer).get(FLAGS, query).json()["items"]) == number


def test_what_does_not_fit_is_refused(cell, flag, assessor, script_of):
    script, at = script_of(assessor), f"{flag['Location']}events/"
    of_passage = {**cell, "kind": "spurious"}
    del of_passage["item"]
    assert script.post(FLAGS, of_passage, format="json").status_code == 422
    assert script.post(FLAGS, {**cell, "kind": "comment"}, format="json").status_code == 422
    assert script.get(FLAGS, {"state": "x"}).status_code == 400
    unknown = {"verb": "assigned", "assignee": "nobody"}
    answer = script.post(at, unknown, format="json", headers={"If-Match": '"1"'})
    assert (answer.status_code, [*answer.json()["errors"]]) == (400, ["assignee"])


def test_an_event_that_is_sent_twice_is_saved_once(flag, assessor, script_of):
    reply = {"verb": "replied", "text": "Look.", "event": str(uuid4())}
    for _ in range(2):
        answer = script_of(assessor).post(f"{flag['Location']}events/", reply, format="json")
    assert (answer.status_code, Flag.objects.get().version) == (201, 2)
