"""Older databases: a job under way goes on after the way back to lists of cells, and the way here again."""

from __future__ import annotations

import pytest

from rubricweb.grades import actions
from rubricweb.grades.engine import parts
from rubricweb.grades.models import Grade, GradingJob, JobChunk
from rubricweb.jobs.worker import work_on
from tests.factories import gradable, lexical_config
from tests.rubricweb.migrating import migrate_to_newest, migrated


@pytest.fixture
def newest_at_the_end():
    """Later tests need the newest tables."""
    yield
    migrate_to_newest()


@pytest.mark.django_db(transaction=True)
def test_parts_become_lists_of_cells_and_are_graded(
    newest_at_the_end, collection, settings, monkeypatch, redis_server
):
    settings.CHUNK_CELLS = 4
    monkeypatch.setattr(parts, "WAVE", 3)
    monkeypatch.setattr(parts, "LOW_WATER", 2)
    bank = gradable(collection, topics=2, passages=8, items=2)
    every = {(item.revision_id, row.passage_id) for item in bank.items.all() for row in item.topic.pool.all()}
    (job,) = actions.start_grading(collection, by=None, configs=[lexical_config()])
    work_on("chunk", job.chunks.earliest("number").pk)
    assert [part.is_whole for part in job.parts.all()] == [False, True]

    old = migrated([("grades", "0021_passage_of_grades_unchecked")])
    rows = old.get_model("grades", "JobChunk").objects.order_by("number")
    assert [(row.number, row.state, row.size) for row in rows if row.cells == []] == [(0, "done", 4)]
    graded = set(Grade.objects.values_list("revision_id", "passage_id"))
    listed = [tuple(cell) for row in rows for cell in row.cells]
    assert (len(graded), len(listed), {*listed} | graded) == (4, 28, every)

    migrate_to_newest()
    for chunk in JobChunk.objects.filter(state="queued"):
        work_on("chunk", chunk.pk)
    assert GradingJob.objects.get().state == GradingJob.State.DONE
    assert set(Grade.objects.values_list("revision_id", "passage_id")) == every
