"""Grading one chunk: done once, counted right, and what happens when the grader does not play along."""

from __future__ import annotations

import pytest
from django.db.models import Sum

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec, registry
from grading.types import GradeFailure, Outcome
from rubricweb.grades import actions, store
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import chunks, kind
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs import leases, worker_state
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.scripted import rated

JobState, ChunkState = GradingJob.State, JobChunk.State


@pytest.fixture
def script(monkeypatch):
    """`script(what)` sets what the grader yields for each pair."""
    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend("scripted", "Scripted", target, ("LexicalBaseline",), False, "script")
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    chunks.close_until(0)
    scripted.BUILT.clear()
    yield scripted.SCRIPT.append
    scripted.SCRIPT.clear()
    chunks.close_until(0)


@pytest.fixture
def published(monkeypatch) -> list[str]:
    names: list[str] = []
    kind._announced.clear()
    monkeypatch.setattr(kind.events, "publish", lambda channel, name: names.append(name))
    return names


@pytest.fixture
def job(collection, settings, redis_server, script) -> GradingJob:
    """3 chunks of 4 cells."""
    settings.CHUNK_CELLS = 4
    gradable(collection, topics=1, passages=6, items=2)
    config = config_for("scripted", "script", "LexicalBaseline")
    return actions.start_grading(collection, by=None, configs=[config])[0]


@pytest.fixture
def run(job, django_capture_on_commit_callbacks):
    """`run()`: every chunk once, in order; returns the job as it is then."""

    def grade_all() -> GradingJob:
        for pk in list(job.chunks.values_list("pk", flat=True)):
            with django_capture_on_commit_callbacks(execute=True):
                work_on("chunk", pk)
        job.refresh_from_db()
        return job

    return grade_all


def states(job: GradingJob) -> list[str]:
    return list(job.chunks.values_list("state", flat=True))


def always(number, pair):
    yield rated(pair)


def test_all_chunks_make_a_done_job(job, run, script):
    script(always)
    assert run().state == JobState.DONE
    assert job.started_at <= job.ended_at
    assert states(job) == [ChunkState.DONE] * 3
    assert Grade.objects.filter(job=job, rating=4).count() == 12
    assert job.chunks.aggregate(n=Sum("done"))["n"] == 12
    assert job.chunks.filter(seconds__gt=0).count() == 3
    assert not job.chunks.exclude(lease_until=None).exists()


def test_passages_without_a_text_fail_and_no_model_is_asked(job, run, script):
    first = job.collection.passages.order_by("pk").first()
    first.text = " "
    first.save()
    script(always)
    assert run().state == JobState.DONE
    failed = Grade.objects.filter(job=job, outcome=Outcome.FAILED)
    assert list(failed.values_list("passage", "reply").distinct()) == [(first.pk, chunks.NO_TEXT)]
    assert (failed.count(), Grade.objects.filter(job=job, rating=4).count()) == (2, 10)


def test_the_grader_is_built_once(job, run, script):
    script(always)
    run()
    assert len(scripted.BUILT) == 1
    assert worker_state.now.device == "paper"
    assert worker_state.now.doing() == "idle"


def test_the_grader_that_was_unused_for_longest_is_closed(script):
    specs = [GraderSpec("scripted", f"script-{n}", "LexicalBaseline") for n in range(chunks.KEPT_GRADERS + 1)]
    scripted.CLOSED.clear()
    scripted.BUILT.clear()
    for spec in specs[: chunks.KEPT_GRADERS]:
        chunks.loaded_grader(spec)
    first = chunks.loaded_grader(specs[0])
    chunks.loaded_grader(specs[-1])
    assert [specs[1]] == scripted.CLOSED
    assert chunks.loaded_grader(specs[0]) is first
    assert specs == scripted.BUILT


def test_a_chunk_runs_twice_without_harm(job, run, script):
    script(always)
    run()
    script(lambda number, pair: pytest.fail("graded again"))
    run()
    assert Grade.objects.count() == 12
    assert job.chunks.aggregate(n=Sum("done"))["n"] == 12


def test_cells_that_somebody_graded_meanwhile_are_skipped_and_counted(job, run, script):
    chunk = job.chunks.first()
    revision, passage = cells_of(chunk)[0]
    row = Grade(
        config=job.config, topic=chunk.topic, revision_id=revision, passage_id=passage, outcome="failed"
    )
    store.save_grades(job.config, [row])
    graded = []
    script(lambda number, pair: graded.append(pair) or always(number, pair))
    assert run().state == JobState.DONE
    assert len(graded) == 11
    chunk.refresh_from_db()
    assert (chunk.done, chunk.failed) == (4, 1)


def test_failures_are_kept_and_counted(job, run, script):
    script(lambda number, pair: iter([GradeFailure(pair.item.item_id, pair.passage.passage_id, "no digit")]))
    assert run().state == JobState.DONE
    failed = Grade.objects.filter(outcome=Outcome.FAILED, rating=None, reply="no digit")
    assert failed.count() == job.chunks.aggregate(n=Sum("failed"))["n"] == 12


