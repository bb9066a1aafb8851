"""The job monitor and the missing-grades fragment, for each of the cast."""

from __future__ import annotations

import re
import time
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from grading.types import Purpose
from rubricweb.archives.models import Archive
from rubricweb.banks.actions import revise_item
from rubricweb.grades import actions
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.engine.progress import JobRow, press_lines
from rubricweb.grades.engine.stages import stages
from rubricweb.grades.models import GraderConfig, GradingJob, JobChunk
from rubricweb.imports.models import Import, ImportFile
from rubricweb.jobs import queue
from rubricweb.jobs.models import Job
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from rubricweb.releases.models import Release
from tests.factories import CollectionFactory, TopicFactory, gradable
from tests.rubricweb.grades.answering import answering
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

HTMX = {"HX-Request": "true"}


@pytest.fixture
def bank(collection, redis_server):
    return gradable(collection)


@pytest.fixture
def job(collection, bank, developer) -> GradingJob:
    return actions.start_grading(collection, by=developer)[0]


@pytest.fixture
def searches(monkeypatch) -> list[list[GraderConfig]]:
    """The configs of each search for missing cells."""
    of_searches = []

    def recorded(collection, configs, **scope):
        if configs:
            of_searches.append(configs)
        return missing_cells(collection, configs, **scope)

    monkeypatch.setattr("rubricweb.grades.engine.stages.missing_cells", recorded)
    return of_searches


def url(name: str, *args: object) -> str:
    return reverse(f"grades:{name}", args=["autumn", *args])


def cancel_of(job: GradingJob) -> str:
    return url("steer", "grading", job.pk, "cancel")


def test_jobs_page_shows_jobs_and_that_no_worker_lives(client_of, viewer, owner, job):
    page = markup(client_of(viewer).get(url("jobs")))
    assert "Grade 30 pairs with word overlap" in page
    assert "6 items of 2 topics" in page
    assert "0 of 30" in page
    assert "No worker is running. Tell an organizer." in page
    assert "python -m rubricweb worker" not in page
    assert "Cancel" not in page
    page = markup(client_of(owner).get(url("jobs")))
    assert "No worker is running: start one with <code>python -m rubricweb worker</code>" in page


def test_jobs_page_shows_workers(client_of, viewer, job):
    heard = time.time() - 3
    queue.beat(WorkerBeat("attic-7", heard, f"job {job.pk}", "cuda (bfloat16)", backends=("hf_causal",)))
    page = markup(client_of(viewer).get(url("jobs")))
    assert "attic-7" in page
    assert re.search(r"<dd>\d+ s ago</dd>", page)
    assert "cuda (bfloat16)" in page
    assert "models: Causal language model" in page
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
    assert cancel_of(job) in text


def test_jobs_page_asks_the_database_the_same_for_many_jobs(
    client_of, viewer, job, collection, django_assert_max_num_queries
):
    for _ in range(5):
        GradingJob.objects.create(
            collection=collection, config=job.config, scope="1 item of 1 topic", total=4, state="done"
        )
    client = client_of(viewer)
    with django_assert_max_num_queries(14):
        assert client.get(url("jobs")).status_code == 200


@pytest.mark.parametrize("name", ["jobs", "missing"])
def test_outsiders_see_nothing(client_of, outsider, bank, name):
    assert client_of(outsider).get(url(name)).status_code == 404


def test_wrong_methods(client_of, owner, job):
    client = client_of(owner)
    assert client.post(url("jobs")).status_code == 405
    assert client.get(url("start")).status_code == 405
    assert client.get(cancel_of(job)).status_code == 405
    assert client.head(url("jobs")).status_code == 200


@pytest.mark.usefixtures("developers_only")
@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("assessor", 403), ("outsider", 404)])
def test_who_may_not_start_or_cancel(request, client_of, job, who, status):
    client = client_of(request.getfixturevalue(who))
    assert client.post(url("start")).status_code == status
    assert client.post(cancel_of(job)).status_code == status
    assert GradingJob.objects.get().state == GradingJob.State.QUEUED


def test_missing_counts_the_scope(client_of, developer, bank, collection):
    topic = collection.topics.first()
    text = markup(
        client_of(developer).get(url("missing"), {"bank": bank.pk, "topic": topic.pk}, headers=HTMX)
    )
    assert "<strong>15</strong> grades missing" in text
    assert ">Grade 15 pairs" in text
    assert f'name="topic" value="{topic.pk}"' in text


