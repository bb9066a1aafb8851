"""Leases and the reaper: one owner at a time, and nothing stays with the dead."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from rubricweb.grades import actions
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs import leases, queue
from rubricweb.jobs.kinds import finish_if_done, kind_of
from rubricweb.jobs.leases import MAX_ATTEMPTS
from tests.factories import gradable
from tests.rubricweb.jobs.working import claim

State = JobChunk.State


@pytest.fixture
def job(collection, settings, redis_server) -> GradingJob:
    settings.CHUNK_CELLS = 3
    gradable(collection, topics=1, passages=4, items=3)
    return actions.start_grading(collection, by=None)[0]


@pytest.fixture
def reap(django_capture_on_commit_callbacks):
    def reap_once() -> int:
        with django_capture_on_commit_callbacks(execute=True):
            return leases.reap()

    return reap_once


def expire(chunk: JobChunk) -> None:
    JobChunk.objects.filter(pk=chunk.pk).update(lease_until=timezone.now() - timedelta(seconds=5))


def age(job: GradingJob) -> None:
    job.chunks.update(queued_at=timezone.now() - timedelta(minutes=1))


def test_a_claim_starts_the_job(job):
    lease = claim(job.chunks.first())
    job.refresh_from_db()
    assert (lease.attempt, lease.label, job.state) == (1, f"job {job.pk}", GradingJob.State.RUNNING)
    until = JobChunk.objects.get(pk=lease.work.pk).lease_until
    assert timedelta(seconds=50) < until - timezone.now() < timedelta(seconds=70)


def test_a_leased_chunk_is_not_to_be_had_until_the_lease_ends(job):
    chunk = job.chunks.first()
    first = claim(chunk)
    assert claim(chunk) is None
    expire(chunk)
    second = claim(chunk)
    assert second.attempt == 2
    assert not first.renew()
    assert second.renew()


def test_a_chunk_that_was_tried_too_often_is_not_claimed_again(job):
    chunk = job.chunks.first()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert claim(chunk).attempt == attempt
        expire(chunk)
    assert claim(chunk) is None


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.CANCELLED])
def test_an_ended_chunk_is_not_to_be_had(job, state):
    job.chunks.update(state=state)
    assert claim(job.chunks.first()) is None


def test_the_reaper_takes_from_the_dead_and_enqueues(job, reap):
    chunk = job.chunks.first()
    claim(chunk)
    assert reap() == 0
    expire(chunk)
    assert reap() == 1
    chunk.refresh_from_db()
    assert (chunk.state, chunk.worker, chunk.attempts) == (State.QUEUED, "", 1)
    assert queue.rq_id(chunk) in queue.waiting_ids()


def test_a_chunk_that_kills_its_workers_is_given_up(job, reap):
    chunk = job.chunks.first()
    for _ in range(MAX_ATTEMPTS):
        assert claim(chunk) is not None
        expire(chunk)
        reap()
    chunk.refresh_from_db()
    job.refresh_from_db()
    assert chunk.state == State.FAILED
    assert "died while it worked on job" in job.error
    assert job.state == GradingJob.State.RUNNING
    job.chunks.exclude(pk=chunk.pk).update(state=State.DONE)
    finish_if_done(job)
    assert job.state == GradingJob.State.FAILED


def test_the_reaper_enqueues_what_redis_lost(job, reap):
    assert reap() == 0, "a young job may be on its way to the queue"
    age(job)
    assert reap() == 4
    assert queue.waiting_ids() == {queue.rq_id(chunk) for chunk in job.chunks.all()}
    assert reap() == 0


@pytest.mark.django_db(transaction=True)
def test_reapers_that_race_give_each_chunk_out_once(job):
    for chunk in job.chunks.all():
        claim(chunk)
        expire(chunk)
    gate, reaped, errors = threading.Barrier(4), [], []

    def race() -> None:
        try:
            gate.wait(timeout=10)
            reaped.append(sum(map(leases._take, leases.expired(kind_of(job.chunks.first())))))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            errors.append(error)
        finally:
            connection.close()

    reapers = [threading.Thread(target=race) for _ in range(4)]
    for thread in reapers:
        thread.start()
    for thread in reapers:
        thread.join(timeout=60)
    assert errors == []
    assert sum(reaped) == 4
    assert set(job.chunks.values_list("state", "attempts")) == {(State.QUEUED, 1)}


@pytest.mark.django_db(transaction=True)
def test_of_many_claims_one_succeeds(job):
    chunk = job.chunks.first()
    gate, claimed, errors = threading.Barrier(4), [], []

    def race() -> None:
        try:
            gate.wait(timeout=10)
            claimed.append(claim(chunk))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert len([lease for lease in claimed if lease]) == 1


def test_a_lease_that_ends_later_than_any_can_is_over(job, reap):
    """The database's clock was an hour ahead when the worker took it, and was set right since."""
    chunk = job.chunks.first()
    dead = claim(chunk)
    JobChunk.objects.filter(pk=chunk.pk).update(lease_until=timezone.now() + timedelta(hours=1))
    assert reap() == 1
    assert claim(chunk).attempt == 2
    assert not dead.renew()


def test_what_a_clock_that_is_ahead_put_into_the_queue_is_not_forgotten(job, reap, redis_server):
    job.chunks.update(queued_at=timezone.now() + timedelta(hours=1))
    redis_server.flush()
    assert reap() == job.chunks.count()
