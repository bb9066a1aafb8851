"""Pausing, resuming, retrying, cancelling, priorities, and workers that cannot run a grader."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models import Sum
from django.utils import timezone

from grading.errors import GraderUnavailable
from grading.graders import registry
from grading.types import ErrorClass, GradeFailure
from rubricweb.core.models import AuditEntry
from rubricweb.grades import actions
from rubricweb.grades.engine import chunks, kind, progress
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs import leases, queue, worker_state
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.steering import STEERS, steer
from rubricweb.jobs.worker import work_on
from rubricweb.jobs.worker_state import handed_over
from tests.rubricweb.grades.scripted import rated
from tests.rubricweb.jobs.working import claim

JobState, ChunkState = GradingJob.State, JobChunk.State


def states(job: GradingJob) -> list[str]:
    return list(job.chunks.values_list("state", flat=True))


def always(number, pair):
    yield rated(pair)


def failing(error_class: ErrorClass):
    def fail(number, pair):
        yield GradeFailure(pair.item.item_id, pair.passage.passage_id, "it said no", error_class=error_class)

    return fail


def test_a_job_is_paused_after_the_batch_and_goes_on_where_it_was(job, run, script, developer):
    asked = []

    def pause(number, pair):
        asked.append(pair)
        if len(asked) == 2:
            steer(job, "pause", by=developer)
        yield rated(pair)

    script(pause)
    assert run(job).state == JobState.PAUSED
    assert states(job) == [ChunkState.QUEUED] * 3
    assert Grade.objects.count() == job.chunks.aggregate(n=Sum("done"))["n"] == 2
    assert job.chunks.first().attempts == 0
    script(always)
    assert run(job).state == JobState.PAUSED
    assert Grade.objects.count() == 2
    steer(job, "resume", by=developer)
    assert run(job).state == JobState.DONE
    assert Grade.objects.count() == 12
    assert len(asked) == 2
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["grading started", "grading paused", "grading resumed"]


def test_resuming_enqueues_what_waits(job, script, django_capture_on_commit_callbacks):
    steer(job, "pause", by=None)
    with queue.connection() as client:
        client.flushall()
    assert leases._enqueue_lost(kind_of(job.chunks.first()), set()) == 0
    with django_capture_on_commit_callbacks(execute=True):
        steer(job, "resume", by=None)
    assert len(queue.waiting_ids()) == 3


def test_a_dead_worker_s_chunk_of_a_paused_job_waits(job, script):
    lease = claim(job.chunks.first())
    steer(job, "pause", by=None)
    assert leases.retry(lease, error="died")
    assert states(job) == [ChunkState.QUEUED] * 3


def test_cancel_after_the_batch_keeps_what_was_paid_for(job, run, script):
    def cancel(number, pair):
        if number == 1:
            steer(job, "cancel", by=None)
            assert GradingJob.objects.get().state == JobState.CANCELLING
        yield rated(pair)

    script(cancel)
    assert run(job).state == JobState.CANCELLED
    assert Grade.objects.count() == job.chunks.aggregate(n=Sum("done"))["n"] == 2
    assert states(job) == [ChunkState.CANCELLED] * 3


def test_a_dead_worker_ends_a_job_that_is_being_cancelled(job, script):
    lease = claim(job.chunks.first())
    assert steer(job, "cancel", by=None).state == JobState.CANCELLING
    assert leases.retry(lease, error="died")
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.CANCELLED, "")


def test_an_ended_job_cannot_be_steered(job, run, script):
    script(always)
    run(job)
    for verb in STEERS:
        assert steer(job, verb, by=None).state == JobState.DONE


@pytest.mark.parametrize(("error_class", "paid"), [(ErrorClass.AUTH, 1), (ErrorClass.QUOTA, 3)])
def test_hopeless_errors_pause_the_job_at_once(job, run, script, error_class, paid, monkeypatch):
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1_000)
    script(failing(error_class))
    assert run(job).state == JobState.PAUSED
    assert Grade.objects.filter(error_class=error_class).count() == paid
    assert job.pause_reason.startswith("Paused: ")


def test_errors_in_a_row_are_counted_over_chunks_and_resuming_forgets_them(job, run, script):
    script(failing(ErrorClass.SERVER))
    assert run(job).state == JobState.PAUSED
    assert Grade.objects.count() == 10
    assert "10 times in a row" in job.pause_reason
    steer(job, "resume", by=None)
    job.refresh_from_db()
    assert (job.state, job.pause_reason) == (JobState.RUNNING, "")
    assert run(job).state == JobState.DONE
    assert progress.job_progress(job).to_retry == 12


def test_successes_between_errors_keep_a_job_running(job, run, script):
    script(
        lambda number, pair: always(number, pair) if number % 2 else failing(ErrorClass.SERVER)(number, pair)
    )
    assert run(job).state == JobState.DONE


def test_retrying_replaces_failed_grades_and_nothing_else(job, run, script, developer):
    script(lambda number, pair: failing(ErrorClass.TIMEOUT)(number, pair) if number else always(number, pair))
    run(job)
    known = set(Grade.objects.exclude(outcome="failed").values_list("pk", flat=True))
    assert len(known) == 3
    (again,) = actions.retry_failed_of(job, by=developer)
    assert (again.total, again.is_retry, again.scope) == (9, True, "failed grades of 2 items of 1 topic")
    assert actions.retry_failed_of(job, by=developer) == []
    assert Grade.objects.filter(outcome="failed").count() == 9
    asked = []
    script(lambda number, pair: asked.append(pair) or always(number, pair))
    assert run(again).state == JobState.DONE
    assert len(asked) == 9
    assert Grade.objects.count() == 12
    assert Grade.objects.filter(job=again, attempts=2, rating=4, error_class="").count() == 9
    assert set(Grade.objects.filter(attempts=1).values_list("pk", flat=True)) == known
    assert (progress.job_progress(job).failed, progress.job_progress(job).to_retry) == (9, 0)


def test_a_retry_that_fails_again_is_counted_and_not_repeated(job, run, script, collection, config):
    script(failing(ErrorClass.PARSE))
    run(job)
    (again,) = actions.retry_failed(collection, by=None, configs=[config])
    run(again)
    assert run(again).state == JobState.DONE
    assert set(Grade.objects.values_list("attempts", "error_class", "job")) == {(2, "parse", again.pk)}
    assert again.chunks.aggregate(n=Sum("done"), bad=Sum("failed")) == {"n": 12, "bad": 12}


def test_one_failed_cell_again(job, run, script, collection):
    script(lambda number, pair: failing(ErrorClass.TIMEOUT)(number, pair) if number else always(number, pair))
    run(job)
    bad = Grade.objects.filter(outcome="failed").first()
    (again,) = actions.ask_again(bad, by=None)
    script(always)
    run(again)
    bad.refresh_from_db()
    assert (again.total, bad.rating, bad.attempts) == (1, 4, 2)


@pytest.fixture
def refusing(monkeypatch):
    def refuse(spec, connection):
        raise GraderUnavailable("install rubricweb[models]")

    monkeypatch.setattr(registry, "build", refuse)


def elsewhere(*cannot: JobChunk) -> None:
    needs = [kind_of(chunk).need(chunk) for chunk in cannot]
    refused = {handed_over(need): need.label for need in needs}
    queue.beat(WorkerBeat("attic-7", time.time(), "idle", "", cannot=refused))


def test_a_chunk_is_handed_to_a_worker_that_can(job, refusing, config, django_capture_on_commit_callbacks):
    elsewhere()
    with django_capture_on_commit_callbacks(execute=True):
        work_on("chunk", job.chunks.first().pk)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.RUNNING, "")
    assert states(job) == [ChunkState.QUEUED] * 3
    assert job.chunks.first().attempts == 0
    place = handed_over(kind_of(job.chunks.first()).need(job.chunks.first()))
    assert queue.get_queue(place).job_ids == [f"chunk-{job.chunks.first().pk}-1"]
    assert place not in worker_state.queue_names()
    own = next(beat for beat in queue.living_workers() if beat.name == leases.worker_name())
    assert own.cannot == {place: "script \N{MIDDLE DOT} LexicalBaseline"}
    job.chunks.exclude(pk=job.chunks.first().pk).update(state=ChunkState.DONE)
    JobChunk.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert leases.reap() == 0, "what was handed over is not lost"
    worker_state.now.refused.clear()
    assert place in worker_state.queue_names()


def test_a_worker_that_failed_lately_does_not_load_again(job, script, refusing, config, monkeypatch):
    elsewhere()
    work_on("chunk", job.chunks.first().pk)
    monkeypatch.setattr(registry, "build", lambda spec, connection: pytest.fail("loaded again"))
    work_on("chunk", job.chunks.last().pk)
    assert states(job) == [ChunkState.QUEUED] * 3


def test_a_job_fails_where_no_living_worker_can(job, run, refusing, config):
    elsewhere(job.chunks.first())
    assert run(job).state == JobState.FAILED
    assert job.error == "install rubricweb[models]"


def test_a_job_fails_when_the_one_that_could_is_gone(job, refusing, config):
    elsewhere()
    work_on("chunk", job.chunks.first().pk)
    JobChunk.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    worker_state.fail_what_nobody_can_run()
    assert GradingJob.objects.get().state == JobState.RUNNING
    elsewhere(job.chunks.first())
    worker_state.fail_what_nobody_can_run()
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert (
        job.error
        == "No living worker can run script \N{MIDDLE DOT} LexicalBaseline. install rubricweb[models]"
    )


def test_a_batch_that_could_not_be_saved_is_saved_again(job, run, script, monkeypatch):
    real, away = chunks.save, iter([True, False, True])
    monkeypatch.setattr(kind, "SAVE_AGAIN_AFTER", (0.0, 0.0))

    def save(*given):
        if next(away, False):
            raise OperationalError("server closed the connection unexpectedly")
        real(*given)

    monkeypatch.setattr(chunks, "save", save)
    asked = []
    script(lambda number, pair: asked.append(pair) or always(number, pair))
    assert run(job).state == JobState.DONE
    assert len(asked) == Grade.objects.count() == job.chunks.aggregate(n=Sum("done"))["n"] == 12


def test_a_batch_saved_twice_counts_once(job, run, script, monkeypatch):
    """A commit whose answer was lost: nobody knows whether it succeeded."""
    real = chunks.save

    def save(lease, work, results, seconds):
        before = dict(work.unanswered), work.failed, work.seconds
        real(lease, work, results, seconds)
        work.unanswered, work.failed, work.seconds = before
        real(lease, work, results, seconds)

    monkeypatch.setattr(chunks, "save", save)
    script(always)
    assert run(job).state == JobState.DONE
    assert Grade.objects.count() == job.chunks.aggregate(n=Sum("done"))["n"] == 12
