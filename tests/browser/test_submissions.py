"""A participant's way: home, a file that is refused, the corrected one; and the organizer's desk."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from grading.submissions import rules_as_json, rules_of
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.submissions.models import Call
from tests.factories import CallFactory, MembershipFactory
from tests.rubricweb.import_files import response
from tests.rubricweb.submissions.conftest import lines


@pytest.fixture
def call(demo) -> Call:
    viewer = User.objects.get(username="viewer")
    viewer.memberships.all().delete()
    MembershipFactory(user=viewer, collection=demo, role=Role.PARTICIPANT, team="maple")
    rules = rules_as_json(rules_of("rag25")) | {"off": ["narrative"]}
    return CallFactory(collection=demo, rules=rules, runs_per_team=3, text="Ask us first.")


def run(run_id: str, call: Call) -> dict[str, object]:
    topics = call.collection.topics.values_list("query_id", flat=True)
    content = lines(*(response(run_id, topic, "Maples turn red.", team_id="maple") for topic in topics))
    return {"name": "run.jsonl", "mimeType": "application/json", "buffer": content}


def test_from_home_to_a_corrected_run(people, call, inspector_of, places):
    page = people.sign_in("viewer")
    page.goto("/")
    expect(page.get_by_role("heading", name="Submit a run for generation")).to_be_visible()
    file = page.get_by_label("File", exact=True)
    file.set_input_files([run("no blanks", call)])
    page.get_by_role("button", name="Check only").click()
    expect(page.locator("#checked")).to_contain_text("would be refused")
    page.get_by_role("button", name="Submit and check", exact=True).press("Enter")
    expect(page.locator("#outcome")).to_contain_text("Refused")
    inspector = inspector_of("viewer")
    inspector.open(page.url)
    inspector.inspect("report")
    file.set_input_files([run("reader-1", call)])
    page.get_by_role("button", name="Check only").click()
    expect(page.locator("#checked")).to_contain_text("reader-1 would be accepted")
    page.get_by_role("button", name="Submit and check again").press("Enter")
    expect(page.locator("#outcome")).to_contain_text("The run reader-1 is in")
    page.evaluate("window.confirm = (words) => (document.title = words) === ''")
    page.get_by_role("button", name="Withdraw the run").click()
    expect(page).to_have_title("Withdraw reader-1?")
    page.evaluate("window.confirm = () => true")
    page.get_by_role("button", name="Withdraw the run").click()
    expect(page.locator("#outcome")).to_contain_text("The run is withdrawn")
    for name, address in {
        "submit": places.of_collection("submissions:submit"),
        "results": places.of_collection("home:results"),
        "taken": page.url,
    }.items():
        inspector.open(address)
        inspector.inspect(name)
    organizer = inspector_of("organizer")
    for name, address in {
        "desk": places.of_collection("submissions:desk"),
        "new call": places.of_collection("submissions:call-new"),
        "call": f"/collections/{call.collection.slug}/submissions/calls/{call.pk}/",
    }.items():
        organizer.open(address)
        organizer.inspect(name)


def test_another_track_shows_its_rules_before_the_call_opens(people, call, places):
    page = people.sign_in("organizer")
    page.goto(places.of_collection("submissions:call-new"))
    page.get_by_label("Rules of", exact=True).select_option(label="TREC RAG 2024")
    expect(page.get_by_role("heading", name="Rules of TREC RAG 2024")).to_be_visible()
    page.get_by_label("Task").fill("retrieval")
    page.get_by_role("button", name="Open the call").click()
    expect(page.get_by_role("heading", name="retrieval")).to_be_visible()


def test_on_a_phone_the_deadline_stands_above_what_was_submitted(people, call):
    page = people.sign_in("viewer", viewport={"width": 390, "height": 844})
    page.goto("/")
    deadline, own = (page.locator(f"section[aria-labelledby={name}]") for name in ("deadline", "own"))
    assert deadline.bounding_box()["y"] < own.bounding_box()["y"]
