"""Chunks of the back-end `batch_file`: each cell is asked once, whoever dies when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now

pytest.importorskip("openai")

from grading.graders import batch_file
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import chunks, kind, parts, price
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs import kinds, leases, worker_state
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.grading.servers.batches import rates, serving_batches
from tests.rubricweb.jobs.workers import wait_until, workers

RATE = "QuestionSelfRatedPromptWithReminder"


class Killed(BaseException):
    """As SIGKILL: nothing in the worker can catch it."""


@pytest.fixture
def server(settings):
    with serving_batches() as running:
        settings.OPENAI_BASE_URL = running.url
        chunks.close_until(0)
        yield running
        chunks.close_until(0)


@pytest.fixture
def job(collection, server, redis_server, request) -> GradingJob:
    """A chunk of 8 cells, of another prompt than RATE where a test has one."""
    gradable(collection, topics=1, passages=4, items=2)
    config = config_for("batch_file", "m", getattr(request, "param", RATE))
    return actions.start_grading(collection, by=None, configs=[config])[0]


@pytest.fixture
def look(job, django_capture_on_commit_callbacks) -> Callable[[], JobChunk]:
    """`look()`: a worker claims the chunk, due or not; returns the chunk as it is then."""

    def claim() -> JobChunk:
        job.chunks.update(not_before=None)
        chunk = job.chunks.get()
        with django_capture_on_commit_callbacks(execute=True):
            work_on("chunk", chunk.pk)
        chunk.refresh_from_db()
        return chunk

    return claim


def lose_worker(chunk: JobChunk) -> None:
    """The lease of a worker that died runs out."""
    chunks.close_until(0)
    JobChunk.objects.filter(pk=chunk.pk).update(lease_until=Now() - timedelta(seconds=1))


def test_a_chunk_waits_for_its_batch_without_a_worker(job, server, look):
    chunk = look()
    assert (chunk.state, chunk.batch, chunk.attempts) == ("queued", "batch_0", 0)
    work_on("chunk", chunk.pk)  # not due
    assert leases.claim(kinds.get("chunk"), chunk.pk) is None
    for _ in range(5):
        chunk = look()
        assert (chunk.state, chunk.batch, chunk.attempts) == ("queued", "batch_0", 0)
    server.end(chunk.batch, lambda _: rates(4))
    chunk = look()
    job.refresh_from_db()
    assert (chunk.state, job.state) == ("done", "done")
    assert Grade.objects.filter(job=job, rating=4).count() == 8
    assert chunk.seconds >= 90
    assert len(server.batches) == 1


def test_the_rest_of_an_expired_batch_is_asked_again(job, server, look):
    chunk = look()
    answered = iter(range(8))
    server.end(chunk.batch, lambda _: rates(3) if next(answered) < 5 else None, "expired")
    chunk = look()
    assert (chunk.state, chunk.batch, chunk.done) == ("queued", "", 5)
    chunk = look()
    assert len(server.requests(chunk.batch)) == 3
    server.end(chunk.batch, lambda _: rates(2))
    assert look().state == "done"
    assert Grade.objects.filter(job=job, rating=3).count() == 5
    assert Grade.objects.filter(job=job, rating=2).count() == 3


def test_batches_without_any_answer_are_given_up(job, server, look):
    for _ in range(3):
        chunk = look()
        assert chunk.batch
        server.end(chunk.batch, lambda _: None, "expired")
        chunk = look()
    job.refresh_from_db()
    assert (chunk.state, job.state) == ("failed", "failed")
    assert "has no answers" in job.error
    assert len(server.batches) == 3


STEPS = ("files.create", "batches.create", "keep", "collect", "save")


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_dies_after_a_step_costs_nothing(job, server, look, monkeypatch, step):
    chunk = job.chunks.get()
    if step in ("collect", "save"):
        server.end(look().batch, lambda _: rates(4))
    with monkeypatch.context() as patch:
        die_after(patch, step)
        with pytest.raises(Killed):
            look()
    chunk.refresh_from_db()
    assert chunk.state == "leased"
    lose_worker(chunk)
    for _ in range(3):
        chunk = look()
        for batch in server.batches.values():
            if batch["status"] == "in_progress":
                server.end(batch["id"], lambda _: rates(4))
    job.refresh_from_db()
    assert job.state == "done"
    assert Grade.objects.filter(job=job, rating=4).count() == 8
    assert (len(server.batches), len([1 for name, _ in server.files.values() if "jsonl" in name])) == (1, 1)


@pytest.mark.parametrize("job", ["QuestionSelfRatedWholeRubric"], indirect=True)
def test_a_call_about_several_items_is_saved_whole_and_asked_once(job, server, look, monkeypatch):
    chunk = look()
    assert len(server.requests(chunk.batch)) == 4
    server.end(chunk.batch, lambda _: rates("2: 3\n1: 4"))
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1)
    for saved in (2, 4):
        with monkeypatch.context() as patch:
            die_after(patch, "save")
            with pytest.raises(Killed):
                look()
        assert Grade.objects.filter(job=job).count() == saved
        lose_worker(chunk)
    assert look().state == "done"
    places = Grade.objects.filter(job=job).order_by("rating").values_list("call_place", "rating")
    assert list(places) == [(2, 3)] * 4 + [(1, 4)] * 4
    assert len(server.batches) == 1


def die_after(patch, step: str) -> None:
    def dying(function):
        def call(*arguments, **named):
            done = function(*arguments, **named)
            if step == "collect":
                next(iter(done))
            raise Killed

        return call

    if step in ("files.create", "batches.create"):
        from openai.resources import Batches, Files

        owner = Files if step == "files.create" else Batches
        patch.setattr(owner, "create", dying(owner.create))
    elif step == "keep":
        patch.setattr(chunks, "_keep", dying(chunks._keep))
    elif step == "collect":
        endpoint = batch_file.VendorEndpoint
        patch.setattr(endpoint, "lines", dying(endpoint.lines))
    else:
        patch.setattr(chunks, "save", dying(chunks.save))


def test_a_server_that_is_away_loses_nothing(job, server, look):
    server.status = 503
    chunk = look()
    assert (chunk.state, chunk.batch, chunk.attempts) == ("queued", "", 0)
    server.status = 200
    assert look().batch == "batch_0"


def test_the_batches_of_a_cancelled_job_are_cancelled(job, server, look, owner, monkeypatch):
    chunk = look()
    steer(job, "cancel-now", by=owner)
    monkeypatch.setattr(worker_state.now, "backends", ("batch_file",))
    chunks.cancel_unwanted()
    chunk.refresh_from_db()
    assert (chunk.state, chunk.batch) == ("cancelled", "")
    assert server.batches["batch_0"]["status"] == "cancelling"


def test_a_retry_asks_anew(job, server, look, owner):
    refused = {"status_code": 400, "request_id": "1", "body": {"error": {"message": "bad request"}}}
    server.end(look().batch, lambda _: refused)
    assert look().state == "done"
    assert Grade.objects.filter(job=job, outcome="failed").count() == 8
    [retry] = actions.retry_failed_of(job, by=owner)
    work_on("chunk", retry.chunks.get().pk)
    assert retry.chunks.get().batch == "batch_1"
    assert len(server.requests("batch_1")) == 8


def test_half_the_price_is_shown(db, settings):
    settings.PRICES = {"m": 0.5}
    assert price.price_each(config_for("batch_file", "m", RATE)) == 0.25
    assert price.price_each(config_for("openai_compatible", "m", RATE)) == 0.5
    assert price.price_each(config_for("batch_file", "other", RATE)) is None


@pytest.mark.parametrize("cells", [10, 50_000])
def test_a_chunk_holds_what_a_file_may_hold(cells, settings):
    settings.CHUNK_CELLS = cells
    assert parts.size_for(100.0, "batch_file") == 50_000


def test_a_worker_sends_waits_and_saves(
    transactional_db, database_url, redis_server, tmp_path, collection, monkeypatch
):
    gradable(collection, topics=1, passages=4, items=2)
    with serving_batches() as server:
        server.ends_at_once = lambda _: rates(5)
        monkeypatch.setenv("RUBRIC_OPENAI_BASE_URL", server.url)
        config = config_for("batch_file", "m", RATE)
        (job,) = actions.start_grading(collection, by=None, configs=[config])
        with workers(database_url, redis_server.url, tmp_path) as start:
            start(lease_seconds=60).wait_until_heard()
            wait_until(lambda: JobChunk.objects.filter(job=job).exclude(batch="").exists(), what="a batch")
            JobChunk.objects.update(not_before=Now())
            wait_until(lambda: GradingJob.objects.get(pk=job.pk).has_ended, what="the job to end")
        assert Grade.objects.filter(job=job, rating=5).count() == 8
        assert len(server.batches) == 1