def test_missing_names_the_model_and_a_guess_of_the_time(client_of, viewer, bank):
    words = " ".join(strip_tags(markup(client_of(viewer).get(url("missing"), headers=HTMX))).split())
    assert words == "30 grades missing. With word overlap: about 1 s (guess)."


def test_the_button_says_regrade_only_after_something_changed(client_of, developer, bank, run):
    client = client_of(developer)
    assert "Re-grade" not in markup(client.get(url("missing"), headers=HTMX))
    (job,) = actions.start_grading(bank.collection, by=developer)
    run(job)
    item = bank.items.first()
    revise_item(item, text="Which pigment turns a leaf red?", seen=item.version, by=developer)
    assert "Re-grade 5 pairs" in markup(client.get(url("missing"), headers=HTMX))


def test_the_end_of_grading_is_announced_once(client_of, developer, bank):
    client, ended = client_of(developer), 'data-announced="Grading has ended."'
    started = markup(client.post(url("start"), {"part": "missing", "bank": bank.pk}, headers=HTMX))
    assert 'name="was_live" value="1"' in started
    sent = {"was_live": "1"}
    assert ended not in markup(client.get(url("missing"), sent, headers=HTMX)), "it has not"
    steer(GradingJob.objects.get(), "cancel-now", by=developer)
    text = markup(client.get(url("missing"), sent, headers=HTMX))
    assert ended in text
    assert 'name="was_live" value=""' in text
    assert ended not in markup(client.get(url("missing"), {"was_live": ""}, headers=HTMX))


def test_missing_is_a_part_and_its_page_is_that_of_the_jobs(client_of, viewer, bank):
    response = client_of(viewer).get(url("missing"), {"bank": bank.pk})
    assert response["Location"] == f"{url('jobs')}?bank={bank.pk}&missing=1"
    page = markup(client_of(viewer).get(response["Location"]))
    assert "<strong>30</strong> grades missing" in page
    assert "Grade 30 pairs" not in page, "a viewer starts nothing"
    page = markup(client_of(viewer).get(url("jobs"), {"bank": bank.pk}))
    assert f"{url('missing')}?bank={bank.pk}" in page


def test_missing_refuses_a_foreign_topic(client_of, developer, bank):
    foreign = TopicFactory(collection=CollectionFactory())
    for topic, status in ((foreign.pk, 404), ("x", 404), ("9" * 40, 400)):
        assert client_of(developer).get(url("missing"), {"topic": topic}, headers=HTMX).status_code == status


def test_start_answers_htmx_with_the_running_job(client_of, developer, bank):
    response = client_of(developer).post(url("start"), {"part": "missing", "bank": bank.pk}, headers=HTMX)
    text = markup(response)
    job = GradingJob.objects.get()
    assert (job.by, job.total) == (developer, 30)
    assert "Grade 30 pairs with word overlap" in text
    assert "0 of 30" in text
    assert "No worker is running" in text
    assert "grades missing" not in text
    assert 'data-announced="Grading 30 pairs."' in text
    assert "toast" not in text, "the line is seen"


def test_start_computes_once_what_is_missing(client_of, developer, bank, searches):
    client_of(developer).post(url("start"), {"bank": bank.pk}, headers=HTMX)
    assert GradingJob.objects.count() == 1
    assert len(searches) == 1


def test_start_prices_what_is_missing_for_assessors_only(client_of, assessor, collection, bank, searches):
    collection.assessors_grade_up_to = 1
    collection.save()
    client_of(assessor).post(url("start"), {"bank": bank.pk}, headers=HTMX)
    assert GradingJob.objects.count() == 1
    assert len(searches) == 2


def test_start_by_an_outdated_plan_starts_nothing_twice(collection, bank, developer, searches):
    plan = stages(collection, active_configs(collection))
    actions.start_grading(collection, by=developer)
    searches.clear()
    assert plan.is_outdated
    assert actions.start_plan(plan, by=developer) == []
    assert len(searches) == 1


def test_start_without_javascript_returns_to_next(client_of, developer, bank, collection):
    topic = collection.topics.first()
    response = client_of(developer).post(url("start"), {"topic": topic.pk, "next": "/editor/banks/1/"})
    assert (response.status_code, response["Location"]) == (302, "/editor/banks/1/")
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
    response = client_of(developer).post(cancel_of(job), {"part": "jobs"}, headers=HTMX)
    page = markup(response)
    assert "15 of 30 pairs" in page
    assert "Cancelled; what was done is kept" in page
    assert url("steer", "grading", job.pk, "go-on") in page
    job.refresh_from_db()
    assert job.state == GradingJob.State.CANCELLED
    assert job.grades.count() == 15


