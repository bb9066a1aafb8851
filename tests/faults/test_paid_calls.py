"""Chaos while every call costs: what is lost is at most what was in flight, and the counts stay true."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest
from django.db import connection, connections, transaction
from django.db.models import Count, Sum

from grading.graders import registry
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import chunks, kind
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs import kinds, leases
from rubricweb.jobs.leases import MAX_ATTEMPTS
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.counting import BACKEND, BATCH
from tests.rubricweb.grades.scripted import rated
from tests.rubricweb.jobs.workers import wait_until, workers
from tests.rubricweb.jobs.working import claim

pytestmark = pytest.mark.django_db(transaction=True)

CELLS = 4 * 15 * 6
SECONDS = 120.0


@pytest.fixture
def calls(tmp_path) -> Path:
    return tmp_path / "calls.txt"


@pytest.fixture
def start_worker(database_url, redis_server, tmp_path, calls):
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield lambda lease_seconds=2, **own: start(lease_seconds=lease_seconds, calls=calls, **own)


@pytest.fixture
def job(collection, settings, redis_server, monkeypatch) -> GradingJob:
    monkeypatch.setitem(registry.BACKENDS, BACKEND.name, BACKEND)
    settings.CHUNK_CELLS = 24
    gradable(collection, topics=4, passages=15, items=6)
    config = config_for(BACKEND.name, "counted", "LexicalBaseline")
    (job,) = actions.start_grading(collection, by=None, configs=[config])
    assert job.total == CELLS
    return job


def has_ended(job: GradingJob) -> bool:
    return GradingJob.objects.get(pk=job.pk).has_ended


def has_graded(cells: int) -> bool:
    return Grade.objects.count() >= cells


def assert_true(job: GradingJob) -> None:
    """Each cell has one grade, and the job's counts are those of the rows."""
    job.refresh_from_db()
    assert (job.state, job.error) == (GradingJob.State.DONE, "")
    assert not Grade.objects.values("revision", "passage").annotate(n=Count("pk")).filter(n__gt=1).exists()
    wanted = {cell for chunk in job.chunks.all() for cell in cells_of(chunk)}
    assert set(Grade.objects.values_list("revision_id", "passage_id")) == wanted
    assert job.chunks.aggregate(n=Sum("done"), bad=Sum("failed")) == {"n": job.total, "bad": 0}
    assert job.grades.count() == job.total
    assert set(job.chunks.values_list("state", flat=True)) == {JobChunk.State.DONE}
    stamped = job.config.stamps.aggregate(n=Sum("grades"))["n"]
    assert stamped == job.total


def paid_twice(calls: Path) -> int:
    paid = Counter(line for line in calls.read_text().splitlines() if line)
    assert len(paid) == CELLS
    return sum(paid.values()) - len(paid)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.portable)])
def test_workers_killed_at_random(job, start_worker, calls, seed):
    dice, kills = random.Random(seed), 0
    crew = [start_worker(), start_worker()]
    for share in (0.15, 0.45, 0.75):
        wait_until(lambda share=share: has_graded(int(share * CELLS)), seconds=SECONDS, what="grades")
        time.sleep(dice.uniform(0, 0.1))
        victim = dice.randrange(len(crew))
        crew[victim].kill()
        kills += 1
        crew[victim] = start_worker()
    wait_until(lambda: has_ended(job), seconds=SECONDS, what="the job to end")
    assert_true(job)
    assert paid_twice(calls) <= kills * BATCH


@pytest.mark.portable
def test_redis_gone_for_a_while_and_back_empty(job, start_worker, calls, redis_server):
    worker = start_worker()
    for share in (0.2, 0.6):
        wait_until(lambda share=share: has_graded(int(share * CELLS)), seconds=SECONDS, what="grades")
        redis_server.stop()
        redis_server.start()
    wait_until(lambda: has_ended(job), seconds=SECONDS, what="the job to end")
    assert_true(job)
    assert paid_twice(calls) == 0
    assert worker.is_running


def test_a_worker_that_slept_through_its_lease_writes_nothing_more(job, start_worker, calls):
    """Two workers and their reapers after the same chunk; the first owner wakes up when it is done."""
    sleeper = start_worker(lease_seconds=1)
    wait_until(lambda: has_graded(BATCH), seconds=SECONDS, what="grades")
    sleeper.freeze()
    while not job.chunks.filter(state=JobChunk.State.LEASED).exists():
        sleeper.thaw()
        sleeper.freeze()
    start_worker(lease_seconds=60)
    start_worker(lease_seconds=60)
    wait_until(lambda: has_ended(job), seconds=SECONDS, what="the job to end")
    sleeper.thaw()
    wait_until(lambda: "lost chunk" in sleeper.said, seconds=SECONDS, what="the sleeper to notice")
    assert sleeper.stop() == 0
    assert_true(job)
    assert paid_twice(calls) <= BATCH


