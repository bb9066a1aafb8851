"""The opened line of the jobs with its parts and calls, and what is done to it, for each of the cast."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils.html import escape, strip_tags

from rubricweb.grades import actions, store
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.store import GradeRow
from rubricweb.jobs.worker import work_on
from tests.factories import CollectionFactory, gradable
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

HTMX = {"HX-Request": "true"}


@pytest.fixture
def job(collection, redis_server, developer) -> GradingJob:
    """15 cells, of which 5 have failed."""
    gradable(collection, topics=1)
    (job,) = actions.start_grading(collection, by=developer)
    cells = [cell for chunk in job.chunks.all() for cell in cells_of(chunk)]
    topic = collection.topics.get()
    failed = [
        GradeRow(topic.pk, revision, passage, None, "failed", "I would rather not.", "no digit", "parse")
        for revision, passage in cells[:5]
    ]
    store.save_grades(job.config, failed, job=job)
    for pk in list(job.chunks.values_list("pk", flat=True)):
        work_on("chunk", pk)
    job.refresh_from_db()
    assert job.state == GradingJob.State.DONE
    return job


@pytest.fixture
def live(collection, redis_server, developer) -> GradingJob:
    gradable(collection, topics=1)
    return actions.start_grading(collection, by=developer)[0]


def url(name: str, *args: object) -> str:
    return reverse(f"grades:{name}", args=["autumn", *args])


def act(name: str, job: GradingJob) -> str:
    return url("steer", "grading", job.pk, name)


def test_the_page_shows_failed_calls_with_all_that_is_known(client_of, viewer, job, collection):
    page = markup(client_of(viewer).get(job.get_absolute_url()))
    assert page.count('<article class="card call"') == 5
    assert "5 \N{MULTIPLICATION SIGN} replies without a rating" in page
    assert "The model does not reply as the prompt asks" in page
    assert "I would rather not." in page
    assert "no digit" in page
    assert "1 attempt," in page
    failed = Grade.objects.filter(outcome="failed").select_related("revision", "passage").first()
    item = collection.banks.get().items.get(revision=failed.revision)
    cell = reverse("review:cell", args=[item.bank_id, failed.topic_id, failed.passage_id, item.pk])
    assert f'href="{cell}?grader={job.config_id}"' in page
    assert "Ask again" not in page


def test_the_latest_calls_show_ratings_and_prompts(client_of, viewer, job):
    page = markup(client_of(viewer).get(url("jobs"), {"job": job.pk, "show": "latest"}))
    assert page.count('<article class="card call"') == 15
    assert "coverage" in page
    assert page.count("<summary>Prompt</summary><pre") == 15


def test_calls_are_paged(client_of, viewer, job, monkeypatch, django_assert_max_num_queries):
    monkeypatch.setattr("rubricweb.grades.jobs.CALLS_A_PAGE", 2)
    client = client_of(viewer)
    assert "Page 1 of 3" in markup(client.get(job.get_absolute_url()))
    assert "Page 3 of 3" in markup(client.get(url("jobs"), {"job": job.pk, "page": "99"}))
    with django_assert_max_num_queries(26):
        client.get(url("jobs"), {"job": job.pk, "page": "2"})


def test_part_and_methods(client_of, developer, job):
    client = client_of(developer)
    text = markup(client.get(job.get_absolute_url(), headers=HTMX))
    assert text.lstrip().startswith('<div id="jobs"')
    assert text.count("Ask again") == 5
    for name in ("pause", "resume", "cancel", "retry"):
        assert client.get(act(name, job)).status_code == 405
    assert client.get(url("retry-failed")).status_code == 405


@pytest.mark.usefixtures("developers_only")
@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("assessor", 403), ("outsider", 404)])
def test_who_may_not_act(request, client_of, job, who, status):
    client = client_of(request.getfixturevalue(who))
    grade = Grade.objects.filter(outcome="failed").first()
    for name in ("pause", "resume", "cancel", "go-on", "retry"):
        assert client.post(act(name, job)).status_code == status
    assert client.post(url("again", grade.pk)).status_code == status
    assert client.post(url("retry-failed")).status_code == status
    assert GradingJob.objects.count() == 1


def test_outsiders_see_no_job(client_of, outsider, job):
    assert client_of(outsider).get(job.get_absolute_url()).status_code == 404


def test_jobs_and_grades_of_other_collections_are_not_found(client_of, owner, job):
    other = GradingJob.objects.create(
        collection=CollectionFactory(), config=job.config, scope="1 item of 1 topic", total=1
    )
    client = client_of(owner)
    assert client.get(url("jobs"), {"job": other.pk}).status_code == 404
    assert client.post(act("pause", other)).status_code == 404
    assert client.post(url("again", 10**9)).status_code == 404


def test_pause_and_resume(client_of, developer, live):
    client = client_of(developer)
    text = markup(client.post(act("pause", live), {"part": "jobs"}, headers=HTMX))
    assert "Paused" in text
    assert act("resume", live) in text
    assert act("pause", live) not in text
    text = markup(client.post(act("resume", live), {"part": "jobs", "job": live.pk}, headers=HTMX))
    assert text.lstrip().startswith('<div id="jobs"')
    assert act("pause", live) in text
    assert client.post(act("explode", live)).status_code == 404


def test_the_reason_of_a_pause_is_shown_where_the_grades_are_missing(client_of, developer, live):
    live.state, live.pause_reason = "paused", "Paused: the quota is used up, 3 times. Raise it. Then resume."
    live.save()
    for name in ("jobs", "missing"):
        page = markup(client_of(developer).get(url(name), headers=HTMX))
        assert "the quota is used up, 3 times" in page
        assert "Resume" in page


def test_without_javascript_buttons_lead_back(client_of, developer, live):
    client = client_of(developer)
    assert client.post(act("pause", live))["Location"] == url("jobs")
    assert client.post(act("cancel-now", live), {"next": "/"})["Location"] == "/"
    assert GradingJob.objects.get().state == GradingJob.State.CANCELLED


def test_retry_of_a_job_of_a_cell_and_of_a_scope(client_of, developer, job, collection):
    client = client_of(developer)
    page = markup(client.get(url("jobs")))
    assert "5 failed" in page
    assert act("retry", job) in page
    grade = Grade.objects.filter(outcome="failed").first()
    text = markup(client.post(url("again", grade.pk), {"part": "jobs"}, headers=HTMX))
    assert "Grade 1 failed pair again with word overlap" in text
    text = markup(client.post(act("retry", job), {"part": "jobs"}, headers=HTMX))
    assert "Grade 4 failed pairs again with word overlap" in text
    text = markup(client.post(url("retry-failed"), {"part": "missing"}, headers=HTMX))
    assert "Nothing to retry" in text
    assert list(GradingJob.objects.filter(is_retry=True).values_list("total", flat=True)) == [4, 1]
    assert Grade.objects.filter(outcome="failed").count() == 5


def test_what_grades_again_names_grader_cells_time_and_money(
    client_of, developer, job, monkeypatch, settings
):
    settings.PRICES = {"lexical": 2.0}
    monkeypatch.setattr("rubricweb.grades.engine.price._has_model", lambda missing: True)
    client, grader = client_of(developer), escape(str(job.config))
    page = markup(client.get(job.get_absolute_url()))
    assert page.count("Ask again") == 5
    prices = re.findall(r"less than \$0.01, about.*?about (\d+) input tokens", page)
    (every, *single) = map(int, prices)
    assert every == pytest.approx(sum(single), abs=5), "each rounded by itself"
    missing = markup(client.get(url("missing"), headers=HTMX))
    assert f"5 by {grader}, less than $0.01" in missing
    assert "Grade 5 failed pairs again" in missing


def test_missing_tells_of_failed_grades_and_the_price(client_of, developer, viewer, job, collection):
    text = markup(client_of(developer).get(url("missing"), headers=HTMX))
    assert "<strong>5</strong> grades failed" in text
    assert url("retry-failed") in text
    assert url("retry-failed") not in markup(client_of(viewer).get(url("missing"), headers=HTMX))
    gradable(CollectionFactory(slug="spring"), topics=1)
    collection.grader_backend, collection.grader_llm = "hf_seq2seq", "google/flan-t5-large"
    collection.save()
    text = markup(client_of(developer).get(url("missing"), headers=HTMX))
    assert "(guess), about" in " ".join(strip_tags(text).split())
    assert "FLAN-T5 large, has <strong>15</strong> to grade" in text


def test_missing_says_the_time_of_a_grader_that_was_measured(client_of, developer, job, collection):
    job.chunks.update(seconds=15.0)
    Grade.objects.filter(outcome="numeric").delete()
    store.recount(job.config, collection.topics.get().pk)
    text = markup(client_of(developer).get(url("missing"), headers=HTMX))
    assert "7 to 15 s." in text
    assert "input token" not in text
