"""The monitor and a job's page in a browser, with a worker that really grades."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db.models import Sum
from playwright.sync_api import Locator, Page, expect

from grading.graders import registry
from rubricweb.accounts.models import User
from rubricweb.grades import actions, store
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine.parts import cells_of
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.store import GradeRow
from tests.rubricweb.grades.counting import BACKEND
from tests.rubricweb.jobs.workers import WorkerProcess, wait_until, workers

SOON = 60_000
FAILED = 5


@pytest.fixture
def start_worker(
    _environment: dict[str, str], demo, redis_server, tmp_path: Path
) -> Iterator[Callable[..., WorkerProcess]]:
    with workers(_environment["DATABASE_URL"], redis_server.url, tmp_path) as start:
        yield start


@pytest.fixture
def slow(demo, settings, monkeypatch) -> GradingJob:
    """A backfill by a grader that takes seconds, in chunks of 32 cells."""
    settings.CHUNK_CELLS = 32
    monkeypatch.setitem(registry.BACKENDS, BACKEND.name, BACKEND)
    config = config_for(BACKEND.name, "counted", "LexicalBaseline")
    return actions.start_grading(demo, by=None, configs=[config])[0]


@pytest.fixture
def grading(slow, start_worker, tmp_path: Path) -> WorkerProcess:
    """A worker that has begun with it."""
    worker = start_worker(calls=tmp_path / "calls").wait_until_heard()
    wait_until(slow.grades.exists, what="the first grades")
    return worker


@pytest.fixture
def failed(demo) -> GradingJob:
    """Done, but for calls that failed: their raw replies hold no rating."""
    Grade.objects.all().delete()
    (job,) = actions.start_grading(
        demo, by=User.objects.get(username="developer"), topics=[demo.topics.get(query_id="t1")]
    )
    cells = [cell for chunk in job.chunks.all() for cell in cells_of(chunk)]
    topic = demo.topics.get(query_id="t1")
    rows = [
        GradeRow(topic.pk, revision, passage, None, "failed", "I would rather not.", "no digit", "parse")
        for revision, passage in cells[:FAILED]
    ]
    store.save_grades(job.config, rows, job=job)
    return job


def of(page: Page, job: GradingJob) -> Locator:
    return page.locator(f"#job-grading-{job.pk}")


def press(page: Page, job: GradingJob, label: str) -> None:
    of(page, job).get_by_role("button", name=re.compile(f"^{label} Grade")).click()


def assert_counts_equal_rows(job: GradingJob) -> None:
    counted = job.chunks.aggregate(done=Sum("done"))["done"]
    assert counted == Grade.objects.filter(job=job).count() < job.total


def test_a_red_banner_says_how_to_start_a_worker_until_one_lives(
    people, places, slow, start_worker, tmp_path
):
    page = people.sign_in("organizer")
    page.goto(places.of_collection("grades:jobs"))
    expect(page.get_by_role("alert")).to_contain_text(
        "No worker is running: start one with python -m rubricweb worker"
    )
    worker = start_worker(calls=tmp_path / "calls")
    expect(page.get_by_role("alert")).to_have_count(0, timeout=SOON)
    expect(page.locator(".workers")).to_contain_text(str(worker.process.pid))
    expect(of(page, slow)).to_contain_text(re.compile(r"[1-9][\d,]* of\s+1,752"), timeout=SOON)


def test_pause_resume_and_priority(people, places, slow, grading):
    page = people.sign_in("developer")
    page.goto(slow.get_absolute_url())
    line = of(page, slow)
    expect(line).to_have_attribute("data-state", "running")
    press(page, slow, "Pause")
    expect(line).to_have_attribute("data-state", "paused")
    wait_until(lambda: not slow.chunks.filter(state="leased").exists(), what="the last batch")
    done = slow.chunks.aggregate(done=Sum("done"))["done"]
    expect(line).to_contain_text(f"{done:,} of {slow.total:,}")
    assert_counts_equal_rows(slow)
    press(page, slow, "Raise priority")
    expect(line.get_by_role("button", name="Lower priority")).to_be_visible()
    press(page, slow, "Resume")
    expect(line).to_have_attribute("data-state", "running")
    press(page, slow, "Lower priority")
    expect(line.get_by_role("button", name="Raise priority")).to_be_visible()
    wait_until(lambda: slow.chunks.aggregate(done=Sum("done"))["done"] > done, what="more grades")


def test_cancel_after_the_batch_and_now(people, places, slow, grading):
    page = people.sign_in("developer")
    page.goto(places.of_collection("grades:jobs"))
    line = of(page, slow)
    expect(line).to_have_attribute("data-state", "running")
    grading.freeze()
    press(page, slow, "Cancel")
    try:
        expect(line).to_have_attribute("data-state", re.compile("cancelling|cancelled"))
        if line.get_attribute("data-state") == "cancelling":  # else it stopped between two chunks
            press(page, slow, "Cancel now")
        expect(line).to_have_attribute("data-state", "cancelled")
    finally:
        grading.thaw()
    wait_until(lambda: not grading_now(grading), what="an idle worker")
    assert_counts_equal_rows(slow)
    expect(line.get_by_role("button")).to_have_text(re.compile("Go on"))


def grading_now(worker: WorkerProcess) -> bool:
    from rubricweb.jobs import queue

    beats = [beat for beat in queue.living_workers() if beat.name.endswith(f"-{worker.process.pid}")]
    return not beats or beats[0].doing != "idle"


def test_failed_calls_are_read_asked_again_and_retried(people, places, failed, worker):
    page = people.sign_in("developer")
    page.goto(failed.get_absolute_url())
    calls = page.locator(".call")
    expect(of(page, failed)).to_have_attribute("data-state", "done", timeout=SOON)
    expect(calls).to_have_count(FAILED)
    first = calls.first
    expect(first).to_contain_text("I would rather not.")
    expect(first).to_contain_text("replies without a rating")
    expect(first).to_contain_text("1 attempt,")
    first.get_by_text("Prompt", exact=True).click()
    expect(first.locator("details pre")).to_be_visible()
    page.evaluate("window.isTheSame = true")
    first.get_by_role("button", name="Ask again").click()
    expect(calls).to_have_count(FAILED - 1, timeout=SOON)
    press(page, failed, "Grade what failed again")
    expect(page.locator("#jobs")).to_contain_text("No call has failed.", timeout=SOON)
    assert page.evaluate("window.isTheSame")
    assert not Grade.objects.filter(outcome="failed").exists()
    page.get_by_role("link", name="Latest calls").click()
    expect(calls.first).to_contain_text("coverage")


def test_one_cell_is_asked_again_from_its_page(people, places, worker):
    page = people.sign_in("developer")
    page.goto(places.cell("d101"))
    cell = page.locator("#cell")
    page.evaluate("window.isTheSame = true")
    cell.get_by_role("button", name="Grade it again").click()
    expect(cell).to_contain_text("2 attempts", timeout=SOON)
    assert page.evaluate("window.isTheSame")
    expect(cell.get_by_role("button", name="Grade it again")).to_be_visible()


def test_everybody_can_use_the_pages(inspector_of, places, failed):
    job = GradingJob.objects.get(pk=failed.pk)
    job.state, job.pause_reason = "paused", "Paused: no rating in 60 of 100 replies. Then resume."
    job.save()
    inspector = inspector_of("developer")
    address = failed.get_absolute_url()
    for name, place in {
        "jobs": places.of_collection("grades:jobs"),
        "failed calls": address,
        "latest calls": f"{address}&show=latest",
    }.items():
        inspector.open(place)
        if inspector.page.locator("#missing").count():
            expect(inspector.page.locator("#missing")).not_to_contain_text("Missing grades")
        for summary in inspector.page.locator(".call summary").all():
            summary.click()
        inspector.inspect(name)
