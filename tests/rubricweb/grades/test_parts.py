"""A job of any size starts with a row a topic; its chunks are opened as workers go on."""

from __future__ import annotations

import numpy as np
import pytest

from grading.errors import GraderUnavailable
from grading.graders import registry
from rubricweb.grades import actions
from rubricweb.grades.engine import followers, loaded, parts
from rubricweb.grades.engine.parts import Span, cells_of
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.run import work_on
from tests.factories import gradable, grade, lexical_config

JobState, ChunkState = GradingJob.State, JobChunk.State


@pytest.fixture
def bank(collection, settings, monkeypatch, redis_server):
    """2 topics of 8 passages and 2 items: 32 cells, in chunks of 4 of which 3 wait at most."""
    settings.CHUNK_CELLS = 4
    monkeypatch.setattr(parts, "WAVE", 3)
    monkeypatch.setattr(parts, "LOW_WATER", 2)
    return gradable(collection, topics=2, passages=8, items=2)


@pytest.fixture
def job(bank, collection) -> GradingJob:
    return start(collection)


def start(collection) -> GradingJob:
    return actions.start_grading(collection, by=None, configs=[lexical_config()])[0]


def work(job: GradingJob, *, chunks: int) -> GradingJob:
    """As workers do, one chunk after the other."""
    for _ in range(chunks):
        work_on("chunk", job.chunks.filter(state=ChunkState.QUEUED).order_by("number")[0].pk)
    job.refresh_from_db()
    return job


def waiting(job: GradingJob) -> int:
    return job.chunks.filter(state=ChunkState.QUEUED).count()


def graded(job: GradingJob) -> int:
    return Grade.objects.filter(job=job).count()


@pytest.mark.django_db
class TestOpening:
    def test_few_chunks_exist_at_a_time_and_all_cells_are_graded_once(self, job):
        assert (job.total, job.parts.count(), waiting(job)) == (32, 2, 3)
        most = 0
        for _ in range(8):
            most = max(most, waiting(job))
            work(job, chunks=1)
        assert (most, job.state, graded(job)) == (3, JobState.DONE, 32)
        assert list(job.chunks.values_list("number", "size", "done")) == [(n, 4, 4) for n in range(8)]
        cells = [cell for chunk in job.chunks.all() for cell in cells_of(chunk)]
        assert len(cells) == len(set(cells)) == 32

    def test_a_second_press_finds_nothing_left(self, job, collection):
        assert actions.start_grading(collection, by=None, configs=[lexical_config()]) == []

    def test_only_what_is_missing_is_in_it(self, bank, collection):
        item = bank.items.first()
        first, second, *_ = (row.passage for row in item.topic.pool.all())
        grade(lexical_config(), item, first, 3)
        for other in bank.items.filter(topic=item.topic):
            grade(lexical_config(), other, second, 3)
        job = start(collection)
        assert job.total == 29
        while waiting(job):
            work(job, chunks=1)
        cells = {cell for chunk in job.chunks.all() for cell in cells_of(chunk)}
        assert (len(cells), job.state) == (29, JobState.DONE)
        assert (item.revision_id, first.pk) not in cells

    def test_resumed_it_goes_on(self, job):
        lease = leases.claim(kind_of(job.chunks.first()), job.chunks.first().pk)
        actions.pause_job(job, by=None)
        job.refresh_from_db()
        parts.open_more(job)
        assert waiting(job) == 2
        actions.resume_job(job, by=None)
        job.chunks.filter(pk=lease.work.pk).update(state=ChunkState.QUEUED, attempts=0)
        assert work(job, chunks=8).state == JobState.DONE
        assert graded(job) == 32


@pytest.mark.django_db
class TestEnding:
    @pytest.mark.parametrize("cancel", [actions.cancel_job, actions.cancel_job_after_batch])
    def test_cancelled_it_opens_no_more_and_the_rest_starts_anew(self, job, collection, cancel):
        work(job, chunks=3)
        cancel(job, by=None)
        job.refresh_from_db()
        assert (job.state, graded(job), waiting(job)) == (JobState.CANCELLED, 12, 0)
        again = start(collection)
        assert again.total == 20
        assert work(again, chunks=5).state == JobState.DONE

    def test_what_nobody_can_run_opens_no_more(self, job, monkeypatch):
        def refuse(spec, connection):
            raise GraderUnavailable("no such model")

        loaded.close_until(0)
        monkeypatch.setattr(registry, "build", refuse)
        work(job, chunks=1)
        assert (job.state, waiting(job), job.chunks.count()) == (JobState.FAILED, 0, 3)


@pytest.mark.django_db
class TestEarlierVersions:
    def test_a_chunk_that_lists_its_cells_is_graded(self, job):
        listed = [list(cell) for chunk in job.chunks.all() for cell in cells_of(chunk)]
        old = GradingJob.objects.create(
            collection=job.collection, config=job.config, scope="old", total=len(listed)
        )
        topic = job.chunks.first().topic
        chunk = JobChunk.objects.create(job=old, topic=topic, number=0, cells=listed, size=len(listed))
        work_on("chunk", chunk.pk)
        old.refresh_from_db()
        assert (old.state, graded(old)) == (JobState.DONE, 12)

    def test_a_waiting_job_whose_chunks_list_their_cells_begins(self, job, monkeypatch):
        cells = [cell for chunk in job.chunks.all() for cell in cells_of(chunk)]
        old = GradingJob.objects.create(
            collection=job.collection, config=job.config, scope="old", total=12, state="waiting", after=job
        )
        topic = job.chunks.first().topic
        for number in range(3):
            listed = [list(cell) for cell in cells[4 * number : 4 * number + 4]]
            JobChunk.objects.create(job=old, topic=topic, number=number, cells=listed, size=4)
        answered = {topic.pk: set(cells[:6])}
        monkeypatch.setattr(followers, "answered_cells", lambda config, topics: answered)
        job.state = JobState.DONE
        assert followers.release(job) == []
        old.refresh_from_db()
        assert (old.state, old.total) == (JobState.QUEUED, 6)
        assert {cell for chunk in old.chunks.all() for cell in cells_of(chunk)} == answered[topic.pk]


@pytest.mark.parametrize(
    ("first", "most", "spans"),
    [
        (0, 9, [(0, 2, 4), (2, 3, 3), (3, 4, 9), (4, 5, 1)]),
        (0, 2, [(0, 2, 4), (2, 3, 3)]),
        (3, 9, [(3, 4, 9), (4, 5, 1)]),
        (5, 9, []),
        (0, 0, []),
    ],
)
def test_rows_stay_whole(first, most, spans):
    counts = np.array([2, 2, 3, 9, 1])
    assert parts.cut(counts, 4, first=first, most=most) == [Span(*span) for span in spans]
