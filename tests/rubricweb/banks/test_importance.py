"""A model says the importance of nuggets; an item changes only when a person accepts it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from grading.types import Importance, ItemKind
from rubricweb.banks import drafting
from rubricweb.banks.actions import add_item, revise_item, weigh_item
from rubricweb.banks.changes import AlreadyDecided, CannotDraft
from rubricweb.banks.draft_models import Draft, DraftRequest, ImportanceSuggestion
from rubricweb.banks.drafting import DraftOptions
from rubricweb.core.models import AuditEntry
from rubricweb.editor import draft_inbox as selectors
from rubricweb.jobs.worker import work_on
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

MODEL = {"backend": "hf_seq2seq", "llm": "tiny"}
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def nuggets(bank, topic):
    texts = ("red pigment", "short days", "maple syrup")
    return [add_item(bank, topic, kind=ItemKind.NUGGET, text=text, by=None) for text in texts]


@pytest.fixture
def drafted(bank, topic, says):
    """A nugget that a model drafted and nobody has decided about."""
    asked = drafting.request_drafts(bank, topic, DraftOptions(ItemKind.NUGGET, **MODEL), by=None)
    says('{"nuggets": ["frost dulls colours"]}')
    work_on("drafts", asked.pk)
    return Draft.objects.get()


def weighed(bank, topic, says, *replies):
    asked = drafting.request_importance(bank, topic, **MODEL, by=None)
    llm = says(*replies)
    work_on("drafts", asked.pk)
    asked.refresh_from_db()
    return asked, llm


def suggested(bank, topic):
    return [str(row) for row in selectors.inbox(bank, topic).suggestions]


def test_the_model_reads_nuggets_and_drafts_and_what_differs_waits(bank, topic, nuggets, drafted, says):
    reply = '["vital", "okay", "okay", "okay"]'
    asked, llm = weighed(bank, topic, says, reply)
    assert "[1] red pigment\n[2] short days\n[3] maple syrup\n[4] frost dulls colours" in llm.asked[0]
    assert (asked.state, asked.prompt_id, asked.reply) == ("done", "NuggetImportance@1", reply)
    assert str(asked) == "importance of nuggets by tiny"
    assert suggested(bank, topic) == ["short days: okay", "maple syrup: okay"]
    (row,) = selectors.inbox(bank, topic).rows
    assert row.importance == "okay"
    assert ImportanceSuggestion.objects.get(text="red pigment").state == "agreed"
    assert {item.importance for item in bank.items.all()} == {"vital"}


def test_accepting_weighs_the_item_with_its_history(bank, topic, nuggets, says, developer):
    weighed(bank, topic, says, '["vital", "okay", "okay"]')
    first, second = selectors.inbox(bank, topic).suggestions
    item = drafting.accept_suggestion(first, by=developer)
    item.refresh_from_db()
    assert (str(item), item.importance, item.weight, item.version) == ("short days", "okay", 0.5, 2)
    assert (item.changes.first().verb, item.changes.first().by) == ("weighed", developer)
    drafting.leave_suggestion(second, by=developer)
    assert suggested(bank, topic) == []
    assert bank.items.get(revision__text="maple syrup").importance == "vital"
    assert AuditEntry.objects.filter(verb__startswith="importance", by=developer).count() == 2
    for decide in (drafting.accept_suggestion, drafting.leave_suggestion):
        with pytest.raises(AlreadyDecided):
            decide(first, by=developer)


def test_a_draft_that_is_accepted_as_it_is_takes_its_importance_over(bank, topic, drafted, says):
    weighed(bank, topic, says, '["okay"]')
    item = drafting.accept_draft(drafted, by=None)
    item.refresh_from_db()
    assert (str(item), item.importance) == ("frost dulls colours", "okay")


def test_a_draft_with_other_words_does_not(bank, topic, drafted, says):
    weighed(bank, topic, says, '["okay"]')
    item = drafting.accept_draft(drafted, text="frost brightens colours", by=None)
    item.refresh_from_db()
    assert item.importance == "vital"


def test_a_reworded_or_retired_nugget_is_suggested_nothing(bank, topic, nuggets, says):
    weighed(bank, topic, says, '["okay", "okay", "okay"]')
    revise_item(nuggets[0], text="anthocyanin", seen=1, by=None)
    bank.items.filter(pk=nuggets[1].pk).update(retired_at="2026-01-01T00:00Z")
    assert suggested(bank, topic) == ["maple syrup: okay"]


def test_a_later_suggestion_replaces_an_earlier_one(bank, topic, nuggets, says):
    weighed(bank, topic, says, '["okay", "okay", "okay"]')
    weigh_item(nuggets[0], importance=Importance.OKAY, seen=1, by=None)
    weighed(bank, topic, says, '["vital", "vital", "vital"]')
    assert suggested(bank, topic) == ["red pigment: vital"]


def test_what_no_reply_labels_is_not_suggested(bank, topic, nuggets, says):
    asked, llm = weighed(bank, topic, says, "I cannot say.")
    assert (asked.state, asked.reply, len(llm.asked)) == ("failed", "I cannot say.", 3)
    assert "no reply labels each of the 3 nuggets" in asked.error
    assert not ImportanceSuggestion.objects.exists()


def test_what_cannot_be_asked(bank, topic):
    with pytest.raises(CannotDraft, match="no nuggets to weigh"):
        drafting.request_importance(bank, topic, **MODEL, by=None)
    with pytest.raises(CannotDraft, match="lexical cannot write"):
        drafting.request_importance(bank, topic, backend="lexical", llm="", by=None)
    assert not DraftRequest.objects.exists()


# The pages


def url(name, *args):
    return reverse(f"editor:{name}", args=args)


def test_from_the_button_to_the_decision(client_of, developer, bank, topic, nuggets, says, redis_server):
    client = client_of(developer)
    sent = {"kind": "nugget", "facet_id": "", **MODEL}
    answer = client.post(url("importance-request", bank.pk, topic.pk), sent, **HTMX)
    assert answer.status_code == 200
    assert "tiny was asked for the importance of the nuggets." in markup(answer)
    assert "asked the importance of nuggets" not in (inbox := page(client, bank, topic))
    assert "tiny the importance of nuggets" in inbox
    says('["okay", "okay", "okay"]')
    work_on("drafts", DraftRequest.objects.get().pk)
    assert "Accept all (3)" in page(client, bank, topic)
    first, second, third = selectors.inbox(bank, topic).suggestions
    client.post(url("importance-accept", bank.pk, first.pk), **HTMX)
    client.post(url("importance-leave", bank.pk, second.pk))
    done = client.post(url("importances-accept", bank.pk, topic.pk), {"seen": [third.pk]}, follow=True)
    assert "1 suggestion accepted." in markup(done)
    found = bank.items.order_by("position").values_list("importance", flat=True)
    assert list(found) == ["okay", "vital", "okay"]
    again = client.post(url("importance-accept", bank.pk, first.pk), follow=True)
    assert "Somebody has already decided about this draft." in markup(again)


def page(client, bank, topic):
    return markup(client.get(url("drafts", bank.pk, topic.pk), follow=True))


def test_a_refusal_is_said_in_the_form(client_of, developer, bank, topic):
    sent = {"kind": "nugget", "facet_id": "", **MODEL}
    answer = client_of(developer).post(url("importance-request", bank.pk, topic.pk), sent, **HTMX)
    assert answer.status_code == 422
    assert "no nuggets to weigh" in markup(answer)


@pytest.mark.parametrize(("role", "status"), [("assessor", 403), ("viewer", 403), ("outsider", 404)])
def test_only_developers_decide(request, client_of, bank, topic, nuggets, says, role, status):
    weighed(bank, topic, says, '["okay", "okay", "okay"]')
    client = client_of(request.getfixturevalue(role))
    first = selectors.inbox(bank, topic).suggestions[0]
    for address in (
        url("importance-request", bank.pk, topic.pk),
        url("importances-accept", bank.pk, topic.pk),
        url("importance-accept", bank.pk, first.pk),
        url("importance-leave", bank.pk, first.pk),
    ):
        assert client.post(address, {"seen": first.pk}).status_code == status
        assert client.get(address).status_code == 405
    assert len(selectors.inbox(bank, topic).suggestions) == 3
    if role == "viewer":
        assert "Accept all" not in page(client, bank, topic)
