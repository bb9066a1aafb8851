"""Counts, rates and remaining time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from rubricweb.grades import actions
from rubricweb.grades.engine import progress
from rubricweb.grades.engine.progress import job_progress, job_rows, measured_rate
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs.progress import in_words
from tests.factories import gradable, lexical_config


@pytest.fixture
def job(collection, settings, redis_server) -> GradingJob:
    """5 chunks of 4 cells."""
    settings.CHUNK_CELLS = 4
    gradable(collection, topics=1, passages=5, items=4)
    return actions.start_grading(collection, by=None)[0]


def end(chunk: JobChunk, seconds: float, failed: int = 0) -> None:
    chunk.state, chunk.done, chunk.failed, chunk.seconds = JobChunk.State.DONE, chunk.size, failed, seconds
    chunk.save()


def test_nothing_is_known_at_first(job):
    row = job_progress(job)
    assert (row.done, row.failed, row.total, row.working) == (0, 0, 20, 0)
    assert (row.rate, row.remaining, row.remaining_words) == (None, None, "")
    assert measured_rate(job.config) is None


def test_counts_and_rate_come_from_the_chunks(job):
    first, second, *_ = job.chunks.all()
    end(first, 2.0)
    end(second, 2.0, failed=1)
    row = job_progress(job)
    assert (row.done, row.failed) == (8, 1)
    assert row.rate == pytest.approx(8 / 4)
    assert row.remaining == pytest.approx((12 / 2 * 0.7, 12 / 2 * 1.5))
    assert measured_rate(job.config) == pytest.approx(2.0)


def test_workers_add_up(job):
    first, second, third, *_ = job.chunks.all()
    end(first, 2.0)
    JobChunk.objects.filter(pk__in=[second.pk, third.pk]).update(state=JobChunk.State.LEASED)
    row = job_progress(job)
    assert row.working == 2
    assert row.rate == pytest.approx(2 * 4 / 2)


def test_the_range_is_that_of_the_chunks(job):
    for chunk, seconds in zip(job.chunks.all(), (1.0, 2.0, 2.0, 4.0), strict=False):
        end(chunk, seconds)
    low, high = job_progress(job).remaining
    assert 0 < low < 4 / (16 / 9) < high


def test_a_job_that_has_not_begun_is_judged_by_the_config(job, collection):
    for chunk in job.chunks.all():
        end(chunk, 1.0)
    GradingJob.objects.filter(pk=job.pk).update(state=GradingJob.State.DONE)
    later = GradingJob.objects.create(collection=collection, config=lexical_config(), scope="more", total=40)
    assert job_progress(later).rate == pytest.approx(4.0)


def test_an_ended_job_has_its_rate_and_nothing_remaining(job):
    began = timezone.now()
    for chunk in job.chunks.all():
        end(chunk, 1.0)
    GradingJob.objects.filter(pk=job.pk).update(
        state=GradingJob.State.DONE, started_at=began, ended_at=began + timedelta(seconds=5)
    )
    row = job_progress(job)
    assert (row.rate, row.remaining) == (pytest.approx(4.0), None)


def test_rows_are_newest_first_and_limited(job, collection):
    for number in range(3):
        GradingJob.objects.create(
            collection=collection, config=job.config, scope=f"{number}", total=1, state="done"
        )
    assert [row.job.scope for row in job_rows(collection, limit=2)] == ["2", "1"]
    assert [row.job.pk for row in progress.live_rows(collection)] == [job.pk]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ((0.1, 0.3), "about 1 s"),
        ((38, 41), "38 to 41 s"),
        ((70, 110), "70 to 110 s"),
        ((100, 130), "about 2 min"),
        ((130, 250), "2 to 4 min"),
        ((7000, 12000), "2 to 3 h"),
    ],
)
def test_ranges_in_words(seconds, words):
    assert in_words(seconds) == words
