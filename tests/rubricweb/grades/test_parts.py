"""A job of any size starts with a row a topic; its chunks are opened as workers go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grading.errors import GraderUnavailable
from grading.graders import registry
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Pooled, Run
from rubricweb.grades import actions
from rubricweb.grades.engine import chunks, kind, missing, monitor, parts, price, stages
from rubricweb.grades.engine.gaps import WholeTopic, listed
from rubricweb.grades.engine.parts import Span, cells_of
from rubricweb.grades.models import Grade, GradingJob, JobChunk, Pair
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from tests.factories import ItemFactory, PooledFactory, gradable, grade, lexical_config, ranked

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


def work_off(job: GradingJob) -> GradingJob:
    while waiting(job):
        work(job, chunks=1)
    return job


def start_nothing(collection) -> list[GradingJob]:
    return actions.start_grading(collection, by=None, configs=[lexical_config()])


def cells_in(job: GradingJob) -> list[Pair]:
    return [cell for chunk in job.chunks.all() for cell in cells_of(chunk)]


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
        cells = cells_in(job)
        assert len(cells) == len(set(cells)) == 32

    def test_a_second_press_finds_nothing_left(self, job, collection):
        assert actions.start_grading(collection, by=None, configs=[lexical_config()]) == []

    def test_what_is_graded_while_somebody_looks_is_not_missing(self, job, collection, monkeypatch):
        look = stages.missing_cells

        def look_then_work(*given, **named):
            found = look(*given, **named)
            work(job, chunks=1)
            return found

        monkeypatch.setattr(stages, "missing_cells", look_then_work)
        assert monitor.gap(collection, monitor.Scope(None, None)).cells == 0
        assert start_nothing(collection) == []

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
        steer(job, "pause", by=None)
        job.refresh_from_db()
        parts.open_more(job)
        assert waiting(job) == 2
        steer(job, "resume", by=None)
        job.chunks.filter(pk=lease.work.pk).update(state=ChunkState.QUEUED, attempts=0)
        assert work(job, chunks=8).state == JobState.DONE
        assert graded(job) == 32


@pytest.mark.django_db
class TestWholeTopics:
    """Where a topic has no grade yet, a job only counts it until its first chunk is opened."""

    def test_neither_ratings_nor_pools_are_read_to_start(self, bank, collection, monkeypatch):
        def refuse(*given, **named):
            raise AssertionError("nobody needs it")

        monkeypatch.setattr(missing, "matrices", refuse)
        monkeypatch.setattr(missing, "collection_pool", refuse)
        job = start(collection)
        assert [(part.is_whole, part.rows) for part in job.parts.all()] == [(False, 8), (True, 8)]
        assert monitor.gap(collection, monitor.Scope(None, None)).cells == 0

    def test_the_price_is_that_of_the_single_cells(self, bank, collection):
        (found,) = missing.missing_cells(collection, [lexical_config()])
        assert all(isinstance(gap, WholeTopic) for gap in found.gaps)
        detailed = replace(found, gaps=tuple(listed(collection, found.gaps)))
        counted, read = (price.dollars_of(collection, [one]) for one in (found, detailed))
        assert (found.cells, found.scope) == (32, "4 items of 2 topics")
        assert price._tokens(collection, found) == price._tokens(collection, detailed) > 0
        assert counted == read

    def test_passages_that_come_later_are_not_in_it(self, job, bank, collection):
        second = job.parts.last().topic
        PooledFactory.create_batch(2, topic=second, position=99)
        Collection.objects.update(stamp=new_stamp())
        more = start(collection)
        assert more.total == 4
        for each in (job, more):
            assert work_off(each).state == JobState.DONE
        assert (graded(job), graded(more), job.total) == (32, 4, 32)

    def test_passages_that_go_before_it_is_opened_are_left_out(self, job, collection):
        second = job.parts.last().topic
        Pooled.objects.filter(topic=second).first().delete()
        Collection.objects.update(stamp=new_stamp())
        assert work_off(job).state == JobState.DONE
        assert (job.total, graded(job)) == (30, 30)

    def test_a_topic_without_passages_is_no_obstacle(self, job, collection):
        Pooled.objects.filter(topic=job.parts.last().topic).delete()
        Collection.objects.update(stamp=new_stamp())
        assert work_off(job).state == JobState.DONE
        assert (job.total, graded(job)) == (16, 16)

    def test_what_another_job_took_since_is_left_to_it(self, job, collection):
        """The pool grew, the new passage was started too, and an earlier one went: both hold the new one."""
        second = job.parts.last().topic
        new = PooledFactory(topic=second, position=99)
        Collection.objects.update(stamp=new_stamp())
        other = start(collection)
        Pooled.objects.filter(topic=second).exclude(pk=new.pk).first().delete()
        Collection.objects.update(stamp=new_stamp())
        assert work_off(job).state == JobState.DONE
        assert (job.total, other.total, start_nothing(collection)) == (30, 2, [])
        assert work_off(other).state == JobState.DONE
        assert (graded(job), graded(other)) == (30, 2)

    def test_wordings_that_a_job_has_are_taken_from_a_whole_topic(self, job, bank, collection):
        ItemFactory(bank=bank, topic=job.parts.last().topic, text="Who painted it?")
        later = start(collection)
        assert (later.total, later.parts.get().is_whole) == (8, False)
        cells = [cell for one in (job, later) for cell in cells_in(work_off(one))]
        assert len(cells) == len(set(cells)) == 40

    def test_runs_that_do_not_count_bring_no_passage(self, bank, collection):
        topic = bank.items.first().topic
        away = topic.pool.last().passage
        (run,) = ranked(topic, {"waiting": [away.doc_id]})
        Run.objects.filter(pk=run.pk).update(state=Run.State.SUBMITTED)
        Collection.objects.update(stamp=new_stamp())
        job = start(collection)
        assert work_off(job).state == JobState.DONE
        assert (job.total, graded(job)) == (30, 30)
        assert not Grade.objects.filter(passage=away).exists()


@pytest.mark.django_db
class TestEnding:
    @pytest.mark.parametrize("cancel", ["cancel", "cancel-now"])
    def test_cancelled_it_opens_no_more_and_the_rest_starts_anew(self, job, collection, cancel):
        work(job, chunks=3)
        steer(job, cancel, by=None)
        job.refresh_from_db()
        assert (job.state, graded(job), waiting(job)) == (JobState.CANCELLED, 12, 0)
        again = start(collection)
        assert again.total == 20
        assert work(again, chunks=5).state == JobState.DONE

    def test_what_nobody_can_run_opens_no_more(self, job, monkeypatch):
        def refuse(spec, connection):
            raise GraderUnavailable("no such model")

        chunks.close_until(0)
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
        monkeypatch.setattr(kind, "answered_cells", lambda config, topics: answered)
        job.state = JobState.DONE
        assert kind.release(job) == []
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
