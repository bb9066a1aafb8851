"""The organizer's settings page: relevance level, members, what others may."""

import re

import pytest
from django.test import Client

from rubricweb.accounts.models import Membership
from rubricweb.core.models import AuditEntry
from tests.factories import MembershipFactory
from tests.rubricweb.markup import markup

PAGE, MEMBERS = "/collections/autumn/settings/", "/collections/autumn/people/members/"
VALID = {"name": "Autumn", "min_relevant": "2"}


def test_an_organizer_describes_the_collection(owner, collection, client_of):
    client = client_of(owner)
    client.post(PAGE, VALID | {"description": " Leaves & trees "})
    collection.refresh_from_db()
    assert collection.description == "Leaves & trees"
    assert "Leaves &amp; trees</textarea>" in markup(client.get(PAGE))


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"min_relevant": "0"}, {"min_relevant": "11"}],
)
def test_what_does_not_fit_changes_nothing(owner, collection, client_of, wrong):
    before = (collection.name, collection.min_relevant)
    answer = client_of(owner).post(PAGE, VALID | wrong)
    assert answer.status_code == 422
    collection.refresh_from_db()
    assert (collection.name, collection.min_relevant) == before


def test_an_organizer_changes_a_role(owner, viewer, collection, client_of):
    answer = client_of(owner).post(MEMBERS, {"username": "viewer", "role": "assessor"})
    assert answer.status_code == 302
    assert Membership.objects.get(user=viewer, collection=collection).role == "assessor"


def test_an_organizer_puts_a_participant_into_a_team(owner, outsider, collection, client_of):
    MembershipFactory(user=outsider, collection=collection, role="viewer")
    client, sent = client_of(owner), {"username": "outsider", "role": "participant", "team": " maple "}
    for wrong in ({"team": ""}, {"role": "viewer"}):
        assert client.post(MEMBERS, sent | wrong).status_code == 422
    assert client.post(MEMBERS, sent).status_code == 302
    assert Membership.objects.get(user=outsider, collection=collection).team == "maple"
    assert "participant of maple" in re.sub("<[^>]*>", "", markup(client.get("/collections/autumn/people/")))


def test_the_last_organizer_does_not_step_down(owner, collection, client_of):
    answer = client_of(owner).post(MEMBERS, {"username": "owner", "role": "viewer"})
    assert answer.status_code == 422
    assert "Nobody else organizes Autumn track" in markup(answer)
    assert Membership.objects.get(user=owner).role == "organizer"


@pytest.mark.parametrize("role", ["viewer", "assessor", "developer"])
def test_others_may_not(role, request, client_of):
    client: Client = client_of(request.getfixturevalue(role))
    assert client.get(PAGE).status_code == 403
    assert client.post(MEMBERS, {"username": "x", "role": "viewer"}).status_code == 403


def test_an_outsider_finds_nothing(outsider, collection, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404


def test_wrong_methods(owner, client_of):
    assert client_of(owner).put(PAGE).status_code == 405
    assert client_of(owner).get(MEMBERS).status_code == 405


def test_the_page_asks_few_queries(owner, client_of, django_assert_max_num_queries):
    browser = client_of(owner)
    with django_assert_max_num_queries(6):
        assert browser.get(PAGE).status_code == 200


def test_settings_that_somebody_changed_meanwhile_are_not_overwritten(owner, collection, client_of):
    def seen(page: str) -> str:
        return re.search(r'name="seen" value="(\w+)"', page).group(1)

    client = client_of(owner)
    started_from = seen(markup(client.get(PAGE)))
    client.post(PAGE, VALID | {"name": "Theirs", "seen": started_from})
    answer = client.post(PAGE, VALID | {"name": "Mine", "seen": started_from})
    assert answer.status_code == 409
    assert "Somebody changed these settings while you were editing them." in markup(answer)
    assert 'value="Mine"' in markup(answer)
    collection.refresh_from_db()
    assert collection.name == "Theirs"
    assert client.post(PAGE, VALID | {"name": "Mine", "seen": seen(markup(answer))}).status_code == 302
    collection.refresh_from_db()
    assert collection.name == "Mine"


def test_settings_leave_the_grader_as_it_is(owner, collection, client_of):
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-large"
    collection.grader_prompts, collection.grader_options = ["NuggetSelfRatedPrompt"], {"batch_size": 4}
    collection.save()
    assert client_of(owner).post(PAGE, VALID | {"name": "Winter"}).status_code == 302
    collection.refresh_from_db()
    assert (collection.name, collection.grader_llm) == ("Winter", "google/flan-t5-large")
    assert (collection.grader_prompts, collection.grader_options) == (
        ["NuggetSelfRatedPrompt"],
        {"batch_size": 4},
    )
    entry = AuditEntry.objects.get(verb="settings changed")
    assert entry.by == owner
    assert "name Winter" in entry.detail
    assert "grader_llm" not in entry.detail, "what did not change"
