"""Home: what waits for each role, and what an organizer has to do before a release."""

from __future__ import annotations

import re

import pytest

from rubricweb.accounts.roles import Role
from rubricweb.banks.changes import hide_item
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.campaigns.actions import close_campaign
from rubricweb.campaigns.conflicts import ConflictQuery, conflicts
from rubricweb.campaigns.models import Turn
from rubricweb.core.reader import everything
from rubricweb.corpus.models import Passage, Run
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GradingJob
from rubricweb.home.checklist import checklist_of
from rubricweb.review.flags.actions import assign, open_flag
from rubricweb.review.models import Kind, Subject
from tests.factories import CallFactory, MembershipFactory, RunFactory, lexical_config
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import HIDDEN, blind_campaign, world


@pytest.fixture
def bank(collection, owner, assessor):
    return world(collection, owner, second=assessor)


def tasks(response):
    return {task.what: task.count for task in response.context["waiting"].tasks}


def steps(collection):
    with everything():
        return {step.name: (step.state, step.detail) for step in checklist_of(collection).steps}


def test_cells_wait_for_those_who_may_rate_them(bank, collection, owner, assessor, viewer, client_of):
    blind_campaign(bank, by=owner, assignees=[assessor])
    response = client_of(assessor).get("/")
    assert tasks(response) == {"pairs to rate in": HIDDEN}
    assert response.context["work"].first.task.count == HIDDEN
    assert "You rate blind" in markup(response)
    assert "pairs to rate in" not in tasks(client_of(owner).get("/"))
    assert tasks(client_of(viewer).get("/")) == {}


def test_conflicts_are_those_of_adjudication(bank, collection, owner, client_of):
    expected = conflicts(collection, ConflictQuery(), owner).open
    assert tasks(client_of(owner).get("/"))["conflicts between assessors"] == expected > 0


def test_a_withdrawn_rating_and_a_blind_cell_are_no_conflict(bank, collection, owner, assessor, client_of):
    campaign = blind_campaign(bank, by=owner)
    expected = conflicts(collection, ConflictQuery(), owner).open
    assert tasks(client_of(owner).get("/")).get("conflicts between assessors", 0) == expected
    campaign.delete()
    HumanGrade.objects.filter(by=assessor).update(is_withdrawn=True, rating=None)
    assert "conflicts between assessors" not in tasks(client_of(owner).get("/"))


def test_flags_of_nobody_wait_for_topic_developers(bank, owner, assessor, client_of):
    item = bank.items.first()
    flag = open_flag(Subject(bank, item.topic, item, None), kind=Kind.COMMENT, text="Hm.", by=owner)
    assert tasks(client_of(owner).get("/"))["flag to answer"] == 1
    assert tasks(client_of(assessor).get("/")) == {}
    assign(flag, to=assessor, seen=flag.version, by=owner)
    assert tasks(client_of(assessor).get("/")) == {"flag to answer": 1}
    hide_item(item, seen=item.version, by=owner)
    assert tasks(client_of(assessor).get("/")) == {}
    assert "1 flag to answer" in steps(bank.collection)["Checked"][1]


def test_drafts_jobs_and_files_of_teams_wait_for_organizers(bank, collection, owner, client_of):
    topic = collection.topics.first()
    request = DraftRequest.objects.create(
        bank=bank, topic=topic, kind="nugget", backend="lexical", llm="x", prompt_id="P@1", state="done"
    )
    Draft.objects.create(request=request, text="Leaves turn red")
    GradingJob.objects.create(
        collection=collection, config=lexical_config(), scope="all", total=3, state="paused"
    )
    RunFactory(collection=collection, run_tag="new", state=Run.State.SUBMITTED)
    RunFactory(collection=collection, run_tag="unfinished", state=Run.State.SUBMITTED, is_made_here=True)
    call = CallFactory(collection=collection)
    call.submissions.create(
        team="oak", by=owner, name="a.run", received_at=call.opens_at, state="done", outcome="late"
    )
    response = client_of(owner).get("/")
    rows = {"draft to accept or reject": 1, "paused job": 1, "run to accept": 1, "late file to decide on": 1}
    assert tasks(response).items() >= rows.items()
    assert f"/editor/banks/{bank.pk}/topics/{topic.pk}/drafts/" in response.text
    places = {task.what: task.address for task in response.context["waiting"].tasks}
    assert places["run to accept"] == places["late file to decide on"] == "/collections/autumn/submissions/"
    assert steps(collection)["Runs"] == ("open", "3 runs accepted; 1 submitted run and 1 late file left")


def test_the_checklist_names_what_is_left(autumn, assessor, client_of):
    found = steps(autumn.collection)
    assert found["Grades"] == ("open", "7 pairs left")
    assert found["Rubric"] == ("done", "3 items")
    GradingJob.objects.create(collection=autumn.collection, config=autumn.config, scope="1 item", total=3)
    assert steps(autumn.collection)["Grades"] == ("running", "7 pairs left")
    assert client_of(assessor).get("/").context["only"].checklist is None


def test_an_open_campaign_keeps_the_release_waiting(bank, collection, owner, assessor, client_of):
    campaign = blind_campaign(bank, by=owner, assignees=[assessor])
    cells = f"{HIDDEN} pairs are left out until their campaigns are closed"

    def campaigns() -> str:
        state, detail = steps(collection)["Checked"]
        assert state == "open"
        return detail

    assert campaigns().startswith(f"{2 * HIDDEN} ratings left in campaigns; {cells}; ")
    Turn.objects.update(state=Turn.State.SUBMITTED)
    assert campaigns().startswith(f"{cells}; ")
    assert tasks(client_of(owner).get("/"))["rated campaign to close"] == 1
    turn = Turn.objects.select_related("cell").first()
    Turn.objects.filter(pk=turn.pk).update(state=Turn.State.PENDING)
    assert "rated campaign to close" not in tasks(client_of(owner).get("/"))
    Passage.objects.filter(pk=turn.cell.passage_id).update(text="")  # then nobody can rate it
    assert tasks(client_of(owner).get("/"))["rated campaign to close"] == 1
    assert "rated campaign to close" not in tasks(client_of(assessor).get("/"))
    close_campaign(campaign, by=owner)
    assert "rated campaign to close" not in tasks(client_of(owner).get("/"))
    assert re.match(r"\d conflicts? between assessors;", campaigns())


def test_an_empty_collection_begins_with_its_import(collection, owner, client_of):
    first = client_of(owner).get("/").context["only"].checklist.next
    assert (first.name, first.verb) == ("Topics", "Import")


def test_a_participant_has_no_collection_here(collection, outsider, client_of):
    MembershipFactory(user=outsider, collection=collection, role=Role.PARTICIPANT, team="oak")
    response = client_of(outsider).get("/")
    assert response.context["rows"] == []
    assert "Waiting for you" not in response.text
