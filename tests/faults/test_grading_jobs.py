"""Killed workers and a Redis that loses everything: no grade is lost, none is doubled."""

from __future__ import annotations

import pytest
from django.db.models import Count, Sum

from rubricweb.grades import actions
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs.steering import steer
from tests.factories import gradable
from tests.rubricweb.jobs.workers import wait_until, workers

pytestmark = pytest.mark.django_db(transaction=True)

CELLS = 3 * 16 * 8


@pytest.fixture
def start_worker(database_url, redis_server, tmp_path):
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield start


@pytest.fixture
def job(collection, settings, redis_server) -> GradingJob:
    """Many small chunks, so that there is a middle."""
    settings.CHUNK_CELLS = 8
    gradable(collection, topics=3, passages=16, items=8)
    (job,) = actions.start_grading(collection, by=None)
    assert job.total == CELLS
    return job


def has_ended(job: GradingJob) -> bool:
    return GradingJob.objects.get(pk=job.pk).has_ended


def is_under_way() -> bool:
    return Grade.objects.exists()


def assert_all_graded_once(job: GradingJob) -> None:
    job.refresh_from_db()
    assert (job.state, job.error) == (GradingJob.State.DONE, "")
    assert job.ended_at > job.started_at >= job.created_at
    assert Grade.objects.count() == CELLS
    doubled = Grade.objects.values("revision", "passage").annotate(n=Count("pk")).filter(n__gt=1)
    assert not doubled.exists()
    wanted = {cell for chunk in job.chunks.all() for cell in cells_of(chunk)}
    assert set(Grade.objects.values_list("revision_id", "passage_id")) == wanted
    assert job.chunks.aggregate(done=Sum("done"), failed=Sum("failed")) == {"done": CELLS, "failed": 0}
    assert set(job.chunks.values_list("state", flat=True)) == {JobChunk.State.DONE}


def test_a_worker_killed_in_the_middle(job, start_worker):
    first = start_worker()
    wait_until(is_under_way, what="the first grades")
    first.kill()
    assert Grade.objects.count() < CELLS
    assert not has_ended(job)
    start_worker()
    wait_until(lambda: has_ended(job), what="the job to end")
    assert_all_graded_once(job)


def test_a_worker_killed_holding_a_lease(job, start_worker):
    """The others take the dead one's chunk when its lease ends, while they work and while they rest."""
    dead = start_worker()
    wait_until(lambda: job.chunks.filter(state=JobChunk.State.LEASED).exists(), what="a lease")
    dead.freeze()
    held = list(job.chunks.filter(state=JobChunk.State.LEASED))
    dead.kill()
    start_worker()
    wait_until(lambda: has_ended(job), what="the job to end")
    assert_all_graded_once(job)
    for chunk in held:
        now = JobChunk.objects.get(pk=chunk.pk)
        assert now.worker != chunk.worker


@pytest.mark.portable
def test_a_redis_restarted_empty_in_the_middle(job, start_worker, redis_server):
    worker = start_worker()
    wait_until(is_under_way, what="the first grades")
    redis_server.stop()
    assert not has_ended(job)
    redis_server.start()
    wait_until(lambda: has_ended(job), what="the job to end")
    assert_all_graded_once(job)
    assert worker.is_running


def test_two_workers_share_a_job(job, start_worker):
    start_worker()
    start_worker()
    wait_until(lambda: has_ended(job), what="the job to end")
    assert_all_graded_once(job)


def test_a_stopped_worker_leaves_its_chunk_to_others(job, start_worker):
    first = start_worker(lease_seconds=600)
    wait_until(is_under_way, what="the first grades")
    assert first.stop() == 0
    assert not job.chunks.filter(state=JobChunk.State.LEASED).exists()
    assert not has_ended(job)
    start_worker(lease_seconds=600)
    wait_until(lambda: has_ended(job), what="the job to end")
    assert_all_graded_once(job)


@pytest.mark.portable
def test_a_job_started_while_redis_is_away_is_graded_when_it_is_back(collection, start_worker, redis_server):
    worker = start_worker().wait_until_heard()
    redis_server.stop()
    gradable(collection, topics=1, passages=4, items=2)
    (job,) = actions.start_grading(collection, by=None)
    redis_server.start()
    wait_until(lambda: has_ended(job), what="the job to end")
    assert Grade.objects.count() == 8
    assert worker.is_running


def test_a_cancelled_job_stops_and_keeps_its_grades(job, start_worker):
    start_worker()
    wait_until(is_under_way, what="the first grades")
    ended = steer(job, "cancel-now", by=None)
    kept = Grade.objects.count()
    assert ended.state == GradingJob.State.CANCELLED
    assert 0 < kept < CELLS
    follow_up = actions.start_grading(job.collection, by=None)
    assert [started.total for started in follow_up] == [CELLS - kept]
    wait_until(lambda: has_ended(follow_up[0]), what="the second job to end")
    job.refresh_from_db()
    assert job.state == GradingJob.State.CANCELLED
    assert job.grades.count() == job.chunks.aggregate(done=Sum("done"))["done"] == kept
    assert Grade.objects.count() == CELLS
