"""Cut networks: a worker that no byte reaches, an answer that is lost, a Redis that hangs."""

from __future__ import annotations

import time

import pytest
import redis
from django.db import connection

from rubricweb.core import events, servers
from rubricweb.grades import actions
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs import queue
from tests.factories import gradable
from tests.faults.services import proxy_of
from tests.rubricweb.jobs.workers import wait_until, workers

pytestmark = pytest.mark.django_db(transaction=True)

CELLS = 3 * 40 * 8
IDLE = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()"""


@pytest.fixture
def proxy(database_url, tmp_path):
    """Before PostgreSQL, for one worker."""
    made = proxy_of(database_url, tmp_path)
    if made is None:
        pytest.skip("nobody reaches SQLite through a network")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def start_worker(database_url, redis_server, tmp_path, monkeypatch):
    monkeypatch.setenv("RUBRIC_IDLE_TRANSACTION_SECONDS", "2")
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield start


@pytest.fixture
def job(collection, settings, redis_server) -> GradingJob:
    settings.CHUNK_CELLS = 8
    gradable(collection, topics=3, passages=40, items=8)
    return actions.start_grading(collection, by=None)[0]


def is_in_a_transaction() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(IDLE)
        return bool(cursor.fetchone()[0])


def freeze_in_a_transaction(proxy) -> None:
    """Cut the worker off while it holds locks, and has a chunk."""
    deadline = time.monotonic() + 60
    while True:
        proxy.freeze()
        time.sleep(0.05)  # what was on its way to PostgreSQL has arrived
        if is_in_a_transaction() and JobChunk.objects.filter(state=JobChunk.State.LEASED).exists():
            return
        assert time.monotonic() < deadline, "it was never cut off in a transaction"
        proxy.thaw()
        time.sleep(0.003)


def test_what_a_worker_behind_a_cut_network_locked_is_free_again(job, start_worker, proxy):
    cut = start_worker(lease_seconds=2, database_url=proxy.environment["PROXIED_URL"])
    wait_until(Grade.objects.exists, what="the first grades")
    freeze_in_a_transaction(proxy)
    assert not GradingJob.objects.get(pk=job.pk).has_ended
    start_worker(lease_seconds=2)
    wait_until(lambda: GradingJob.objects.get(pk=job.pk).has_ended, what="the job to end")
    proxy.thaw()
    assert cut.stop() == 0
    job.refresh_from_db()
    assert (job.state, Grade.objects.count()) == (GradingJob.State.DONE, CELLS)
    assert job.grades.count() == sum(job.chunks.values_list("done", flat=True)) == CELLS


@pytest.fixture
def hanging(redis_server, monkeypatch):
    """A Redis that takes connections and says nothing."""
    monkeypatch.setattr(servers, "REDIS_SECONDS", 0.2)
    redis_server.freeze()
    yield redis_server
    redis_server.thaw()


def test_a_redis_that_hangs_keeps_nobody(collection, hanging):
    gradable(collection, topics=1, passages=4, items=2)
    (job,) = actions.start_grading(collection, by=None)
    events.publish(collection.channel, "grades")
    with pytest.raises(redis.TimeoutError):
        queue.living_workers()
    assert job.chunks.filter(state=JobChunk.State.QUEUED).exists()
