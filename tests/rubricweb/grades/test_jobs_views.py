"""The job monitor and the missing-grades fragment, for each of the cast."""

from __future__ import annotations

import re
import time

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from rubricweb.grades import actions
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs import queue
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.run import work_on
from tests.factories import CollectionFactory, TopicFactory, gradable
from tests.rubricweb.markup import markup

HTMX = {"HX-Request": "true"}


@pytest.fixture
def bank(collection, redis_server):
    return gradable(collection)


@pytest.fixture
def job(collection, bank, developer) -> GradingJob:
    return actions.start_grading(collection, by=developer)[0]


def url(name: str, *args: object) -> str:
    return reverse(f"grades:{name}", args=["autumn", *args])


def test_jobs_page_shows_jobs_and_that_no_worker_lives(client_of, viewer, job):
    page = markup(client_of(viewer).get(url("jobs")))
    assert "6 items of 2 topics" in page
    assert "0 of 30" in page
    assert "No worker is running: start one with <code>python manage.py worker</code>" in page
    assert "Cancel" not in page


def test_jobs_page_shows_workers(client_of, viewer, job):
    heard = time.time() - 3
    queue.beat(WorkerBeat("attic-7", heard, f"job {job.pk}", "cuda (bfloat16)", backends=("hf_causal",)))
    page = markup(client_of(viewer).get(url("jobs")))
    assert "attic-7" in page
    assert re.search(r"Last heard from \d+ s ago · cuda \(bfloat16\)", page)
    assert "Models: Causal language model" in page
    assert "No worker is running" not in page


def test_jobs_page_without_redis(client_of, viewer, job, redis_server):
    redis_server.stop()
    response = client_of(viewer).get(url("jobs"))
    assert response.status_code == 200
    assert "Redis does not answer" in markup(response)


def test_jobs_page_part(client_of, developer, job):
    response = client_of(developer).get(url("jobs"), headers=HTMX)
    text = markup(response)
    assert text.lstrip().startswith('<div id="jobs"')
    assert "<html" not in text
    assert url("cancel", job.pk) in text


def test_jobs_page_asks_the_database_the_same_for_many_jobs(
    client_of, viewer, job, collection, django_assert_max_num_queries
):
    for _ in range(5):
        GradingJob.objects.create(
            collection=collection, config=job.config, scope="1 item of 1 topic", total=4, state="done"
        )
    client = client_of(viewer)
    with django_assert_max_num_queries(12):
        assert client.get(url("jobs")).status_code == 200


@pytest.mark.parametrize("name", ["jobs", "missing"])
def test_outsiders_see_nothing(client_of, outsider, bank, name):
    assert client_of(outsider).get(url(name)).status_code == 404


def test_wrong_methods(client_of, owner, job):
    client = client_of(owner)
    assert client.post(url("jobs")).status_code == 405
    assert client.get(url("start")).status_code == 405
    assert client.get(url("cancel", job.pk)).status_code == 405
    assert client.head(url("jobs")).status_code == 200


@pytest.mark.usefixtures("developers_only")
@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("assessor", 403), ("outsider", 404)])
def test_who_may_not_start_or_cancel(request, client_of, job, who, status):
    client = client_of(request.getfixturevalue(who))
    assert client.post(url("start")).status_code == status
    assert client.post(url("cancel", job.pk)).status_code == status
    assert GradingJob.objects.get().state == GradingJob.State.QUEUED


def test_missing_counts_the_scope(client_of, developer, bank, collection):
    topic = collection.topics.first()
    text = markup(
        client_of(developer).get(url("missing"), {"bank": bank.pk, "topic": topic.pk}, headers=HTMX)
    )
    assert "<strong>15</strong> grades missing" in text
    assert "Re-grade" in text
    assert f'name="topic" value="{topic.pk}"' in text


def test_one_grader_is_named_without_its_count(client_of, viewer, bank):
    words = " ".join(strip_tags(markup(client_of(viewer).get(url("missing"), headers=HTMX))).split())
    assert words.startswith("30 grades missing, by lexical")


def test_the_end_of_grading_is_announced_once(client_of, developer, bank):
    client, ended = client_of(developer), 'data-announced="Grading has ended."'
    started = markup(client.post(url("start"), {"part": "missing", "bank": bank.pk}, headers=HTMX))
    assert 'name="was_live" value="1"' in started
    sent = {"was_live": "1"}
    assert ended not in markup(client.get(url("missing"), sent, headers=HTMX)), "it has not"
    actions.cancel_job(GradingJob.objects.get(), by=developer)
    text = markup(client.get(url("missing"), sent, headers=HTMX))
    assert ended in text
    assert 'name="was_live" value=""' in text
    assert ended not in markup(client.get(url("missing"), {"was_live": ""}, headers=HTMX))


def test_missing_is_a_page_without_javascript(client_of, viewer, bank):
    text = markup(client_of(viewer).get(url("missing")))
    assert "<html" in text
    assert "<strong>30</strong> grades missing" in text
    assert "Re-grade" not in text


def test_missing_refuses_a_foreign_topic(client_of, developer, bank):
    foreign = TopicFactory(collection=CollectionFactory())
    for topic, status in ((foreign.pk, 404), ("x", 404), ("9" * 40, 400)):
        assert client_of(developer).get(url("missing"), {"topic": topic}).status_code == status


def test_start_answers_htmx_with_the_running_job(client_of, developer, bank):
    response = client_of(developer).post(url("start"), {"part": "missing", "bank": bank.pk}, headers=HTMX)
    text = markup(response)
    job = GradingJob.objects.get()
    assert (job.by, job.total) == (developer, 30)
    assert f"Job {job.pk}" in text
    assert "0 of 30" in text
    assert "No worker is running" in text
    assert "grades missing" not in text
    assert "Grading 30 cells." in text


def test_start_without_javascript_returns_to_next(client_of, developer, bank, collection):
    topic = collection.topics.first()
    response = client_of(developer).post(url("start"), {"topic": topic.pk, "next": "/banks/1/"})
    assert (response.status_code, response["Location"]) == (302, "/banks/1/")
    assert GradingJob.objects.get().total == 15


def test_start_never_leaves_the_site(client_of, developer, bank):
    response = client_of(developer).post(url("start"), {"next": "https://evil.example/"})
    assert response["Location"] == url("jobs")


def test_start_with_nothing_missing_says_so(client_of, developer, job):
    response = client_of(developer).post(url("start"), {"part": "missing"}, headers=HTMX)
    assert "Nothing to start" in markup(response)
    assert GradingJob.objects.count() == 1


def test_cancel(client_of, developer, job):
    work_on("chunk", JobChunk.objects.first().pk)
    response = client_of(developer).post(url("cancel", job.pk), {"part": "jobs"}, headers=HTMX)
    assert '<span class="badge" data-tone="warn">cancelled</span>' in markup(response)
    job.refresh_from_db()
    assert job.state == GradingJob.State.CANCELLED
    assert job.grades.count() == 15


def test_cancel_without_javascript(client_of, owner, job):
    response = client_of(owner).post(url("cancel", job.pk))
    assert response["Location"] == url("jobs")
    assert GradingJob.objects.get().state == GradingJob.State.CANCELLED


def test_cancel_of_a_foreign_job_is_not_found(client_of, owner, job):
    other = GradingJob.objects.create(
        collection=CollectionFactory(), config=job.config, scope="1 item of 1 topic", total=1
    )
    assert client_of(owner).post(url("cancel", other.pk)).status_code == 404
