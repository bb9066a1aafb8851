"""Requests for drafts and dry runs survive dead workers and an emptied Redis, and find a worker that can."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from grading.errors import GraderUnavailable
from grading.graders import registry
from grading.prompts import as_options
from grading.types import ItemKind
from rubricweb.banks import drafting
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.core import events
from rubricweb.graders import dry_runs
from rubricweb.graders.models import DryRun
from rubricweb.jobs import kinds, leases, limits, queue, worker_state
from rubricweb.jobs.leases import MAX_ATTEMPTS, LeaseLost, worker_name
from rubricweb.jobs.models import Task
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.worker import work_on
from rubricweb.jobs.worker_state import handed_over
from tests.factories import STRICT, BankFactory, TopicFactory, gradable
from tests.rubricweb.jobs.workers import wait_until, workers as worker_processes
from tests.rubricweb.jobs.working import claim

QUESTIONS = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny")
QUEUE = "high-hf_seq2seq"
"""Of people who wait, for workers that have the back-end."""


@pytest.fixture
def request_for_drafts(collection, developer) -> DraftRequest:
    bank, topic = BankFactory(collection=collection), TopicFactory(collection=collection, query_id="q1")
    return drafting.request_drafts(bank, topic, QUESTIONS, by=developer)


@pytest.fixture
def dry_run(collection) -> DryRun:
    bank = gradable(collection, topics=1, passages=1, items=1)
    item = bank.items.select_related("topic", "revision").get()
    return DryRun.objects.create(
        collection=collection,
        prompt_class=STRICT.prompt_class,
        definition=as_options(STRICT),
        backend="hf_seq2seq",
        llm="tiny",
        topic=item.topic,
        revision=item.revision,
        doc_ids=[],
    )


@pytest.fixture(params=["request_for_drafts", "dry_run"])
def task(request, db, redis_server) -> Task:
    """NewQuestion for a minute ago; its place in the queue is lost."""
    task = request.getfixturevalue(request.param)
    type(task).objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    queue.get_queue(QUEUE).empty()
    return now(task)


@pytest.fixture
def refusing(monkeypatch):
    def refuse(*model: object, **options: object) -> None:
        raise GraderUnavailable("the weights are not here")

    monkeypatch.setattr(limits, "text_model", refuse)
    monkeypatch.setattr(dry_runs.chunks, "loaded_grader", refuse)


def elsewhere(cannot: dict[str, str] | None = None, backends: tuple[str, ...] = ("hf_seq2seq",)) -> None:
    queue.beat(WorkerBeat("attic-7", time.time(), "idle", "", backends=backends, cannot=cannot or {}))


def run(task: Task) -> None:
    work_on(kinds.kind_of(task).name, task.pk)


def need(task: Task) -> kinds.Need:
    return kinds.kind_of(task).need(task)


def now(task: Task) -> Task:
    task.refresh_from_db()
    return task


def expire(task: Task) -> None:
    type(task).objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def test_what_the_queue_lost_is_enqueued_again_once(task):
    assert leases.reap() == 1
    assert queue.get_queue(QUEUE).job_ids == [queue.rq_id(task)]
    assert leases.reap() == 0


def test_a_young_task_may_still_be_on_its_way(task):
    type(task).objects.update(queued_at=timezone.now())
    assert leases.reap() == 0


def test_a_lease_is_renewed_and_told_while_a_worker_is_at_it(task):
    lease = claim(task)
    assert (now(task).state, task.worker, task.attempts) == ("leased", worker_name(), 1)
    assert claim(task) is None
    expire(task)
    with worker_state.now.on(lease):
        assert worker_state.now.doing() == kinds.kind_of(task).label(task)
        worker_state.now.renew()
    assert leases.reap() == 0
    assert now(task).lease_until > timezone.now()


def test_what_a_dead_worker_had_goes_to_the_next_one(task, django_capture_on_commit_callbacks):
    dead = claim(task)
    expire(task)
    with django_capture_on_commit_callbacks(execute=True):
        assert leases.reap() == 1
    assert (now(task).state, task.worker) == ("queued", "")
    assert queue.get_queue(QUEUE).job_ids == [queue.rq_id(task)]
    assert not dead.renew()
    assert not leases.fail(dead, error="late")
    with pytest.raises(LeaseLost):
        leases.finish(dead)
    assert now(task).state == "queued"


def test_what_kills_its_workers_is_given_up(task, monkeypatch, django_capture_on_commit_callbacks):
    told: list[str] = []
    monkeypatch.setattr(events, "publish", lambda channel, name: told.append(channel))
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(MAX_ATTEMPTS):
            assert now(task).state == "queued"
            assert claim(task)
            expire(task)
            leases.reap()
    assert now(task).state == "failed"
    words = kinds.kind_of(task).label(task)
    assert task.error == f"The worker {worker_name()} died while it worked on {words}."
    assert task.ended_at
    assert told


def test_one_that_was_given_up_can_be_asked_again(request_for_drafts):
    DraftRequest.objects.update(state="failed", attempts=MAX_ATTEMPTS)
    drafting.ask_again(now(request_for_drafts), by=None)
    assert (now(request_for_drafts).state, request_for_drafts.attempts) == ("queued", 0)


def test_a_worker_that_cannot_hands_it_over(task, refusing, monkeypatch, django_capture_on_commit_callbacks):
    elsewhere()
    place = handed_over(need(task))
    with django_capture_on_commit_callbacks(execute=True):
        run(task)
    assert (now(task).state, task.attempts) == ("queued", 0)
    assert len(queue.get_queue(place).job_ids) == 1
    assert place not in worker_state.queue_names()
    assert leases.reap() == 0, "what was handed over is not lost"
    own = next(worker for worker in queue.living_workers() if worker.name == worker_name())
    assert own.cannot == {place: need(task).label}
    worker_state.now.refused.clear()
    assert place not in worker_state.queue_names(), "it has no such back-end"
    monkeypatch.setattr(worker_state.now, "backends", ("hf_seq2seq",))
    assert place in worker_state.queue_names()


def test_a_worker_that_failed_lately_does_not_load_again(task, refusing, monkeypatch):
    elsewhere()
    run(task)
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: pytest.fail("loaded again"))
    monkeypatch.setattr(dry_runs.chunks, "loaded_grader", lambda spec: pytest.fail("loaded again"))
    run(task)
    assert now(task).state == "queued"


def test_it_fails_where_no_living_worker_can(task, refusing):
    elsewhere({handed_over(need(task)): "tiny"})
    run(task)
    assert (now(task).state, task.error) == ("failed", "the weights are not here")


def test_it_fails_when_the_one_that_could_is_gone(task, refusing):
    elsewhere()
    run(task)
    worker_state.fail_what_nobody_can_run()
    assert now(task).state == "queued"
    elsewhere({handed_over(need(task)): "tiny"})
    type(task).objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    worker_state.fail_what_nobody_can_run()
    assert now(task).state == "failed"
    assert task.error == f"No living worker can run {need(task).label}. the weights are not here"


def test_it_fails_with_a_remedy_where_no_worker_has_the_back_end_for_a_while(task, settings):
    elsewhere(backends=())
    worker_state.fail_what_nobody_can_run()
    assert now(task).state == "queued", "one that has it may be starting"
    settings.WORKER_WAIT_SECONDS = 0
    worker_state.fail_what_nobody_can_run()
    assert now(task).state == "failed"
    assert "It needs torch and transformers: pip install 'rubricweb[models]'" in task.error


def test_a_worker_listens_where_its_back_ends_wait(redis_server, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda package: package == "openai" or None)
    monkeypatch.setattr(worker_state.now, "backends", ())
    worker_state.declare()
    assert worker_state.queue_names() == [
        "high",
        "high-batch_file",
        "high-openai_compatible",
        "default",
        "default-batch_file",
        "default-openai_compatible",
        "low",
        "low-batch_file",
        "low-openai_compatible",
    ]


def test_without_redis_nothing_is_refused_for_good(task, refusing, redis_server):
    redis_server.stop()
    run(task)
    assert (now(task).state, task.error, task.attempts) == ("queued", "", 0)


def test_a_worker_that_stops_gives_it_back(task, monkeypatch):
    monkeypatch.setattr(worker_state.now, "is_stopping", True)
    run(task)
    assert (now(task).state, task.attempts) == ("queued", 0)


@pytest.mark.django_db(transaction=True)
def test_a_lost_database_connection_is_no_attempt(task, monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no sessions")

    def lose(*model: object, **options: object) -> None:
        with transaction.atomic():
            connections["default"].connection.close()
            now(task)

    monkeypatch.setattr(limits, "text_model", lose)
    monkeypatch.setattr(dry_runs.chunks, "loaded_grader", lose)
    for _ in range(MAX_ATTEMPTS + 1):
        run(task)
    assert (now(task).state, task.attempts, task.error) == ("queued", 0, "")


def test_a_real_worker_answers_what_an_emptied_redis_lost(
    transactional_db, database_url, redis_server, tmp_path, request_for_drafts
):
    DraftRequest.objects.update(backend="openai_compatible", queued_at=timezone.now() - timedelta(minutes=1))
    redis_server.flush()
    with worker_processes(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        wait_until(lambda: not DraftRequest.objects.filter(state__in=DraftRequest.LIVE), what="its end")
    assert now(request_for_drafts).state == "failed"
    assert "no model server is configured" in request_for_drafts.error
    assert not Draft.objects.exists()
