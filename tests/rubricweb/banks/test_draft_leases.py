"""Requests for drafts survive dead workers and an emptied Redis, and find a worker that can answer them."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from grading.errors import GraderUnavailable
from grading.types import ItemKind
from rubricweb.banks.drafting import actions, capabilities, jobs, leases, reaper
from rubricweb.banks.drafting.asking import DraftOptions
from rubricweb.banks.drafting.models import Draft, DraftRequest
from rubricweb.grades.engine import reaper as grades_reaper
from rubricweb.jobs import capabilities as workers
from rubricweb.jobs import queue, worker_state
from rubricweb.jobs.leases import MAX_ATTEMPTS, worker_name
from rubricweb.jobs.queue import WorkerBeat
from tests.factories import BankFactory, TopicFactory
from tests.rubricweb.grades.workers import wait_until
from tests.rubricweb.grades.workers import workers as worker_processes

QUESTIONS = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny")


@pytest.fixture
def asked(collection, developer, redis_server):
    """Asked a minute ago; its place in the queue is lost."""
    bank, topic = BankFactory(collection=collection), TopicFactory(collection=collection, query_id="q1")
    request = actions.request_drafts(bank, topic, QUESTIONS, by=developer)
    DraftRequest.objects.update(asked_at=timezone.now() - timedelta(minutes=1))
    queue.get_queue("high").empty()
    worker_state.now.refused.clear()
    yield request
    worker_state.now.refused.clear()


@pytest.fixture
def refusing(monkeypatch):
    def refuse(*model: object) -> None:
        raise GraderUnavailable("install rubricweb[models]")

    monkeypatch.setattr(jobs, "text_model", refuse)


def elsewhere(cannot: dict[str, str] | None = None) -> None:
    queue.beat(WorkerBeat("attic-7", time.time(), "idle", "", cannot=cannot or {}))


def now(request: DraftRequest) -> DraftRequest:
    request.refresh_from_db()
    return request


def expire() -> None:
    DraftRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def test_what_the_queue_lost_is_enqueued_again_once(asked):
    assert reaper.reap() == 1
    assert queue.get_queue("high").job_ids == [f"drafts-{asked.pk}-0"]
    assert reaper.reap() == 0


def test_a_young_request_may_still_be_on_its_way(asked):
    DraftRequest.objects.update(asked_at=timezone.now())
    assert reaper.reap() == 0


def test_the_reaper_of_grades_leaves_drafts_alone(asked):
    reaper.reap()
    assert grades_reaper.reap() == 0


def test_a_lease_is_renewed_and_said_while_a_worker_is_at_it(asked):
    lease = leases.claim(asked.pk)
    assert (now(asked).state, asked.worker, asked.tries) == ("running", worker_name(), 1)
    assert leases.claim(asked.pk) is None
    expire()
    with worker_state.now.on(lease):
        assert worker_state.now.doing() == "drafts for topic q1"
        worker_state.now.renew()
    assert reaper.reap() == 0
    assert now(asked).lease_until > timezone.now()


def test_what_a_dead_worker_had_goes_to_the_next_one(asked, django_capture_on_commit_callbacks):
    dead = leases.claim(asked.pk)
    DraftRequest.objects.update(asked_at=timezone.now())
    expire()
    with django_capture_on_commit_callbacks(execute=True):
        assert reaper.reap() == 1
    assert (now(asked).state, asked.worker) == ("queued", "")
    assert queue.get_queue("high").job_ids == [f"drafts-{asked.pk}-1"]
    assert not dead.renew()
    actions.fail_request(dead, error="late", reply="")
    assert now(asked).state == "queued"


def test_a_request_that_kills_its_workers_is_given_up(asked, bank_events):
    for _ in range(MAX_ATTEMPTS):
        assert now(asked).state == "queued"
        leases.claim(asked.pk)
        expire()
        reaper.reap()
    assert now(asked).state == "failed"
    assert asked.error == f"The worker {worker_name()} died while it asked the model."
    assert "items" in bank_events
    actions.ask_again(asked, by=None)
    assert (now(asked).state, asked.tries) == ("queued", 0)


@pytest.fixture
def bank_events(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(
        "rubricweb.banks.drafting.actions.events.publish_on_commit", lambda _, name: said.append(name)
    )
    return said


def test_a_worker_that_cannot_hands_the_request_over(asked, refusing, django_capture_on_commit_callbacks):
    elsewhere()
    with django_capture_on_commit_callbacks(execute=True):
        jobs.draft_items(asked.pk)
    handed_over = capabilities.need_of(asked).queue
    assert (now(asked).state, asked.tries) == ("queued", 0)
    assert queue.get_queue(handed_over).job_ids == [f"drafts-{asked.pk}-1"]
    assert handed_over not in workers.more_queues()
    assert reaper.reap() == 0, "what was handed over is not lost"
    own = next(beat for beat in queue.living_workers() if beat.name == worker_name())
    assert own.cannot == {handed_over: "tiny as a writer of drafts"}
    worker_state.now.refused.clear()
    assert workers.more_queues() == [handed_over]


def test_a_worker_that_failed_lately_does_not_load_again(asked, refusing, monkeypatch):
    elsewhere()
    jobs.draft_items(asked.pk)
    monkeypatch.setattr(jobs, "text_model", lambda *model: pytest.fail("loaded again"))
    jobs.draft_items(asked.pk)
    assert now(asked).state == "queued"


def test_it_fails_where_no_living_worker_can(asked, refusing):
    elsewhere({capabilities.need_of(asked).queue: "tiny as a writer of drafts"})
    jobs.draft_items(asked.pk)
    assert (now(asked).state, asked.error) == ("failed", "install rubricweb[models]")


def test_it_fails_when_the_one_that_could_is_gone(asked, refusing):
    elsewhere()
    jobs.draft_items(asked.pk)
    capabilities.fail_what_nobody_can_run()
    assert now(asked).state == "queued"
    elsewhere({capabilities.need_of(asked).queue: "tiny as a writer of drafts"})
    capabilities.fail_what_nobody_can_run()
    assert now(asked).state == "failed"
    assert asked.error == ("No living worker can run tiny as a writer of drafts. install rubricweb[models]")


def test_without_redis_nothing_is_refused_for_good(asked, refusing, redis_server):
    redis_server.stop()
    jobs.draft_items(asked.pk)
    assert (now(asked).state, asked.error, asked.tries) == ("queued", "", 0)


def test_a_real_worker_answers_what_an_emptied_redis_lost(
    transactional_db, database_url, redis_server, tmp_path, asked
):
    DraftRequest.objects.update(backend="openai_compatible")
    with worker_processes(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        wait_until(lambda: not DraftRequest.objects.filter(state__in=DraftRequest.UNFINISHED), what="its end")
    assert now(asked).state == "failed"
    assert "no model server is configured" in asked.error
    assert not Draft.objects.exists()