def test_a_reply_with_a_character_that_no_database_keeps(job, run, script):
    script(
        lambda number, pair: iter([GradeFailure(pair.item.item_id, pair.passage.passage_id, "no\0 digit")])
    )
    assert run().state == JobState.DONE
    assert set(Grade.objects.values_list("reply", flat=True)) == {"no digit"}


def test_a_grader_that_cannot_run_fails_the_job_in_words(job, run, monkeypatch):
    def refuse(spec, connection):
        raise GraderUnavailable("install rubricweb[models]")

    monkeypatch.setattr(registry, "build", refuse)
    assert run().state == JobState.FAILED
    assert job.error == "install rubricweb[models]"
    assert states(job) == [ChunkState.FAILED, ChunkState.CANCELLED, ChunkState.CANCELLED]
    assert job.ended_at is not None


def test_a_back_end_that_nobody_knows_fails_the_job(job, run, monkeypatch):
    monkeypatch.delitem(registry.BACKENDS, "scripted")
    assert run().state == JobState.FAILED
    assert "scripted" in job.error


def test_an_unexpected_error_is_tried_three_times_and_the_rest_is_graded(job, run, script):
    first = job.chunks.first()
    bad = {passage for _, passage in cells_of(first)}

    def stumble(number, pair):
        doc_ids = set(first.topic.pool.filter(passage__in=bad).values_list("passage__doc_id", flat=True))
        if pair.passage.passage_id in doc_ids and number == 1:
            raise ZeroDivisionError("by nothing")
        yield rated(pair)

    script(stumble)
    assert run().state == JobState.RUNNING
    assert states(job) == [ChunkState.QUEUED, ChunkState.DONE, ChunkState.DONE]
    run()
    assert run().state == JobState.FAILED
    assert job.error == "ZeroDivisionError: by nothing"
    assert states(job) == [ChunkState.FAILED, ChunkState.DONE, ChunkState.DONE]
    assert run().chunks.first().attempts == leases.MAX_ATTEMPTS
    assert Grade.objects.count() == 8


def test_an_error_that_passes_is_forgotten(job, run, script):
    script(lambda number, pair: iter([rated(pair)][1 // (number + 1) - 1 :]) if number else 1 // 0)
    assert run().state == JobState.RUNNING
    script(always)
    assert run().state == JobState.DONE
    assert job.error == ""


def test_a_grader_that_leaves_pairs_out_is_an_error(job, run, script):
    script(lambda number, pair: always(number, pair) if number else iter([]))
    run()
    run()
    assert run().state == JobState.FAILED
    assert "no result for 1 of 1 pairs" in job.error
    assert Grade.objects.count() == 9


def test_a_lost_lease_writes_nothing_more(job, script, monkeypatch):
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1)
    chunk = job.chunks.first()

    def lose(number, pair):
        if number == 2:
            JobChunk.objects.filter(pk=chunk.pk).update(worker="thief-1", attempts=2)
        yield rated(pair)

    script(lose)
    work_on("chunk", chunk.pk)
    chunk.refresh_from_db()
    assert (chunk.state, chunk.worker, chunk.done) == (ChunkState.LEASED, "thief-1", 2)
    assert Grade.objects.count() == 2


def test_a_cancel_in_the_middle_stops_after_the_batch(job, script, monkeypatch):
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1)

    def cancel(number, pair):
        if number == 2:
            steer(job, "cancel-now", by=None)
        yield rated(pair)

    script(cancel)
    work_on("chunk", job.chunks.first().pk)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert states(job) == [ChunkState.CANCELLED] * 3
    assert Grade.objects.count() == job.chunks.aggregate(n=Sum("done"))["n"] == 2


def test_a_stopping_worker_gives_its_chunk_back(job, script, monkeypatch):
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1)
    script(lambda number, pair: worker_state.now.stop() or always(number, pair))
    try:
        work_on("chunk", job.chunks.first().pk)
    finally:
        worker_state.now.is_stopping = False
    chunk = job.chunks.first()
    assert (chunk.state, chunk.attempts, chunk.worker, chunk.done) == (ChunkState.QUEUED, 0, "", 1)


def test_news_are_throttled_and_the_last_is_sent(job, run, script, published, monkeypatch):
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1)
    monkeypatch.setattr(kind, "NEWS_EVERY_SECONDS", 3600)
    script(always)
    run()
    assert published == ["grades", "progress"] * 2


def test_slow_results_are_saved_one_by_one(job, script, monkeypatch):
    monkeypatch.setattr(kind, "BATCH_SECONDS", 0.0)
    saved = []
    script(lambda number, pair: saved.append(Grade.objects.count()) or always(number, pair))
    work_on("chunk", job.chunks.first().pk)
    assert saved == [0, 1, 2, 3]
