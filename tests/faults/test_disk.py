"""A disk that is full or slow: jobs pause and say so, nobody pays again and again, and nothing is lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError, connection

from grading.graders import registry
from rubricweb.core.errors import is_disk_full
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import chunks, kind
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs import steering
from rubricweb.jobs.worker import work_on
from rubricweb.releases import bundle
from rubricweb.releases.actions import start_release
from rubricweb.releases.models import Release
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.scripted import rated
from tests.worked import worked

pytestmark = pytest.mark.django_db(transaction=True)

REASON = "The disk is full. Make room, then go on."


@pytest.fixture
def asked(monkeypatch):
    """The cells that were asked of a grader which anybody can run, and which would be paid."""
    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend(
        "scripted", "Scripted", target, ("LexicalBaseline",), True, "script", chunk_cells=40
    )
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    monkeypatch.setattr(kind, "BATCH_RESULTS", 5)
    monkeypatch.setattr(kind, "SAVE_AGAIN_AFTER", (0.0,))
    chunks.close_until(0)
    asked = []

    def grade(number, pair):
        asked.append((pair.item.item_id, pair.passage.passage_id))
        yield rated(pair)

    scripted.SCRIPT.append(grade)
    yield asked
    scripted.SCRIPT.clear()
    chunks.close_until(0)


@pytest.fixture
def job(collection, asked, redis_server) -> GradingJob:
    gradable(collection, topics=1, passages=10, items=2)
    config = config_for("scripted", "script", "LexicalBaseline")
    return actions.start_grading(collection, by=None, configs=[config])[0]


def work(job: GradingJob) -> GradingJob:
    for pk in list(job.chunks.values_list("pk", flat=True)):
        work_on("chunk", pk)
    job.refresh_from_db()
    return job


def fill(monkeypatch, *, after: int) -> None:
    """No room for the grades of batches after so many. What a full disk says is what the database says."""
    real, saved = chunks.store.save_grades, []

    def save(*given, **named):
        saved.append(given)
        if len(saved) > after:
            _raise_full()
        return real(*given, **named)

    monkeypatch.setattr(chunks.store, "save_grades", save)


def _raise_full() -> None:
    if connection.vendor == "postgresql":
        raise OperationalError("could not extend file") from psycopg.errors.DiskFull()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA page_count")
        cursor.execute(f"PRAGMA max_page_count = {cursor.fetchone()[0]}")
        try:
            cursor.execute("CREATE TABLE too_much AS SELECT zeroblob(1000000)")
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")


def test_a_job_pauses_on_a_full_disk_and_goes_on_where_it_was(job, asked, monkeypatch):
    with monkeypatch.context() as full:
        fill(full, after=2)
        work(job)
    assert (job.state, job.pause_reason) == (GradingJob.State.PAUSED, REASON)
    assert (Grade.objects.count(), len(asked)) == (10, 15)
    assert [chunk.attempts for chunk in job.chunks.all()] == [0]

    steering.resume(job)
    assert work(job).state == GradingJob.State.DONE
    assert Grade.objects.count() == 20
    assert len(asked) - len(set(asked)) == 5, "at most the batch that had no room is paid twice"


def test_a_release_without_room_for_its_file_fails_at_once(
    collection, owner, settings, tmp_path, monkeypatch
):
    settings.DATA_DIR = tmp_path
    worked(collection)
    real = bundle._pack
    monkeypatch.setattr(bundle, "_pack", lambda folder, out: real(folder, Path("/dev/full")))
    release = start_release(Release(collection=collection, title="One"), by=owner)
    work_on("release", release.pk)
    release.refresh_from_db()
    assert (release.state, release.attempts, release.error) == ("failed", 1, REASON)
    assert list((tmp_path / "releases").iterdir()) == []


def test_a_full_disk_is_told_from_other_errors():
    assert is_disk_full(OSError(28, "No space left on device"))
    assert not is_disk_full(OSError(2, "No such file"))
    assert not is_disk_full(OperationalError("database is locked"))


@contextmanager
def written_by_another(path: str):
    """Somebody else writes, and a slow disk does not let it end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_waiting_in_vain_for_the_write_lock_is_no_attempt(job, asked, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite has one writer")
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.05)
    connection.close()
    real, waits = chunks.save, []

    def save(*given):
        waits.append(given)
        if len(waits) in (3, 4):
            with written_by_another(connection.settings_dict["NAME"]):
                return real(*given)
        return real(*given)

    monkeypatch.setattr(chunks, "save", save)
    chunk = job.chunks.get()
    work_on("chunk", chunk.pk)
    chunk.refresh_from_db()
    assert (chunk.state, chunk.attempts, Grade.objects.count()) == ("queued", 0, 10)
    assert work(job).state == GradingJob.State.DONE
    assert Grade.objects.count() == 20
