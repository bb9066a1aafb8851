"""One cell graded once more, because somebody doubts its grade."""

from __future__ import annotations

import pytest
from django.urls import reverse

from grading.graders import registry
from grading.types import ErrorClass, GradeFailure, Purpose
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import actions
from rubricweb.grades.actions import CannotRegrade
from rubricweb.grades.configs import config_for, imported_config
from rubricweb.grades.engine import chunks
from rubricweb.grades.engine.stages import can_ask, job_at
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade, GraderConfig, GradingJob
from rubricweb.grades.store import GradeRow, save_grades
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.scripted import rated
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


@pytest.fixture
def config(db, monkeypatch):
    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend("scripted", "Scripted", target, ("LexicalBaseline",), True, "script")
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    monkeypatch.setattr(scripted, "SCRIPT", [])
    chunks.close_until(0)
    yield config_for("scripted", "script", "LexicalBaseline")
    chunks.close_until(0)


@pytest.fixture
def grades(collection, config, redis_server, developer) -> list[Grade]:
    """Six cells of one topic, each rated 2."""
    gradable(collection, topics=1, passages=3, items=2)
    says(lambda pair: rated(pair, 2))
    (job,) = actions.start_grading(collection, by=developer, configs=[config])
    run(job)
    return list(Grade.objects.select_related("config", "topic__collection", "revision", "passage"))


def says(result) -> None:
    scripted.SCRIPT.append(lambda number, pair: iter([result(pair)]))


def broken(pair) -> GradeFailure:
    cell = (pair.item.item_id, pair.passage.passage_id)
    return GradeFailure(*cell, "gateway down", error_class=ErrorClass.SERVER)


def run(job: GradingJob) -> GradingJob:
    for pk in list(job.chunks.values_list("pk", flat=True)):
        work_on("chunk", pk)
    job.refresh_from_db()
    return job


def matrix(grade: Grade):
    pool = collection_pool(grade.topic.collection)
    return matrices(grade.config, pool)[grade.topic_id].matrix.ratings


def test_the_new_grade_takes_the_place_of_the_old_one(grades, developer):
    before = matrix(grades[0])
    says(lambda pair: rated(pair, 5))
    (job,) = actions.ask_again(grades[0], by=developer)
    assert (job.total, job.scope, job.priority) == (1, f"{grades[0].passage.doc_id} once more", "high")
    assert run(job).state == GradingJob.State.DONE
    after = Grade.objects.get(pk=grades[0].pk)
    assert (after.rating, after.attempts, after.job) == (5, 2, job)
    assert list(Grade.objects.exclude(pk=after.pk).values_list("rating", flat=True)) == [2] * 5
    assert (matrix(grades[0]) - before).sum() == 3
    entry = AuditEntry.objects.get(verb="cell asked again")
    assert (entry.by, entry.detail) == (developer, f"grade {after.pk} was 2")


def test_a_failure_leaves_the_grade_and_is_told(grades, developer):
    says(broken)
    (job,) = actions.ask_again(grades[0], by=developer)
    assert run(job).state == GradingJob.State.DONE
    after = Grade.objects.get(pk=grades[0].pk)
    assert (after.rating, after.attempts) == (2, 1)
    assert job.error == "The grade stays as it was. gateway down"
    assert job.chunks.get().failed == 1


def test_a_failed_grade_is_replaced_even_by_a_failure(grades, developer):
    Grade.objects.filter(pk=grades[0].pk).update(outcome="failed", rating=None)
    grades[0].refresh_from_db()
    says(broken)
    (job,) = actions.ask_again(grades[0], by=developer)
    run(job)
    after = Grade.objects.get(pk=grades[0].pk)
    assert (after.outcome, after.reply, after.attempts) == ("failed", "gateway down", 2)


def test_a_batch_that_is_saved_twice_counts_one_attempt(grades, developer, config):
    (job,) = actions.ask_again(grades[0], by=developer)
    row = GradeRow(grades[0].topic_id, grades[0].revision_id, grades[0].passage_id, 4, "numeric")
    from rubricweb.grades.store import replace_grades

    assert replace_grades(config, [row], job=job) == 1
    assert replace_grades(config, [row], job=job) == 0
    assert Grade.objects.get(pk=grades[0].pk).attempts == 2