def test_workers_whose_clocks_are_off_by_an_hour(job, start_worker, calls):
    """The database's clock decides: neither takes what the other is at, and the dead one's is taken."""
    ahead, behind = start_worker(clock_off=3_600), start_worker(clock_off=-3_600)
    for worker in (ahead, behind):
        worker.wait_until_heard()
    wait_until(lambda: has_graded(CELLS // 4), seconds=SECONDS, what="grades")
    ahead.kill()
    wait_until(lambda: has_ended(job), seconds=SECONDS, what="the job to end")
    assert_true(job)
    assert paid_twice(calls) <= BATCH


def test_who_gives_back_what_another_worker_did_says_so(job, caplog):
    """A worker that wakes up between two batches stops because the job is done; nothing is written."""
    chunk = job.chunks.first()
    lease = claim(chunk)
    job.chunks.filter(pk=chunk.pk).update(state=JobChunk.State.DONE)
    with caplog.at_level("INFO"):
        leases.give_back(lease)
    chunk.refresh_from_db()
    assert chunk.state == JobChunk.State.DONE
    assert "lost chunk" in caplog.text


def test_a_database_that_drops_its_connections(job, start_worker, calls):
    """PostgreSQL ends the workers' sessions, again and again, in the middle of what they do."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no sessions: see the next test")
    start_worker()
    start_worker()
    drops = 0
    while not has_ended(job):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        drops += 1
        time.sleep(0.7)
        assert drops * 0.7 < SECONDS
    assert drops > 1
    assert_true(job)
    assert paid_twice(calls) <= drops * 2 * BATCH


def test_a_database_that_goes_away_fails_nobody(job, monkeypatch):
    """However often a chunk loses its connection: it is no attempt, since the chunk is not to blame."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no sessions")
    lost, real = [], chunks.work_of

    def lose(lease):
        lost.append(lease)
        with transaction.atomic():
            connections["default"].connection.close()
            return real(lease)

    chunk = job.chunks.first()
    monkeypatch.setattr(chunks, "work_of", lose)
    for _ in range(MAX_ATTEMPTS + 1):
        work_on("chunk", chunk.pk)
    chunk.refresh_from_db()
    assert len(lost) == MAX_ATTEMPTS + 1
    assert (chunk.state, chunk.attempts, chunk.worker) == (JobChunk.State.QUEUED, 0, "")
    assert connection.is_usable()
    monkeypatch.setattr(chunks, "work_of", real)
    assert claim(chunk)


def test_a_connection_closed_in_the_middle_of_a_chunk(collection, settings, redis_server, monkeypatch):
    """In this process, on both databases: before each batch is saved, and in the middle of saving it."""
    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend(
        "scripted", "Scripted", target, ("LexicalBaseline",), True, "script", chunk_cells=40
    )
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    monkeypatch.setattr(kind, "BATCH_RESULTS", 5)
    monkeypatch.setattr(kind, "SAVE_AGAIN_AFTER", (0.0, 0.0))
    chunks.close_until(0)
    gradable(collection, topics=1, passages=10, items=4)
    (job,) = actions.start_grading(
        collection, by=None, configs=[config_for("scripted", "script", "LexicalBaseline")]
    )
    asked, broken = [], []

    def close(number, pair):
        asked.append(pair)
        if number % 7 == 3:
            connections["default"].close()
        yield rated(pair)

    real = chunks.store.save_grades

    def save(*given, **named):
        if len(asked) % 10 == 5 and len(asked) not in broken:
            broken.append(len(asked))
            connections["default"].connection.close()
        return real(*given, **named)

    scripted.SCRIPT.append(close)
    monkeypatch.setattr(chunks.store, "save_grades", save)
    try:
        for pk in list(job.chunks.values_list("pk", flat=True)):
            work_on("chunk", pk)
    finally:
        scripted.SCRIPT.clear()
        chunks.close_until(0)
    assert broken == [5, 15, 25, 35]
    assert leases.expired(kinds.kind_of(job.chunks.first())) == []
    assert_true(job)
    assert len(asked) == len({(pair.item.item_id, pair.passage.passage_id) for pair in asked}) == 40
