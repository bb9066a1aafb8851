"""A job that somebody waits for now has high priority, also when its chunks are in Redis already."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from rubricweb.core.models import AuditEntry
from rubricweb.grades import actions
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs import leases, queue, worker_state
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


@pytest.fixture
def two(
    collection, redis_server, settings, django_capture_on_commit_callbacks
) -> tuple[GradingJob, GradingJob]:
    """Two backfills of three chunks each, the second behind the first."""
    settings.CHUNK_CELLS = 6
    gradable(collection, topics=2)
    with django_capture_on_commit_callbacks(execute=True):
        found = [actions.start_grading(collection, by=None, topics=[t])[0] for t in collection.topics.all()]
    return found[0], found[1]


def names(job: GradingJob) -> list[str]:
    return [f"chunk-{pk}-0" for pk in job.chunks.order_by("number").values_list("pk", flat=True)]


def waiting(name: str) -> list[str]:
    return list(queue.get_queue(name).job_ids)


def test_chunks_in_redis_move_to_the_queue_of_people_and_back(
    two, developer, django_capture_on_commit_callbacks
):
    backfill, awaited = two
    assert waiting("default") == names(backfill) + names(awaited)
    with django_capture_on_commit_callbacks(execute=True):
        assert steer(awaited, "first", by=developer).priority == "high"
    assert (waiting("high"), waiting("default")) == (names(awaited), names(backfill))
    assert {job.origin for job in queue.get_queue("high").jobs} == {"high"}
    assert AuditEntry.objects.filter(verb="grading put first", by=developer).count() == 1
    with django_capture_on_commit_callbacks(execute=True):
        steer(awaited, "in-turn", by=developer)
    assert (waiting("high"), waiting("default")) == ([], names(backfill) + names(awaited))


def test_the_worker_takes_it_first(two, developer, django_capture_on_commit_callbacks):
    from rubricweb.jobs.worker import PatientWorker

    backfill, awaited = two
    with django_capture_on_commit_callbacks(execute=True):
        steer(awaited, "first", by=developer)
    queues = [queue.get_queue(name) for name in worker_state.queue_names()]
    worker = PatientWorker(queues, connection=queues[0].connection)
    taken = [worker._next_job()[0].id for _ in range(6)]
    assert taken == names(awaited) + names(backfill)


def test_what_is_being_graded_or_was_handed_over_stays_where_it_is(
    two, developer, django_capture_on_commit_callbacks
):
    _, awaited = two
    first, second, third = awaited.chunks.order_by("number")
    queue.get_queue("default").remove(f"chunk-{first.pk}-0")
    JobChunk.objects.filter(pk=first.pk).update(
        state=JobChunk.State.LEASED, attempts=1, lease_until=leases.expiry()
    )
    queue._move_now([second], "default", "for-config-1")
    with django_capture_on_commit_callbacks(execute=True):
        steer(awaited, "first", by=developer)
    assert waiting("high") == [f"chunk-{third.pk}-0"]
    assert waiting("for-config-1") == [f"chunk-{second.pk}-0"]
    JobChunk.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert leases.reap() == 0, "nothing is lost"


def test_without_redis_the_reaper_enqueues_by_the_new_priority(
    two, developer, redis_server, django_capture_on_commit_callbacks
):
    _, awaited = two
    redis_server.stop()
    with django_capture_on_commit_callbacks(execute=True):
        steer(awaited, "first", by=developer)
    redis_server.start()
    JobChunk.objects.update(queued_at=timezone.now() - timedelta(minutes=1))
    assert leases.reap() == 6
    assert sorted(waiting("high")) == sorted(names(awaited))


def test_nothing_happens_to_a_job_that_has_ended(two, developer):
    backfill, _ = two
    steer(backfill, "cancel-now", by=developer)
    assert steer(backfill, "first", by=developer).priority == "default"
    assert not AuditEntry.objects.filter(verb="grading put first").exists()


def test_the_order_is_kept_over_pause_and_resume(two, developer, django_capture_on_commit_callbacks):
    _, awaited = two
    with django_capture_on_commit_callbacks(execute=True):
        steer(awaited, "first", by=developer)
        steer(awaited, "pause", by=developer)
    queue.get_queue("high").empty()
    with django_capture_on_commit_callbacks(execute=True):
        steer(awaited, "resume", by=developer)
    assert waiting("high") == names(awaited)
    work_on("chunk", awaited.chunks.first().pk)
    assert awaited.grades.count() == 6


def url(act: str, job: GradingJob) -> str:
    return reverse("grades:steer", args=["autumn", "grading", job.pk, act])


def test_the_monitor_raises_and_lowers(client_of, developer, two):
    client, (_, job) = client_of(developer), two
    opened = {"job": job.pk}
    page = markup(client.get(reverse("grades:jobs", args=["autumn"]), opened))
    assert url("first", job) in page
    assert url("in-turn", job) not in page
    assert url("in-turn", job) in markup(client.post(url("first", job), opened, headers=HTMX))
    job.refresh_from_db()
    assert job.priority == "high"
    assert url("first", job) in markup(client.post(url("in-turn", job), opened, headers=HTMX))
    job.refresh_from_db()
    assert job.priority == "default"
    assert client.get(url("first", job)).status_code == 405


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("assessor", 403), ("outsider", 404)])
def test_who_may_not(request, client_of, two, who, status):
    client = client_of(request.getfixturevalue(who))
    for name in ("first", "in-turn"):
        assert client.post(url(name, two[1])).status_code == status
