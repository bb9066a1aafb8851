"""/healthz tells the truth about database, Redis and workers."""

import time

import pytest
from django.test import Client

from rubricweb.jobs import queue
from rubricweb.jobs.queue import WorkerBeat


@pytest.fixture(autouse=True)
def _no_workers(redis_server):
    redis_server.start()
    redis_server.flush()


@pytest.mark.django_db
def test_without_a_worker_pages_are_served_but_health_is_degraded(client: Client):
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "degraded", "database": True, "redis": True, "workers": 0}


@pytest.mark.django_db
def test_a_beating_worker_makes_it_ok(client: Client):
    queue.beat(WorkerBeat("w1", time.time(), "idle", "cpu"))
    assert client.get("/healthz").json() == {"status": "ok", "database": True, "redis": True, "workers": 1}


@pytest.mark.django_db
def test_without_redis_it_is_down(client: Client, redis_server):
    redis_server.stop()
    answer = client.get("/healthz")
    redis_server.start()
    assert answer.status_code == 503
    assert answer.json()["status"] == "down"


def test_it_needs_no_sign_in_and_refuses_post(client: Client):
    assert client.post("/healthz").status_code == 405
