"""A whole job by a worker with a real, very small language model."""

import pytest

from rubricweb.corpus.actions import CollectionSettings, change_settings
from rubricweb.grades import actions
from rubricweb.grades.models import Grade, GradingJob
from tests.factories import gradable
from tests.rubricweb.jobs.workers import wait_until, workers

pytestmark = pytest.mark.models

MINUTES = 900.0
"""Seconds: long, because the worker loads the libraries and the model, and the machine may be busy."""


@pytest.fixture(scope="session")
def smollm2_folder():
    from tests.grading import smollm2

    return smollm2.folder()


@pytest.fixture
def start_worker(transactional_db, database_url, redis_server, tmp_path):
    with workers(database_url, redis_server.url, tmp_path) as start:
        yield start


def test_a_worker_grades_a_collection_with_it(start_worker, collection, smollm2_folder):
    gradable(collection, topics=1, passages=2, items=2)
    settings = CollectionSettings(
        name=collection.name,
        min_relevant=1,
        grader_backend="hf_causal",
        grader_llm=str(smollm2_folder),
        grader_prompts=("QuestionSelfRatedUnanswerablePromptWithChoices",),
    )
    change_settings(collection, settings, by=None)
    start_worker(lease_seconds=60)
    (job,) = actions.start_grading(collection, by=None)
    wait_until(lambda: GradingJob.objects.get(pk=job.pk).has_ended, seconds=MINUTES, what="the job to end")
    job.refresh_from_db()
    assert (job.state, job.failures) == ("done", {})
    grades = Grade.objects.filter(job=job)
    assert grades.count() == job.total == 4
    assert set(grades.values_list("rating", flat=True)) <= set(range(6))
    assert all(grade.reply for grade in grades)
