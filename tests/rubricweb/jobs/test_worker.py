"""The worker process: what it says of itself, and that only a signal ends it."""

from __future__ import annotations

import logging
import signal

import pytest
import redis

from grading.graders import registry
from rubricweb.grades import actions
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs import queue
from rubricweb.jobs.worker import Beat
from rubricweb.jobs.worker_state import likely_device
from tests.factories import gradable
from tests.rubricweb.jobs.workers import SOON, wait_until, workers

pytestmark = pytest.mark.portable


@pytest.fixture
def start_worker(transactional_db, database_url, redis_server, tmp_path):
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield start


def beat_of(worker):
    found = [beat for beat in queue.living_workers() if beat.name.endswith(f"-{worker.process.pid}")]
    return found[0] if found else None


def test_a_worker_says_what_it_does_and_on_what(start_worker, collection):
    worker = start_worker().wait_until_heard()
    beat = beat_of(worker)
    assert (beat.doing, beat.device[:3]) == ("idle", likely_device()[:3])
    assert beat.backends == sorted(registry.importable())
    gradable(collection, topics=1)
    actions.start_grading(collection, by=None)
    wait_until(lambda: beat_of(worker).device == "cpu, no model", what="a beat after the job")
    assert Grade.objects.count() == 15


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_ends_at_a_signal(start_worker, signum):
    worker = start_worker().wait_until_heard()
    worker.process.send_signal(signum)
    assert worker.process.wait(timeout=SOON) == 0
    assert "Traceback" not in worker.said


def test_a_worker_that_starts_before_redis_waits_for_it(start_worker, collection, redis_server):
    redis_server.stop()
    worker = start_worker()
    wait_until(lambda: "lost Redis" in worker.said, what="its complaint")
    assert worker.is_running
    redis_server.start()
    worker.wait_until_heard()
    gradable(collection, topics=1)
    actions.start_grading(collection, by=None)
    wait_until(lambda: Grade.objects.count() == 15, what="the grades")
    wait_until(lambda: GradingJob.objects.get().has_ended, what="the job to end")


def test_a_waiting_worker_ends_at_a_signal_too(start_worker, redis_server):
    redis_server.stop()
    worker = start_worker()
    wait_until(lambda: "lost Redis" in worker.said, what="its complaint")
    assert worker.stop() == 0


def test_a_duty_that_fails_does_not_end_the_beat(redis_server, caplog):
    done = []

    def fail() -> None:
        raise redis.ConnectionError("gone")

    with caplog.at_level(logging.WARNING):
        Beat((fail, lambda: done.append(1))).once()
    assert done == [1]
    assert "gone" in caplog.text
