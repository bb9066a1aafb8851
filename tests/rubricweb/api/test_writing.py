"""What scripts write: items, ratings and jobs; once, and never over somebody else's change."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from rubricweb.accounts.models import Membership
from rubricweb.api.models import KeptAnswer
from rubricweb.banks.models import Item
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GradingJob
from tests.factories import CollectionFactory
from tests.rubricweb.api.conftest import AT

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"

pytestmark = pytest.mark.django_db

WORDS = "Which trees stay green?"


@pytest.fixture
def items(bank) -> str:
    return f"{AT}banks/{bank.pk}/items/"


@pytest.fixture
def new(bank) -> dict[str, str]:
    return {"topic": bank.collection.topics.first().query_id, "kind": "question", "text": WORDS}


def test_an_item_is_added_reworded_weighed_retired_and_restored(items, new, developer, script_of):
    script = script_of(developer)
    made = script.post(items, new, format="json")
    assert (made.status_code, made["ETag"], made.json()["text"]) == (201, '"1"', WORDS)
    at = made["Location"]
    edits = [
        {"text": "Which trees keep their leaves?"},
        {"importance": "okay", "weight": 0.25},
        {"retired": True},
        {"retired": False},
    ]
    for seen, edit in enumerate(edits, 1):
        answer = script.patch(at, edit, format="json", headers={"If-Match": f'"{seen}"'})
        assert (answer.status_code, answer["ETag"]) == (200, f'"{seen + 1}"')
    now = script.get(at).json()
    assert (now["text"], now["importance"], now["weight"], now["retired_at"]) == (
        "Which trees keep their leaves?",
        "okay",
        0.25,
        None,
    )
    verbs = [row["verb"] for row in script.get(f"{at}history/").json()["items"]]
    assert verbs == ["added", "reworded", "weighed", "retired", "restored"]


def test_a_change_over_somebody_elses_is_refused_with_both(items, new, developer, script_of):
    script = script_of(developer)
    at, first = script.post(items, new, format="json")["Location"], {"text": "Theirs?"}
    assert script.patch(at, first, format="json", headers={"If-Match": '"1"'}).status_code == 200
    late = script.patch(at, {"text": "Mine?"}, format="json", headers={"If-Match": '"1"'})
    assert late.status_code == 412
    refusal = late.json()
    assert (refusal["seen"], refusal["before"]) == (1, {"version": 1, "text": WORDS})
    assert refusal["now"] == {"version": 2, "text": "Theirs?", "retired": False}
    unseen = script.patch(at, {"text": "Mine?"}, format="json")
    assert unseen.status_code == 428
    assert script.get(at).json()["text"] == "Theirs?"


@pytest.mark.parametrize(
    ("edit", "status"),
    [({}, 400), ({"text": "A?", "retired": True}, 400), ({"weight": 1}, 400), ({"text": ""}, 400)],
)
def test_an_edit_that_does_not_fit_changes_nothing(edit, status, items, bank, developer, script_of):
    item = bank.items.first()
    sent = script_of(developer).patch(f"{items}{item.pk}/", edit, format="json", headers={"If-Match": '"1"'})
    assert sent.status_code == status
    assert Item.objects.get(pk=item.pk).version == 1


def test_the_same_wording_twice_is_refused(items, new, developer, script_of):
    script = script_of(developer)
    assert script.post(items, new, format="json").status_code == 201
    again = script.post(items, new, format="json")
    assert (again.status_code, again.json()["detail"]) == (422, "This topic already asks exactly this.")


def test_the_present_state_of_a_bank_is_named(items, bank, developer, script_of):
    script, at = script_of(developer), f"{AT}banks/{bank.pk}/versions/"
    made = script.post(at, {"name": "First", "note": "Before the pilot."}, format="json")
    assert (made.status_code, made.json()["number"]) == (201, 1)
    assert script.get(at).json()["items"] == [made.json()]
    again = script.post(at, {"name": "First"}, format="json")
    assert (again.status_code, "already" in again.json()["detail"]) == (422, True)


def test_what_is_sent_twice_with_a_key_is_done_once(items, new, developer, script_of):
    script, key = script_of(developer), {"Idempotency-Key": "a1"}
    first = script.post(items, new, format="json", headers=key)
    second = script.post(items, new, format="json", headers=key)
    assert (first.status_code, second.status_code) == (201, 201)
    assert (second.json(), second["Location"]) == (first.json(), first["Location"])
    assert ("Idempotency-Replayed" in first, second["Idempotency-Replayed"]) == (False, "true")
    assert Item.objects.filter(revision__text=WORDS).count() == 1
    other = script.post(items, new | {"text": "Another?"}, format="json", headers=key)
    assert other.status_code == 422
    refused = script.post(items, new, format="json", headers={"Idempotency-Key": "b2"})
    assert refused.status_code == 422
    assert KeptAnswer.objects.count() == 1, "errors are not kept"


def test_a_kept_answer_is_for_who_still_may_have_it(items, new, developer, collection, script_of):
    """The right is checked each time: with less of it, the same request is refused as any other is."""
    key = {"Idempotency-Key": "a1"}
    script = script_of(developer)
    elsewhere = script_of(developer, collection=CollectionFactory())
    assert script.post(items, new, format="json", headers=key).status_code == 201
    assert elsewhere.post(items, new, format="json", headers=key).status_code == 404
    membership = developer.memberships.get(collection=collection)
    Membership.objects.filter(pk=membership.pk).update(role="viewer")
    assert script.post(items, new, format="json", headers=key).status_code == 403
    membership.delete()
    assert script.post(items, new, format="json", headers=key).status_code == 404


def test_a_key_is_its_owners(items, new, developer, owner, script_of):
    key = {"Idempotency-Key": "a1"}
    assert script_of(developer).post(items, new, format="json", headers=key).status_code == 201
    assert script_of(owner).post(items, new | {"text": "B?"}, format="json", headers=key).status_code == 201


def test_a_contradiction_is_a_rating_where_a_grader_knows_them(collection, assessor, script_of):
    files = ("--bank", FORMATS / "banks" / "dragun.json", "--assignments", FORMATS / "assessments.csv")
    call_command("import_collection", collection.slug, *map(str, files), "--by", "judge", verbosity=0)
    item = collection.banks.get().items.first()
    script, cell = script_of(assessor), {"topic": item.topic.query_id, "item": item.pk, "seen": 0}
    cell |= {"passage": item.topic.pool.first().passage_id}
    off = script.post(f"{AT}ratings/", cell | {"rating": -1}, format="json")
    assert off.json()["errors"] == {"rating": ["-1, expected 0 to 5, or -5 for contradicts"]}
    sent = script.post(f"{AT}ratings/", cell | {"rating": -5}, format="json")
    assert (sent.status_code, sent.json()["rating"]) == (201, -5)
    assert HumanGrade.objects.get().rating == -5


def test_a_rating_is_saved_once_and_in_turn(bank, assessor, script_of):
    script, item = script_of(assessor), bank.items.first()
    cell = {"topic": item.topic.query_id, "item": item.pk, "passage": item.topic.pool.first().passage_id}
    sent = script.post(f"{AT}ratings/", cell | {"rating": 4, "seen": 0}, format="json")
    assert (sent.status_code, sent.json()["rating"], sent.json()["number"]) == (201, 4, 1)
    late = script.post(f"{AT}ratings/", cell | {"rating": 1, "seen": 0}, format="json")
    assert late.status_code == 409
    off = script.post(f"{AT}ratings/", cell | {"rating": 6, "seen": 1}, format="json")
    assert (off.status_code, [*off.json()["errors"]]) == (400, ["rating"])
    below = script.post(f"{AT}ratings/", cell | {"rating": -5, "seen": 1}, format="json")
    assert (below.status_code, below.json()["errors"]) == (400, {"rating": ["-5, expected 0 to 5"]})
    row = HumanGrade.objects.get()
    assert (row.rating, row.by) == (4, assessor)


def test_a_job_is_planned_started_watched_and_cancelled(bank, developer, script_of):
    script, scope = script_of(developer), {"topic": bank.collection.topics.first().query_id}
    plan = script.post(f"{AT}jobs/plan/", scope, format="json").json()
    assert plan["cells"] == sum(part["cells"] for part in plan["by_grader"]) > 0
    assert not GradingJob.objects.exists()
    started = script.post(f"{AT}jobs/", scope, format="json")
    (job,) = started.json()["jobs"]
    assert (started.status_code, job["total"]) == (202, plan["cells"])
    at = started["Location"]
    assert script.get(at).json()["progress"]["done"] == 0
    assert script.post(f"{at}pause/").json()["state"] == "paused"
    assert script.post(f"{at}cancel/").json()["state"] == "cancelled"
    assert script.post(f"{at}explode/").status_code == 404
    again = script.post(f"{AT}jobs/plan/", scope, format="json").json()
    assert again["cells"] == plan["cells"]


@pytest.mark.parametrize(("person", "statuses"), [("viewer", (403, 403, 403)), ("assessor", (201, 202, 403))])
def test_roles_are_those_of_the_pages(person, statuses, items, new, request, developer, script_of):
    job = script_of(developer).post(f"{AT}jobs/", {}, format="json")["Location"]
    script = script_of(request.getfixturevalue(person))
    sent = [
        script.post(items, new, format="json"),
        script.post(f"{AT}jobs/", {}, format="json"),
        script.post(f"{job}pause/"),
    ]
    assert tuple(answer.status_code for answer in sent) == statuses
