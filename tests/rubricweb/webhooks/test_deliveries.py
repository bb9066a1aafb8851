"""Messages reach the endpoint, signed, as often as needed, and nothing is sent that did not happen."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone
from django.utils.functional import lazy
from standardwebhooks import Webhook, WebhookVerificationError

from rubricweb.core.models import AuditEntry
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import kinds, leases
from rubricweb.jobs.worker import work_on
from rubricweb.webhooks import actions
from rubricweb.webhooks.deliveries import WAITS, deliver
from rubricweb.webhooks.models import Delivery, Endpoint, EventType, Message

pytestmark = pytest.mark.django_db

State = Delivery.State
DETAILS = {"job": {"id": 7, "kind": "grading", "state": "done"}}


@pytest.fixture
def tell(collection):
    """`tell()`: an event happens, and its one delivery waits."""

    def tell() -> Delivery:
        message = actions.write(collection, EventType.JOB_ENDED, DETAILS)
        return message.deliveries.get()

    return tell


def try_now(delivery: Delivery) -> Delivery:
    """A worker takes it, as if its time had come."""
    Delivery.objects.filter(pk=delivery.pk).update(not_before=timezone.now() - dt.timedelta(seconds=1))
    Endpoint.objects.filter(pk=delivery.endpoint_id).update(rests_until=None)
    work_on("webhook", delivery.pk)
    delivery.refresh_from_db()
    delivery.endpoint.refresh_from_db()
    return delivery


def test_a_message_arrives_signed(tell, endpoint, receiver, collection):
    delivery = try_now(tell())
    (request,) = receiver.received
    told = Webhook(endpoint.secret).verify(request.body, request.headers)
    assert told["type"] == "job.ended"
    assert dt.datetime.fromisoformat(told["timestamp"]) == delivery.message.at
    where = {"id": collection.pk, "slug": "autumn", "name": "Autumn track"}
    assert told["data"] == {"collection": where, **DETAILS}
    assert request.headers["webhook-id"] == delivery.message.uid
    with pytest.raises(WebhookVerificationError):
        Webhook(endpoint.secret).verify(request.body.replace(b"7", b"8"), request.headers)
    assert (delivery.state, delivery.error, delivery.ended_at is None) == (State.DONE, "", False)
    (attempt,) = delivery.log.all()
    assert (attempt.status, attempt.error) == (204, "")


def test_only_what_an_endpoint_asks_for_is_sent_to_it(collection, endpoint):
    actions.change_webhook(
        endpoint, actions.WebhookFields(endpoint.address, [EventType.RELEASE_MADE]), by=endpoint.by
    )
    assert actions.write(collection, EventType.JOB_ENDED, DETAILS) is None
    assert actions.write(collection, EventType.RELEASE_MADE, {}) is not None
    actions.turn_off(endpoint, by=endpoint.by)
    assert actions.write(collection, EventType.RELEASE_MADE, {}) is None


def test_addresses_are_looked_up_only_for_who_asks(collection):
    def refuse() -> str:
        raise AssertionError("every page of the process would be loaded")

    actions.job_ended(GradingJob(pk=7), collection, kind="grading", page=lazy(refuse, str)())
    assert not Message.objects.exists()


def test_what_is_rolled_back_is_not_sent(collection, endpoint):
    with transaction.atomic():
        assert actions.write(collection, EventType.JOB_ENDED, DETAILS) is not None
        transaction.set_rollback(True)
    assert not Message.objects.exists()


def test_for_a_day_both_secrets_sign(tell, endpoint, receiver):
    first = endpoint.secret
    actions.rotate_secret(endpoint, by=endpoint.by)
    assert endpoint.secret != first
    try_now(tell())
    for secret in (first, endpoint.secret):
        assert Webhook(secret).verify(receiver.received[0].body, receiver.received[0].headers)
    Endpoint.objects.update(earlier_until=timezone.now() - dt.timedelta(seconds=1))
    try_now(tell())
    assert Webhook(endpoint.secret).verify(receiver.received[1].body, receiver.received[1].headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(first).verify(receiver.received[1].body, receiver.received[1].headers)


def test_a_failure_waits_as_the_specification_says(tell, endpoint, receiver):
    receiver.status, receiver.body = 500, b"out of order"
    delivery = tell()
    for wait in WAITS:
        try_now(delivery)
        waits = delivery.not_before - delivery.log.first().at
        assert (delivery.state, wait <= waits < wait + dt.timedelta(minutes=1)) == (State.QUEUED, True)
    assert sum(WAITS, dt.timedelta()) > dt.timedelta(days=3)
    try_now(delivery)
    assert (delivery.state, delivery.error) == (State.FAILED, "Answered with status 500.")
    assert {request.headers["webhook-id"] for request in receiver.received} == {delivery.message.uid}
    assert len(receiver.received) == delivery.log.count() == len(WAITS) + 1
    assert delivery.log.first().answer == "out of order"
    assert endpoint.deliveries.get().endpoint.is_on, "it has not failed for days yet"


def test_nothing_is_sent_before_its_time_or_while_the_endpoint_rests(tell, endpoint, receiver):
    receiver.status, receiver.headers = 503, {"Retry-After": "120"}
    first, second = tell(), tell()
    try_now(first)
    work_on("webhook", first.pk)
    work_on("webhook", second.pk)
    assert len(receiver.received) == 1
    rests = Endpoint.objects.get().rests_until - first.log.get().at
    assert dt.timedelta(seconds=120) <= rests < dt.timedelta(seconds=180)
    receiver.status = 204
    try_now(second)
    assert Endpoint.objects.get().failing_since is None


def test_days_of_failure_turn_it_off_and_organizers_are_told(
    tell, endpoint, receiver, owner, assessor, client_of, settings, django_capture_on_commit_callbacks
):
    settings.EMAIL_HOST = "mail.example.org"
    for person in (owner, assessor):
        person.email = f"{person.username}@example.org"
        person.save()
    receiver.status = 500
    delivery = tell()
    Delivery.objects.update(tries=len(WAITS))
    Endpoint.objects.update(failing_since=timezone.now() - dt.timedelta(days=3))
    with django_capture_on_commit_callbacks(execute=True):
        try_now(delivery)
    assert delivery.endpoint.state == Endpoint.State.DISABLED
    assert AuditEntry.objects.filter(verb="webhook turned off after failures", by=None).exists()
    (sent,) = mail.outbox
    assert (sent.to, "Answered with status 500." in sent.body) == (["owner@example.org"], True)
    (task,) = client_of(owner).get("/").context["waiting"].tasks
    assert (task.what, task.address) == (
        "webhook turned off after failures",
        "/collections/autumn/webhooks/",
    )


def test_an_endpoint_that_is_gone_is_asked_no_more(tell, endpoint, receiver):
    receiver.status = 410
    delivery = try_now(tell())
    assert (delivery.state, delivery.endpoint.state) == (State.FAILED, Endpoint.State.DISABLED)


def test_what_failed_is_sent_again_with_its_id(tell, endpoint, receiver, owner):
    receiver.status = 410
    early, late = tell(), tell()
    try_now(early)
    with pytest.raises(actions.NotOn):
        actions.replay(early, by=owner)
    actions.turn_on(endpoint, by=owner)
    receiver.status = 204
    try_now(late)
    assert actions.replay_failed(endpoint, since=late.message.at, by=owner) == 0
    assert actions.replay_failed(endpoint, since=early.message.at, by=owner) == 1
    early.refresh_from_db()
    assert actions.replay(early, by=owner) == 0, "it is on its way"
    try_now(early)
    assert (early.state, early.error) == (State.DONE, "")
    assert actions.replay(late, by=owner) == 1, "somebody may want what was received once more"
    ids = [request.headers["webhook-id"] for request in receiver.received]
    assert ids == [early.message.uid, late.message.uid, early.message.uid]


def test_a_refused_address_is_a_failure_with_its_reason(tell, endpoint, receiver, settings):
    settings.WEBHOOK_ALLOW = []
    Endpoint.objects.update(address="https://127.0.0.1/hook")
    delivery = try_now(tell())
    assert "not a public address" in delivery.log.get().error
    assert (delivery.state, receiver.received) == (State.QUEUED, [])


def test_a_worker_that_dies_after_sending_sends_once_more_with_the_same_id(tell, endpoint, receiver):
    delivery = tell()
    lease = leases.claim(kinds.get("webhook"), delivery.pk)
    with transaction.atomic():
        deliver(lease)
        transaction.set_rollback(True)  # it dies before anything is saved
    work_on("webhook", delivery.pk)
    assert len(receiver.received) == 1, "it is leased"
    Delivery.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    leases._take(leases.expired(kinds.get("webhook"))[0])
    work_on("webhook", delivery.pk)
    delivery.refresh_from_db()
    assert delivery.state == State.DONE
    assert [request.headers["webhook-id"] for request in receiver.received] == [delivery.message.uid] * 2
    assert receiver.received[0].body == receiver.received[1].body


def test_a_test_says_that_it_is_one(endpoint, receiver, owner):
    try_now(actions.send_test(endpoint, by=owner).deliveries.get())
    told = json.loads(receiver.received[0].body)
    assert (told["type"], told["data"]["webhook"]) == ("webhook.test", endpoint.pk)


def test_old_messages_go_unless_they_are_on_their_way(tell, collection, endpoint):
    over, waiting = tell(), tell()
    Delivery.objects.filter(pk=over.pk).update(state=State.DONE)
    Message.objects.update(at=timezone.now() - dt.timedelta(days=31))
    last = tell()
    assert set(Delivery.objects.all()) == {waiting, last}
