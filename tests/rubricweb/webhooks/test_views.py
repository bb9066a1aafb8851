"""Organizers keep webhooks in the browser: added, tried, changed, turned off, replayed and removed."""

from __future__ import annotations

import html

import pytest

from rubricweb.core.models import AuditEntry
from rubricweb.jobs.worker import work_on
from rubricweb.webhooks.models import Delivery, Endpoint, Message
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

PAGE = "/collections/autumn/webhooks/"


@pytest.fixture
def organizer(client_of, owner):
    return client_of(owner)


@pytest.fixture
def at(endpoint) -> str:
    return f"{PAGE}{endpoint.pk}/"


def verbs() -> set[str]:
    return set(AuditEntry.objects.filter(kind="endpoint").values_list("verb", flat=True))


def test_only_organizers_have_them(client_of, developer, outsider, participant, at):
    for address in (PAGE, at):
        assert client_of(developer).get(address).status_code == 403
        for person in (outsider, participant):
            assert client_of(person).get(address).status_code == 404
    assert client_of(developer).post(f"{at}remove/").status_code == 403
    assert Endpoint.objects.exists()


def test_the_secret_is_shown_once(organizer, receiver):
    sent = {"address": receiver.address, "events": ["job.ended"], "note": "tracker"}
    added = organizer.post(PAGE, sent)
    secret = Endpoint.objects.get().secret
    assert (added.status_code, added["Cache-Control"]) == (200, "no-store")
    assert f'id="webhook-secret">{html.escape(secret)}</code>' in markup(added)
    assert 'data-copies="webhook-secret"' in added.text
    assert added.text.index("webhook-secret") < added.text.index("New webhook"), (
        "above the form, on a telephone"
    )
    for address in (PAGE, Endpoint.objects.get().get_absolute_url()):
        assert html.escape(secret) not in organizer.get(address).text
    assert verbs() == {"webhook added"}
    assert secret not in str(AuditEntry.objects.values_list("detail"))


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"address": "https://10.0.0.1/", "events": ["job.ended"]}, "is not a public address"),
        ({"address": "https://example.org/"}, "Choose at least one."),
        ({"address": "https://example.org/", "events": ["webhook.test"]}, "Select a valid choice"),
    ],
)
def test_what_is_not_sent_to_is_refused_with_the_reason(organizer, collection, sent, words):
    answer = organizer.post(PAGE, sent, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert words in answer.text
    assert not Endpoint.objects.exists()


def test_an_address_that_is_the_title_is_not_said_again(organizer, at, receiver, endpoint):
    assert f'<p class="muted small">{receiver.address}</p>' in markup(organizer.get(at))
    Endpoint.objects.update(note="")
    assert f'<p class="muted small">{receiver.address}</p>' not in markup(organizer.get(at))


def test_a_message_of_an_older_page_of_the_log_opens_above_it(organizer, at, endpoint, monkeypatch):
    monkeypatch.setattr("rubricweb.webhooks.views.LISTED", 1)
    for _ in range(2):
        organizer.post(f"{at}test/")
    older = Delivery.objects.order_by("pk").first()
    page = markup(organizer.get(f"{at}messages/{older.pk}/"))
    assert page.count(f"<code>{older.message.uid}</code>") == 1
    assert page.index(str(older.message.uid)) < page.index("Messages, the latest first")


def test_a_collection_has_twenty_at_most(organizer, collection):
    for _ in range(20):
        collection.webhooks.create(address="https://example.org/")
    answer = organizer.post(PAGE, {"address": "https://example.org/", "events": ["job.ended"]})
    assert (answer.status_code, "at most 20 webhooks" in answer.text) == (422, True)


def test_a_test_is_sent_and_its_answer_is_in_the_log(organizer, at, receiver, endpoint):
    receiver.status, receiver.body = 404, b"no such hook"
    organizer.post(f"{at}test/")
    delivery = Delivery.objects.get()
    work_on("webhook", delivery.pk)
    assert "Answered with status 404." in organizer.get(at).text
    assert "webhook.test" in organizer.get(f"{at}?state=queued").text
    failed = organizer.get(f"{at}?state=failed").text
    assert "webhook.test" not in failed
    chosen = f'<a class="button" href="{at}?state=failed" aria-current="page">failed</a>'
    assert " ".join(failed.split()).replace(" >", ">").count(chosen) == 1
    shown = organizer.get(f"{at}messages/{delivery.pk}/").text
    for words in ("no such hook", f"webhook-id: {delivery.message.uid}", "POST http://127.0.0.1"):
        assert words in shown
    assert html.escape(endpoint.secret) not in shown


def test_one_message_and_all_that_failed_are_sent_again(organizer, at, receiver):
    receiver.status = 410
    organizer.post(f"{at}test/")
    delivery = Delivery.objects.get()
    work_on("webhook", delivery.pk)
    assert "turned off after failures" in organizer.get(PAGE).text
    again = organizer.post(f"{at}messages/{delivery.pk}/replay/", follow=True)
    assert "Turn it on first." in again.text
    organizer.post(f"{at}on/")
    replayed = organizer.post(f"{at}replay/", {"since": "2020-01-01T00:00"}, follow=True)
    assert "1 message is sent again." in replayed.text
    replayed = organizer.post(f"{at}messages/{delivery.pk}/replay/", follow=True)
    assert "0 messages are sent again." in replayed.text
    assert "Give a date and a time." in organizer.post(f"{at}replay/", {"since": "soon"}, follow=True).text
    assert {"webhook turned on", "webhook tested", "webhook messages sent again"} <= verbs()


def test_it_is_changed_turned_off_and_removed(organizer, at, endpoint, receiver):
    organizer.post(at, {"address": receiver.address, "events": ["release.made"], "note": ""})
    endpoint.refresh_from_db()
    assert (endpoint.events, str(endpoint)) == (["release.made"], receiver.address)
    before = endpoint.secret
    rotated = organizer.post(f"{at}secret/")
    endpoint.refresh_from_db()
    assert (html.escape(endpoint.secret) in rotated.text, endpoint.secret == before) == (True, False)
    assert 'data-copies="webhook-secret"' in rotated.text
    organizer.post(f"{at}off/")
    organizer.post(f"{at}test/")
    assert not Message.objects.exists()
    assert organizer.post(f"{at}launch/").status_code == 404
    organizer.post(f"{at}remove/")
    assert not Endpoint.objects.exists()


def test_the_list_costs_the_same_however_long(organizer, collection, django_assert_max_num_queries):
    for number in range(12):
        collection.webhooks.create(address=f"https://example.org/{number}")
    with django_assert_max_num_queries(8):
        organizer.get(PAGE)
