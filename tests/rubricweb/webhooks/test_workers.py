"""Real workers: one finds what is due by itself, and what a killed one had sent is sent once more."""

from __future__ import annotations

import threading

import pytest

from rubricweb.webhooks import actions
from rubricweb.webhooks.models import Delivery, EventType
from tests.rubricweb.jobs.workers import wait_until, workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def start_worker(database_url, redis_server, tmp_path, monkeypatch):
    monkeypatch.setenv("RUBRIC_WEBHOOK_ALLOW", "127.0.0.0/8")
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield start


def test_a_worker_killed_while_it_waits_for_the_answer(collection, endpoint, receiver, start_worker):
    has_come, is_over = threading.Event(), threading.Event()

    def hold(_: object) -> bool:
        """The first request is never answered."""
        if has_come.is_set():
            return False
        has_come.set()
        is_over.wait()
        return True

    receiver.on_request = hold
    message = actions.write(collection, EventType.RELEASE_MADE, {"release": {"id": 1}})
    first = start_worker()
    wait_until(has_come.is_set, what="the first request")
    first.kill()
    assert Delivery.objects.get().state == Delivery.State.LEASED
    start_worker()
    wait_until(lambda: Delivery.objects.get().state == Delivery.State.DONE, what="the second to deliver")
    is_over.set()
    assert [request.headers["webhook-id"] for request in receiver.received] == [message.uid] * 2
