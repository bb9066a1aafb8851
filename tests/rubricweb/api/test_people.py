"""Members, invitations, support labels, arena and responses, by scripts."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client

from grading.types import text_md5
from rubricweb.accounts.invitations import join
from rubricweb.accounts.models import Invitation
from rubricweb.arena.actions import Ballot, choose_battle, vote
from rubricweb.arena.models import Vote
from rubricweb.corpus.models import Response
from rubricweb.support.models import LabelledAnswer, SupportEvent, SupportJudge, SupportLabel
from tests.factories import PassageFactory, RunFactory, TopicFactory, UserFactory, responded
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db
MOON, SUN = "The moon pulls the sea.", "The sun helps."


def test_members_are_invited_changed_and_removed(collection, owner, script_of):
    script, person = script_of(owner), UserFactory(username="quillwort")
    sent = {"username": "quillwort", "role": "viewer"}
    invited = script.post(f"{AT}members/", sent, format="json")
    assert (invited.status_code, invited.json()["username"]) == (202, "quillwort")
    assert not person.memberships.exists()
    assert join(person.invitations.get(), person=person)
    assert script.post(f"{AT}members/", sent | {"role": "assessor"}, format="json").status_code == 201
    listed = {row["username"]: row["role"] for row in script.get(f"{AT}members/").json()["items"]}
    assert listed == {"owner": "organizer", "quillwort": "assessor"}
    assert script.delete(f"{AT}members/{person.pk}/").status_code == 204
    last = script.delete(f"{AT}members/{owner.pk}/")
    assert (last.status_code, "Nobody else organizes" in last.json()["detail"]) == (409, True)
    down = script.post(f"{AT}members/", {"username": "owner", "role": "viewer"}, format="json")
    assert (down.status_code, "Nobody else organizes" in down.json()["detail"]) == (409, True)


def test_members_by_script_do_not_tell_which_accounts_exist(collection, owner, script_of):
    script, answers = script_of(owner), []
    UserFactory(username="quillwort")
    for username in ("quillwort", "nobody"):
        sent = {"username": username, "role": "viewer"}
        answer = script.post(f"{AT}members/", sent, format="json")
        document = answer.json() | {"id": 0, "at": "", "expires_at": "", "username": ""}
        answers.append((answer.status_code, document))
    assert answers[0] == answers[1]


def test_an_invitation_shows_its_link_once_and_is_revoked(collection, owner, script_of):
    script = script_of(owner)
    made = script.post(f"{AT}invitations/", {"role": "viewer", "max_uses": 2}, format="json")
    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    link = made.json()["link"]
    assert Client().get(link).status_code in (200, 302)
    (row,) = script.get(f"{AT}invitations/").json()["items"]
    assert ("link" in row, row["max_uses"]) == (False, 2)
    assert script.delete(f"{AT}invitations/{row['id']}/").status_code == 204
    assert not Invitation.objects.usable().exists()
    for_many = script.post(f"{AT}invitations/", {"role": "participant"}, format="json")
    assert (for_many.status_code, for_many.json()["team"], for_many.json()["max_uses"]) == (201, "", 40)
    wrong = script.post(f"{AT}invitations/", {"role": "viewer", "team": "oak"}, format="json")
    assert (wrong.status_code, [*wrong.json()["errors"]]) == (400, ["team"])


@pytest.fixture
def sea(collection):
    """Two runs answer a topic; alpha's sentence cites a passage."""
    topic = TopicFactory(collection=collection, query_id="s1", text="Why do tides rise?")
    PassageFactory(collection=collection, doc_id="d1", text="The moon lifts the tides.")
    for tag, text in (("alpha", MOON), ("beta", SUN)):
        told = [{"text": text, "citations": [["d1", None]]}]
        run = RunFactory(collection=collection, run_tag=tag)
        Response.objects.create(run=run, topic=topic, sentences=told, passages_of="sentence")
    return topic


def test_responses_have_their_citations_and_shown_names(sea, owner, viewer, script_of):
    rows = script_of(owner).get(f"{AT}responses/", {"topic": "s1"}).json()["items"]
    cited = [{"text": MOON, "citations": [{"doc_id": "d1", "score": None}]}]
    assert [(row["run"], row["topic"]) for row in rows] == [("alpha", "s1"), ("beta", "s1")]
    assert rows[0]["sentences"] == cited
    hidden = script_of(viewer).get(f"{AT}responses/", {"run": rows[0]["run_id"]}).json()["items"]
    assert [(row["run"] == "alpha", row["sentences"]) for row in hidden] == [(False, cited)]
    assert script_of(owner).get(f"{AT}responses/", {"run": "999"}).status_code == 404


