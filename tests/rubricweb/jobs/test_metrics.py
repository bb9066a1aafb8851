"""What Prometheus reads, parsed as Prometheus does."""

from __future__ import annotations

import time

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from rubricweb.grades import actions
from rubricweb.jobs import queue, worker
from rubricweb.jobs.queue import WorkerBeat
from tests.factories import gradable

TOKEN = "of-the-monitor"
MONITOR = {"Authorization": f"Bearer {TOKEN}", "host": "10.0.0.7:8000"}


@pytest.fixture(autouse=True)
def _guarded(settings, redis_server):
    settings.METRICS_TOKEN = TOKEN
    redis_server.start()
    redis_server.flush()


def _read(client: Client) -> dict[tuple[str, ...], float]:
    """Values by name and labels."""
    answer = client.get("/metrics", headers=MONITOR)
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


@pytest.mark.parametrize("value", ["", "Bearer ", "Bearer of-another", f"Basic {TOKEN}"])
def test_nobody_reads_it_without_the_token(client: Client, value):
    answer = client.get("/metrics", headers={"Authorization": value})
    assert (answer.status_code, answer.content) == (401, b"")


def test_without_a_token_in_the_settings_there_is_nothing(client: Client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.django_db
def test_work_is_counted_from_its_start_to_its_end(collection, client: Client, settings):
    settings.CHUNK_CELLS = 6
    gradable(collection, topics=1, passages=4, items=3)
    job = actions.start_grading(collection, by=None)[0]
    chunks = list(job.chunks.order_by("number"))
    before = _read(client)
    assert before["rubricweb_work_waiting", "chunk"] == len(chunks) == 2
    worker.work_on("chunk", chunks[0].pk)
    after = _read(client)
    assert after["rubricweb_work_waiting", "chunk"] == 1
    assert after["rubricweb_work_leased", "chunk"] == 0
    assert after["rubricweb_work_attempts_total", "chunk", "done"] == 1
    assert after["rubricweb_work_units_total", "chunk", "done"] == 6
    assert after["rubricweb_work_seconds_total", "chunk", "done"] > 0
    assert 0 <= after["rubricweb_work_oldest_seconds", "chunk"] < 600


@pytest.mark.django_db
def test_work_of_a_paused_job_waits_for_no_worker(collection, client: Client):
    """Else more workers would be started for it."""
    gradable(collection, topics=1, passages=4, items=3)
    job = actions.start_grading(collection, by=None)[0]
    job.state = job.State.PAUSED
    job.save()
    assert _read(client)["rubricweb_work_waiting", "chunk"] == 0


@pytest.mark.django_db
def test_requests_are_counted_by_the_pattern_of_their_address(client: Client):
    client.get("/accounts/sign-in/")
    client.get("/a-made-up-address/")
    counts = {
        key: value for key, value in _read(client).items() if key[0] == "rubricweb_request_seconds_count"
    }
    assert counts["rubricweb_request_seconds_count", "GET", "accounts/sign-in/", "200"] >= 1
    assert not [key for key in counts if "made-up" in key[2]]


@pytest.mark.django_db
def test_it_answers_without_redis(client: Client, redis_server):
    queue.beat(WorkerBeat("w1", time.time(), "idle", "cpu"))
    assert _read(client)["rubricweb_workers",] == 1
    redis_server.stop()
    values = _read(client)
    redis_server.start()
    assert values["rubricweb_redis_up",] == 0
    assert ("rubricweb_workers",) not in values
