"""A grader that does what a test tells it, a job for it, and a worker here and now."""

from __future__ import annotations

import pytest

from grading.graders import registry
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import chunks, kind
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import worker_state
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted


@pytest.fixture
def script(monkeypatch):
    """`script(what)` sets what the grader yields for each pair."""
    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend("scripted", "Scripted", target, ("LexicalBaseline",), True, "script")
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    monkeypatch.setattr(kind, "BATCH_RESULTS", 1)
    chunks.close_until(0)
    worker_state.now.refused.clear()
    yield scripted.SCRIPT.append
    scripted.SCRIPT.clear()
    scripted.BUILT.clear()
    worker_state.now.refused.clear()
    chunks.close_until(0)


@pytest.fixture
def config(db, script):
    return config_for("scripted", "script", "LexicalBaseline")


@pytest.fixture
def job(collection, settings, redis_server, config, developer) -> GradingJob:
    """3 chunks of 4 cells."""
    settings.CHUNK_CELLS = 4
    gradable(collection, topics=1, passages=6, items=2)
    return actions.start_grading(collection, by=developer, configs=[config])[0]


@pytest.fixture
def run(django_capture_on_commit_callbacks):
    """`run(job)`: every chunk once, in order; returns the job as it is then."""

    def grade_all(job: GradingJob) -> GradingJob:
        for pk in list(job.chunks.values_list("pk", flat=True)):
            with django_capture_on_commit_callbacks(execute=True):
                work_on("chunk", pk)
        job.refresh_from_db()
        return job

    return grade_all
