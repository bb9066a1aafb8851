"""Webhooks by scripts: as in the browser, for organizers whose token may organize."""

from __future__ import annotations

import datetime as dt

import pytest

from rubricweb.api.models import Token
from rubricweb.jobs.worker import work_on
from rubricweb.webhooks.models import Delivery, Endpoint
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db

SENT = {"address": "https://example.org/hook", "events": ["job.ended", "release.made"]}


@pytest.fixture
def script(owner, script_of):
    return script_of(owner)


@pytest.fixture
def webhook(script) -> str:
    return script.post(f"{AT}webhooks/", SENT, format="json")["Location"]


def test_its_secret_is_shown_when_it_is_made_and_when_it_is_replaced(script, webhook):
    made = script.post(f"{AT}webhooks/", SENT, format="json")
    assert (made.status_code, made["Cache-Control"], made.json()["secret"][:6]) == (201, "no-store", "whsec_")
    assert all("secret" not in row for row in script.get(f"{AT}webhooks/").json()["items"])
    assert "secret" not in script.get(webhook).json()
    replaced = script.post(f"{webhook}secret/").json()["secret"]
    assert replaced == Endpoint.objects.first().secret != made.json()["secret"]


def test_it_is_changed_in_part_and_deleted(script, webhook):
    changed = script.patch(webhook, {"note": "tracker"}, format="json").json()
    assert (changed["note"], changed["address"], changed["events"]) == (
        "tracker",
        SENT["address"],
        SENT["events"],
    )
    refused = script.patch(webhook, {"address": "https://10.0.0.1/"}, format="json")
    assert (refused.status_code, [*refused.json()["errors"]]) == (400, ["address"])
    assert script.delete(webhook).status_code == 204
    assert not Endpoint.objects.exists()


def test_messages_are_listed_and_sent_again(script, webhook, settings):
    settings.WEBHOOK_ALLOW = []
    assert script.post(f"{webhook}test/").json()["state"] == "on"
    Endpoint.objects.update(address="https://127.0.0.1/")
    delivery = Delivery.objects.get()
    work_on("webhook", delivery.pk)
    (row,) = script.get(f"{webhook}messages/").json()["items"]
    assert (row["event"], row["message"], row["tries"]) == ("webhook.test", delivery.message.uid, 1)
    assert "not a public address" in row["error"]
    Delivery.objects.update(state=Delivery.State.FAILED)
    since = {"since": (delivery.message.at - dt.timedelta(seconds=1)).isoformat()}
    assert script.post(f"{webhook}replay/", since, format="json").json() == {"messages": 1}
    assert script.post(f"{webhook}off/").json()["state"] == "off"
    refused = script.post(f"{webhook}test/")
    assert (refused.status_code, "Turn it on first" in refused.json()["detail"]) == (409, True)
    assert script.post(f"{webhook}launch/").status_code == 404


def test_who_does_not_organize_has_none(webhook, script_of, owner, developer, outsider):
    assert script_of(developer).get(f"{AT}webhooks/").status_code == 403
    assert script_of(outsider).get(webhook).status_code == 404
    may_read = script_of(owner, scopes=[Token.Scope.READ, Token.Scope.EDIT])
    assert may_read.get(webhook).status_code == 200
    assert may_read.delete(webhook).status_code == 403
