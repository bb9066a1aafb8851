"""A dry run survives a dead worker and an emptied Redis."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from grading.prompts import as_options
from rubricweb.grades.prompting import leases
from rubricweb.grades.prompting.models import PromptTrial
from rubricweb.jobs import queue
from rubricweb.jobs.leases import MAX_ATTEMPTS, worker_name
from tests.factories import STRICT, gradable

pytestmark = pytest.mark.django_db


@pytest.fixture
def trial(collection, redis_server):
    """Asked for a minute ago; its place in the queue is lost."""
    bank = gradable(collection, topics=1, passages=1, items=1)
    item = bank.items.select_related("topic", "revision").get()
    trial = PromptTrial.objects.create(
        collection=collection,
        prompt_class=STRICT.prompt_class,
        definition=as_options(STRICT),
        backend="lexical",
        llm="lexical",
        topic=item.topic,
        revision=item.revision,
        doc_ids=[],
    )
    PromptTrial.objects.update(at=timezone.now() - timedelta(minutes=1))
    queue.get_queue("high").empty()
    return trial


def now(trial: PromptTrial) -> PromptTrial:
    trial.refresh_from_db()
    return trial


def expire() -> None:
    PromptTrial.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def test_what_the_queue_lost_is_enqueued_again_once(trial):
    assert leases.reap() == 1
    assert queue.get_queue("high").job_ids == [f"trial-{trial.pk}-0"]
    assert leases.reap() == 0


def test_one_worker_has_it(trial):
    lease = leases.claim(trial.pk)
    assert (now(trial).state, trial.worker) == ("running", worker_name())
    assert leases.claim(trial.pk) is None
    assert lease.renew()
    assert leases.reap() == 0


def test_a_dead_worker_loses_it(trial, django_capture_on_commit_callbacks):
    lost = leases.claim(trial.pk)
    expire()
    with django_capture_on_commit_callbacks(execute=True):
        assert leases.reap() == 1
    assert now(trial).state == "queued"
    taken = leases.claim(trial.pk)
    assert not lost.renew(), "another worker has it"
    assert not lost.end(PromptTrial.State.FAILED, error="late")
    assert taken.end(PromptTrial.State.DONE, results=[])
    assert now(trial).state == "done"


def test_what_loses_its_worker_again_and_again_is_given_up(trial):
    for _ in range(MAX_ATTEMPTS):
        assert leases.claim(trial.pk)
        expire()
        leases.reap()
    assert now(trial).state == "failed"
    assert "died while it asked the model" in trial.error
