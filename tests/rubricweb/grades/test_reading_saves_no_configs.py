"""What is planned saves no grader config: only what is started, chosen or imported does.

That no page saves one is proved by `core.test_safe_requests`, which asks all with a grader that never ran.
"""

from __future__ import annotations

import pytest

from rubricweb.banks.actions import set_answer_keys
from rubricweb.grades.actions import start_grading
from rubricweb.grades.configs import active_configs, planned_configs, saved_config
from rubricweb.grades.engine import monitor
from rubricweb.grades.models import GraderConfig
from tests.factories import gradable
from tests.rubricweb.grades.answering import EXTRACTING, VERIFYING

pytestmark = pytest.mark.django_db


@pytest.fixture
def choose(collection):
    """`choose(*prompts)`: a grader that nobody has run here."""

    def as_if_new(*prompts: str) -> None:
        collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-small"
        collection.grader_prompts = list(prompts)
        collection.save()

    return as_if_new


@pytest.mark.parametrize("prompts", [[], [VERIFYING], [VERIFYING, EXTRACTING]])
def test_planned_configs_miss_what_starting_then_grades(collection, owner, choose, redis_server, prompts):
    item = gradable(collection, topics=1, passages=3, items=2).items.first()
    set_answer_keys(item, texts=["carotene"], seen=item.version, by=owner)
    choose(*prompts)
    planned = monitor.to_start(collection, monitor.Scope(None, None))
    assert {each.config.pk > 0 for each in planned} <= {False}
    started = start_grading(collection, by=owner)
    assert sorted((each.config.fingerprint, each.cells) for each in planned if each.cells) == sorted(
        (job.config.fingerprint, job.total) for job in started
    )


def test_planned_configs_are_the_saved_ones_once_somebody_saved_them(collection, choose):
    choose(VERIFYING, EXTRACTING)
    drafts = planned_configs(collection)
    assert not GraderConfig.objects.exists()
    saved = [saved_config(draft) for draft in drafts]
    assert saved == active_configs(collection) == planned_configs(collection)