def test_a_citation_is_labelled_once_and_its_label_listed(sea, collection, assessor, script_of):
    script = script_of(assessor)
    moon = next(card for card in script.get(f"{AT}support/next/").json() if card["sentence"] == MOON)
    assert (moon["passage"], moon["shown_label"]) == ("The moon lifts the tides.", None)
    sent = {"topic": "s1", "sentence_md5": text_md5(MOON), "doc_id": "d1", "label": 2}
    for _ in range(2):
        answer = script.post(f"{AT}support/labels/", sent, format="json", headers={"Idempotency-Key": "l1"})
    assert (answer.status_code, answer.json()["label"], SupportEvent.objects.count()) == (201, 2, 1)
    assert script.get(f"{AT}support/labels/").json()["items"] == [answer.json()]
    left = [card["sentence"] for card in script.get(f"{AT}support/next/").json()]
    assert left == [SUN]
    other = script.post(f"{AT}support/labels/", {**sent, "doc_id": "d9"}, format="json")
    assert other.status_code == 404


def test_labels_of_models_are_listed(sea, collection, viewer, script_of):
    judge = SupportJudge.objects.create(collection=collection, backend="lexical", llm="x", prompt_id="P@1")
    SupportLabel.objects.create(judge=judge, topic=sea, sentence_md5=text_md5(MOON), doc_id="d1", label=1)
    (row,) = script_of(viewer).get(f"{AT}support/model-labels/").json()["items"]
    assert (row["llm"], row["topic"], row["label"]) == ("x", "s1", 1)


def test_labels_of_files_are_listed_by_answer_with_shown_names(sea, collection, owner, viewer, script_of):
    judge = SupportJudge.objects.create(collection=collection, backend="imported", llm="x")
    for author, response in zip((None, judge), sea.responses.order_by("pk"), strict=True):
        LabelledAnswer.objects.create(response=response, judge=author, labels=[[2]])
    rows = script_of(owner).get(f"{AT}support/answer-labels/").json()["items"]
    assert [(row["run"], row["by"]) for row in rows] == [("alpha", "people"), ("beta", "x")]
    assert (rows[0]["topic"], rows[0]["labels"], rows[0]["after_prediction_of"]) == ("s1", [[2]], "")
    hidden = script_of(viewer).get(f"{AT}support/answer-labels/").json()["items"]
    assert [row["response"] for row in hidden] == [row["response"] for row in rows]
    assert "alpha" not in {row["run"] for row in hidden}


@pytest.fixture
def voted(collection, assessor):
    topic = TopicFactory(collection=collection, query_id="t1", text="how do tides work")
    left, right = (responded(topic, tag, text).run for tag, text in (("alpha", MOON), ("beta", SUN)))
    collection.stamp += 1
    collection.save(update_fields=["stamp"])
    battle = choose_battle(topic, left, right, by=assessor)
    vote(battle, Ballot(Vote.Verdict.LEFT, None, uuid4()), by=assessor, seen=0)
    return battle


def test_the_arena_is_for_those_who_may_see_who_leads(voted, assessor, owner, script_of):
    script, query = script_of(owner), {"named": "true"}
    board = script.get(f"{AT}arena/board/", query).json()
    assert board["runs"][0]["run"] == "alpha"
    assert board["intervals"] == board["ranks"] == board["runs"][0]["note"] == "too few topics"
    (row,) = script.get(f"{AT}arena/votes/", query).json()
    assert (row["left"], row["answer"], row["voter"]) == ("alpha", "left", 1)
    for name in ("board", "votes", "battles"):
        assert script_of(assessor).get(f"{AT}arena/{name}/").status_code == 403, name
    assert script.get(f"{AT}arena/board/", {"verdict": "x"}).status_code == 400


def test_a_battle_is_listed_once_its_names_were_shown(voted, owner, script_of):
    (row,) = script_of(owner).get(f"{AT}arena/battles/").json()["items"]
    assert (row["topic"], row["left"], row["right"]) == ("t1", "alpha", "beta")
    assert row["person"].startswith("assessor-")
    voted.names_shown_at = None
    voted.save()
    assert script_of(owner).get(f"{AT}arena/battles/").json()["items"] == []


def test_the_stream_of_events_is_for_members(collection, viewer, outsider, script_of):
    events_at = f"{AT}events/"
    stream = script_of(viewer).get(events_at, headers={"Accept": "text/event-stream"})
    assert (stream.status_code, stream["Content-Type"]) == (200, "text/event-stream")
    assert stream.is_async
    assert stream["Cache-Control"] == "no-cache"
    assert script_of(outsider).get(events_at).status_code == 404