def test_a_cell_is_asked_again_by_one_job_at_a_time(grades, developer):
    (job,) = actions.ask_again(grades[0], by=developer)
    assert actions.ask_again(grades[0], by=developer) == []
    assert job_at(grades[0]) == job
    assert job_at(grades[1]) is None


def test_grades_of_files_and_of_prompts_that_have_changed_cannot_be_asked(grades, developer, config):
    GraderConfig.objects.filter(pk=config.pk).update(fingerprint="that of an older version")
    with pytest.raises(CannotRegrade):
        actions.ask_again(Grade.objects.get(pk=grades[0].pk), by=developer)
    assert not can_ask(imported_config("t5", "LexicalBaseline", Purpose.RATE))
    assert GradingJob.objects.count() == 1


@pytest.fixture
def cell(grades, collection) -> str:
    grade = grades[0]
    item = collection.banks.get().items.get(revision=grade.revision)
    return reverse("review:cell", args=[item.bank_id, item.topic_id, grade.passage_id, item.pk])


def url(grade: Grade) -> str:
    return reverse("grades:again", args=["autumn", grade.pk])


def test_the_panel_has_the_button_for_those_who_may(client_of, developer, assessor, grades, cell):
    page = markup(client_of(developer).get(cell, headers=HTMX))
    assert f'action="{url(grades[0])}"' in page
    assert f'Grade it again</button><span class="muted small">by {grades[0].config}, ' in page
    assert url(grades[0]) not in markup(client_of(assessor).get(cell, headers=HTMX))


def test_the_panel_tells_of_the_job_and_then_of_the_attempts(client_of, developer, grades, cell):
    client = client_of(developer)
    text = markup(client.post(url(grades[0]), {"part": "again", "next": cell}, headers=HTMX))
    job = GradingJob.objects.latest("pk")
    assert text.lstrip().startswith(f'<div id="again-{grades[0].pk}"')
    assert f'hx-get="{cell}"' in text
    assert f'href="{job.get_absolute_url()}">Job</a>' in text
    assert f'href="{job.get_absolute_url()}">Job</a>' in markup(client.get(cell, headers=HTMX))
    says(lambda pair: rated(pair, 5))
    run(job)
    page = markup(client.get(cell, headers=HTMX))
    assert "2 attempts" in page
    assert url(grades[0]) in page


def test_without_javascript_the_button_leads_back_to_the_cell(client_of, developer, grades, cell):
    client = client_of(developer)
    assert client.post(url(grades[0]), {"next": cell})["Location"] == cell
    assert (
        client.post(url(grades[0]), {"next": "https://evil.example/"})["Location"] != "https://evil.example/"
    )
    assert "already being graded again" in markup(client.get(cell))


def test_the_job_page_offers_it_for_each_of_its_calls(client_of, developer, grades):
    job = GradingJob.objects.get()
    address = job.get_absolute_url()
    text = markup(client_of(developer).get(f"{address}&show=latest", headers=HTMX))
    assert all(url(grade) in text for grade in grades)


def test_imported_grades_have_no_button(client_of, developer, collection, redis_server):
    bank = gradable(collection, topics=1, passages=1, items=1)
    item, passage = bank.items.get(), collection.passages.get()
    said = imported_config("t5", "LexicalBaseline", Purpose.RATE)
    save_grades(said, [GradeRow(item.topic_id, item.revision_id, passage.pk, 3, "numeric")])
    cell = reverse("review:cell", args=[bank.pk, item.topic_id, passage.pk, item.pk])
    client = client_of(developer)
    assert "once more" not in markup(client.get(cell))
    text = client.post(url(Grade.objects.get()), {"part": "again", "next": cell}, headers=HTMX)
    assert "cannot be graded again" in markup(text)
    assert not GradingJob.objects.exists()