def test_cancel_without_javascript(client_of, owner, job):
    response = client_of(owner).post(cancel_of(job))
    assert response["Location"] == url("jobs")
    assert GradingJob.objects.get().state == GradingJob.State.CANCELLED


def test_cancel_of_a_foreign_job_is_not_found(client_of, owner, job):
    other = GradingJob.objects.create(
        collection=CollectionFactory(), config=job.config, scope="1 item of 1 topic", total=1
    )
    assert client_of(owner).post(cancel_of(other)).status_code == 404


def test_what_one_press_starts_is_one_line_with_its_parts(
    collection, client_of, developer, redis_server, monkeypatch, settings
):
    with answering(collection, monkeypatch, settings):
        jobs = actions.start_grading(collection, by=developer)
        assert len(jobs) == 2
        client = client_of(developer)
        page = markup(client.get(url("jobs")))
        assert page.count('class="job-line"') == 1
        assert "Grade 5 pairs with paper" in page
        assert "2 parts" in page
        assert page.count("<button") == markup(client.get(url("jobs") + "?who=mine")).count("<button")
        opened = markup(client.get(jobs[1].get_absolute_url()))
        assert "after the answers" in opened
        client.post(cancel_of(jobs[0]), {"part": "jobs"}, headers=HTMX)
        states = GradingJob.objects.values_list("state", flat=True)
        assert set(states) == {GradingJob.State.CANCELLED}


def test_once_all_is_rated_the_line_counts_answers(collection, developer):
    press = uuid4()

    def row(pk, purpose, done):
        job = GradingJob(pk=pk, collection=collection, by=developer, press=press, total=5, scope="a topic")
        job.config = GraderConfig(purpose=purpose, llm="paper", prompt_class="QuestionSelfRatedPrompt")
        job.state = Job.State.DONE if done == 5 else Job.State.RUNNING
        return JobRow(done=done, failed=0, working=1, rate=None, remaining=(60, 90), job=job, errors=())

    rating, answers = row(1, Purpose.RATE, 3), row(2, Purpose.EXTRACT, 1)
    [line] = press_lines([rating, answers])
    assert (line.title, line.done, line.total, line.unit) == ("Grade 5 pairs with paper", 3, 5, "pair")
    [line] = press_lines([row(1, Purpose.RATE, 5), answers])
    assert (line.title, line.done, line.total, line.unit) == ("Grade 5 pairs with paper", 1, 5, "answer")
    [line] = press_lines([row(1, Purpose.RATE, 5), row(2, Purpose.EXTRACT, 5)])
    assert (line.done, line.total, line.unit) == (5, 5, "pair")


def test_going_on_grades_what_a_cancelled_line_left(client_of, developer, job):
    work_on("chunk", JobChunk.objects.first().pk)
    client = client_of(developer)
    client.post(cancel_of(job), {"part": "jobs"}, headers=HTMX)
    page = markup(client.post(url("steer", "grading", job.pk, "go-on"), {"part": "jobs"}, headers=HTMX))
    assert "Grade 15 pairs with word overlap" in page
    assert GradingJob.objects.first().total == 15


def test_a_line_under_way_says_how_long_it_still_takes(client_of, viewer, job):
    chunk = job.chunks.first()
    work_on("chunk", chunk.pk)
    job.chunks.filter(pk=chunk.pk).update(seconds=60)
    page = " ".join(markup(client_of(viewer).get(url("jobs"))).split())
    assert "15 of 30 pairs" in page
    assert "42 to 90 s left" in page


def test_mine_are_the_lines_that_the_reader_started(client_of, developer, owner, job):
    assert "Grade 30 pairs" in markup(client_of(developer).get(url("jobs"), {"who": "mine"}))
    page = markup(client_of(owner).get(url("jobs"), {"who": "mine"}))
    assert "You have not started any jobs." in page


def test_imports_releases_and_archives_are_lines_for_organizers_only(collection, client_of, owner, developer):
    batch = Import.objects.create(collection=collection, by=owner, state="done", options={})
    ImportFile.objects.create(batch=batch, name="queries.tsv", size=5, digest="0" * 64)
    Release.objects.create(collection=collection, by=owner, state="done", title="Spring")
    Archive.objects.create(collection=collection, slug=collection.slug, by=owner, state="done")
    page = markup(client_of(owner).get(url("jobs")))
    lines = ("Check 1 file", "Make the release Spring", "Archive the collection")
    assert all(line in page for line in lines)
    assert batch.get_absolute_url() in page
    assert not any(line in markup(client_of(developer).get(url("jobs"))) for line in lines)
