"""The organizer's settings page: grader, relevance level, members."""

import re

import pytest
from django.test import Client

from grading.graders import BACKENDS
from rubricweb.accounts.models import Membership
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.prompts import active_prompts, save_prompt
from tests.factories import STRICT, MembershipFactory
from tests.rubricweb.markup import markup

PAGE, MEMBERS = "/collections/autumn/settings/", "/collections/autumn/people/members/"
VALID = {"name": "Autumn", "min_relevant": "2", "grader_backend": "hf_seq2seq", "grader_llm": ""}


def test_an_organizer_chooses_the_grader(owner, collection, client_of):
    answer = client_of(owner).post(PAGE, VALID)
    assert answer.status_code == 302
    collection.refresh_from_db()
    assert (collection.grader_backend, collection.grader_llm) == ("hf_seq2seq", "google/flan-t5-large")
    assert AuditEntry.objects.get(verb="settings changed").by == owner


def test_the_baseline_always_goes_by_its_own_name(owner, collection, client_of):
    client_of(owner).post(PAGE, VALID | {"grader_backend": "lexical", "grader_llm": "google/flan-t5-large"})
    collection.refresh_from_db()
    assert collection.grader_llm == "lexical"


def test_the_name_of_the_baseline_is_not_offered_as_a_model(owner, collection, client_of):
    client = client_of(owner)
    client.post(PAGE, VALID | {"grader_backend": "lexical"})
    assert 'value="lexical" selected' in markup(client.get(PAGE))
    assert client.get(PAGE).context["settings_form"]["grader_llm"].value() == ""


def test_an_organizer_describes_the_collection(owner, collection, client_of):
    client = client_of(owner)
    client.post(PAGE, VALID | {"description": " Leaves & trees "})
    collection.refresh_from_db()
    assert collection.description == "Leaves & trees"
    assert "Leaves &amp; trees</textarea>" in markup(client.get(PAGE))


def test_an_organizer_chooses_what_regrade_asks(owner, collection, client_of):
    client = client_of(owner)
    chosen = ["FagB", "QuestionCompleteConcisePromptWithAnswerKey2", "NuggetSelfRatedPrompt"]
    assert client.post(PAGE, VALID | {"grader_prompts": chosen}).status_code == 302
    collection.refresh_from_db()
    assert sorted(collection.grader_prompts) == sorted(chosen)
    page = markup(client.get(PAGE))
    assert sorted(re.findall(r'value="(\w+)"[^>]* checked', page)) == sorted(chosen)
    for words in ("Rates questions", "Extracts answers", "Labels passages directly", "Verifies answers"):
        assert words in page
    assert 'Whether the passage is relevant for the query, 0 to 1 <span class="muted">FagB</span>' in page
    assert "Whether an answer that was extracted before is as right as the answer key, 0 to 1 " in page


def test_the_default_prompts_are_kept_as_no_choice(owner, collection, client_of):
    client, default = client_of(owner), BACKENDS["hf_seq2seq"].prompt_classes
    for posted in ([*default], [*default, "FagB"], []):
        client.post(PAGE, VALID | {"grader_prompts": posted})
        collection.refresh_from_db()
        assert collection.grader_prompts == (posted if "FagB" in posted else [])
    assert sorted(re.findall(r'value="(\w+)"[^>]* checked', markup(client.get(PAGE)))) == sorted(default)


def test_the_baseline_asks_in_its_own_way_only(owner, collection, client_of):
    client_of(owner).post(PAGE, VALID | {"grader_backend": "lexical", "grader_prompts": ["FagB"]})
    collection.refresh_from_db()
    assert collection.grader_prompts == []


@pytest.mark.parametrize(
    "wrong",
    [{"grader_prompts": ["Oracle"]}, {"name": ""}, {"min_relevant": "0"}, {"grader_backend": "oracle"}],
)
def test_what_does_not_fit_changes_nothing(owner, collection, client_of, wrong):
    before = (collection.name, collection.grader_backend)
    answer = client_of(owner).post(PAGE, VALID | wrong)
    assert answer.status_code == 422
    collection.refresh_from_db()
    assert (collection.name, collection.grader_backend) == before


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


def test_whoever_asks_about_answers_must_extract_them(owner, collection, client_of):
    client, verifying = client_of(owner), "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"
    refused = client.post(PAGE, VALID | {"grader_prompts": [verifying, "NuggetExtractionPrompt"]})
    assert refused.status_code == 422
    assert f"{verifying} asks about extracted answers: tick a prompt" in markup(refused)
    both = ["QuestionCompleteConciseUnanswerablePromptWithChoices", verifying]
    assert client.post(PAGE, VALID | {"grader_prompts": both}).status_code == 302
    collection.refresh_from_db()
    assert collection.grader_prompts == both


def test_own_prompts_are_offered_by_their_id(owner, collection, client_of):
    client, row = client_of(owner), save_prompt(collection, STRICT, by=owner)[0]
    assert f'questions, 0 to 3 <span class="muted">{row.prompt_id}</span>' in markup(client.get(PAGE))
    assert client.post(PAGE, VALID | {"grader_prompts": [row.prompt_id]}).status_code == 302
    collection.refresh_from_db()
    assert active_prompts(collection) == (STRICT,)
    client.post(PAGE, VALID | {"grader_backend": "lexical", "grader_prompts": [row.prompt_id]})
    collection.refresh_from_db()
    assert [prompt.prompt_class for prompt in active_prompts(collection)] == ["LexicalBaseline"]


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
