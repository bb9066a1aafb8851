"""What work waits for is said in one sentence everywhere, and short work waits behind no model."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from operator import attrgetter
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from grading.types import ItemKind
from rubricweb.banks import drafting
from rubricweb.banks.draft_models import DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.grades.actions import start_grading
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs import kinds, probes, queue, worker_state
from rubricweb.jobs.kinds import Stopping
from rubricweb.jobs.leases import LeaseLost
from rubricweb.jobs.limits import begin
from rubricweb.jobs.listing import Listing, lines_of
from rubricweb.jobs.models import Chunk, LeasedWork
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.waiting import Wait, WaitingLine
from rubricweb.releases.models import Release
from tests.factories import BankFactory, CollectionFactory, TopicFactory, gradable
from tests.rubricweb.jobs.workers import wait_until, workers
from tests.rubricweb.jobs.working import claim

TEMPLATES = Path(settings.FILES_DIR) / "templates"
MODEL = ("hf_seq2seq",)


def drafts_for(collection, query_id: str = "leaf") -> DraftRequest:
    bank = collection.banks.first() or BankFactory(collection=collection)
    topic = TopicFactory(collection=collection, query_id=query_id)
    return drafting.request_drafts(bank, topic, DraftOptions(ItemKind.QUESTION, *MODEL, "tiny"), by=None)


def works(name: str = "attic-7", *, doing: str = "idle", seconds_ago: float = 0, **told: object) -> None:
    """A worker says so of itself."""
    beat = WorkerBeat(name, time.time(), doing, "CPU", since=time.time() - seconds_ago, **told)
    queue.beat(beat)


def wait_of(work: LeasedWork | GradingJob) -> Wait | None:
    return WaitingLine.now().wait_of(work)


@pytest.mark.parametrize("kind", kinds.registered(), ids=lambda kind: kind.name)
def test_every_kind_of_work_knows_its_collection(kind):
    assert kind.model.objects.values_list(kind.collection.replace(".", "__")).query
    work = kind.model()
    if isinstance(work, Chunk):
        work.job = type(work)._meta.get_field("job").related_model()
    path = kind.collection.split(".")
    for name in path[:-1]:
        if not hasattr(work, name):
            setattr(work, name, type(work)._meta.get_field(name).related_model())
        work = getattr(work, name)
    assert attrgetter(path[-1])(work) is None


def test_pages_tell_what_waits_by_the_one_sentence():
    """Nothing else speaks of missing workers, and what shows work that runs shows what it waits for."""
    own = {"jobs/_waits.html", "grades/_workers.html", "core/_pattern_notices.html"}
    missing = re.compile(r"waits? for a worker|worker is running|is a worker running", re.IGNORECASE)
    problems = []
    for path in sorted(TEMPLATES.rglob("*.html")):
        name, text = str(path.relative_to(TEMPLATES)), path.read_text(encoding="utf-8")
        if name not in own and missing.search(text):
            problems.append(f"{name} says by itself that a worker is missing")
        is_work = not name.startswith("campaigns/")  # where people lease cells
        if is_work and re.search(r"state == .leased", text) and "{% waits " not in text:
            problems.append(f"{name} shows work that runs, and not what it waits for")
    assert not problems


def test_work_that_nobody_can_do_needs_a_worker(collection, redis_server):
    request = drafts_for(collection)
    assert wait_of(request) == Wait(needs_worker=True)
    works(doing="import 3", work="import-3")
    assert wait_of(request) == Wait(needs_worker=True), "it has no such back-end"
    works("attic-8", backends=MODEL)
    assert wait_of(request) == Wait(seconds=0)
    redis_server.stop()
    assert wait_of(request) == Wait(has_redis=False)


def test_work_waits_behind_what_its_workers_are_at_and_what_was_queued_before(collection, redis_server):
    drafts = {"doing": "drafts for topic oak", "work": "drafts-7", "usual": 60.0, "seconds_ago": 20}
    works(**drafts, collection=collection.pk, backends=MODEL)
    works("attic-8")
    first, second = drafts_for(collection), drafts_for(collection, "oak")
    queue.enqueue_now([first, second])
    assert wait_of(first).ahead == "drafts for topic oak"
    assert wait_of(first).seconds == pytest.approx(40, abs=5)
    assert wait_of(second).seconds is None, "nobody has measured drafts yet"
    queue.note_usual(["drafts:hf_seq2seq"], 30.0)
    assert (wait_of(second).more, wait_of(second).seconds) == (1, pytest.approx(70, abs=5))
    assert wait_of(second).rest == " and 1 more piece of work, about 70 s"
    release = Release.objects.create(collection=collection)
    assert wait_of(release) == Wait(seconds=0), "a worker without a model is free for it"


def test_what_takes_longer_than_usual_says_how_long_so_far(collection, redis_server):
    works(doing="drafts for topic oak", work="drafts-7", backends=MODEL, usual=60.0, seconds_ago=190)
    assert wait_of(drafts_for(collection)).rest == ", 3 min so far"


def test_work_under_way_says_how_far_it_is(collection, redis_server):
    request = drafts_for(collection)
    claim(request)
    request.refresh_from_db()
    assert wait_of(request).progress == "just started"
    told = {"work": f"drafts-{request.pk}", "done": 120, "total": 512, "usual": 20.0, "seconds_ago": 14}
    works(doing="drafts for topic leaf", **told)
    assert wait_of(request).progress == "120 of at most 512 tokens, about 6 s left"


def test_a_job_waits_with_its_first_chunk_and_not_while_one_is_done(collection, redis_server, settings):
    settings.CHUNK_CELLS = 4
    gradable(collection, topics=1)
    (job,) = start_grading(collection, by=None)
    works(doing="import 3", work="import-3", collection=collection.pk)
    assert wait_of(job).ahead == "import 3"
    lease = claim(job.chunks.first())
    job.refresh_from_db()
    assert wait_of(job) is None
    works(doing="loading oak", work=lease.name, collection=collection.pk, seconds_ago=12)
    assert wait_of(job).progress == "Loading the model, 12 s so far"


@pytest.mark.parametrize(("who", "name"), [("developer", "import 3"), ("viewer", "other work")])
def test_what_is_ahead_is_named_to_those_who_see_the_jobs_of_its_collection(
    request, collection, redis_server, who, name
):
    release = Release.objects.create(collection=collection)
    works(doing="import 3", work="import-3", collection=collection.pk, usual=90.0)
    page = RequestFactory().get("/")
    page.user = request.getfixturevalue(who)
    shown = Template("{% load grades %}{% waits work %}").render
    here = shown(Context({"request": page, "collection": collection, "work": release}))
    link = f'<a href="{reverse("grades:jobs", args=[collection.slug])}">import 3</a>'
    said = link if name == "import 3" else name
    assert re.search(f"> Queued behind {re.escape(said)}, about (90|8.) s <", " ".join(here.split()))
    works(doing="import 3", work="import-3", collection=CollectionFactory().pk)
    elsewhere = shown(Context({"request": page, "collection": collection, "work": release}))
    assert "Queued behind other work, 1 s so far" in " ".join(elsewhere.split())


def test_the_usual_time_of_work_is_without_loading_its_model(collection, redis_server):
    lease = claim(drafts_for(collection))
    with worker_state.now.on(lease):
        worker_state.now.loading_seconds = 50.0
        lease.held().update(state="done")
    probes.count_attempt(lease, 60.0)
    assert queue.usual(lease.kind.usual_names(lease.work)) == [10.0, 10.0]
    queue.note_usual(["drafts:hf_seq2seq"], 20.0)
    assert queue.usual(["drafts:hf_seq2seq", "unknown"]) == [pytest.approx(13.0), None]


def test_a_model_stops_writing_once_nobody_waits_for_its_reply(collection, redis_server, monkeypatch):
    monkeypatch.setattr(worker_state, "LOOK_SECONDS", -1.0)
    request = drafts_for(collection)
    with worker_state.now.on(claim(request)):
        worker_state.now.on_tokens(7, 512)
        beat = worker_state.now.beat()
        assert (beat.done, beat.total, beat.work) == (7, 512, f"drafts-{request.pk}")
        assert beat.collection == collection.pk
        drafting.cancel_request(request, by=None)
        with pytest.raises(LeaseLost):
            worker_state.now.on_tokens(8, 512)
        monkeypatch.setattr(worker_state.now, "is_stopping", True)
        with pytest.raises(Stopping):
            worker_state.now.on_tokens(9, 512)
    assert worker_state.now.beat().work == ""


def test_what_a_model_is_at_is_handed_back_soon_after_the_signal(collection, redis_server, monkeypatch):
    request = drafts_for(collection)
    with worker_state.now.on(claim(request)):
        worker_state.now.hand_back()
        monkeypatch.setattr(worker_state.now, "is_stopping", True)
        monkeypatch.setattr(worker_state.now, "stopped_at", time.monotonic())
        worker_state.now.hand_back()
        request.refresh_from_db()
        assert request.state == "leased", "it may end by itself"
        monkeypatch.setattr(worker_state.now, "stopped_at", time.monotonic() - 60)
        worker_state.now.hand_back()
    request.refresh_from_db()
    assert (request.state, request.attempts, request.worker) == ("queued", 0, "")


@pytest.mark.concurrent
def test_a_worker_for_short_work_takes_no_model_and_what_needs_none(
    transactional_db, database_url, redis_server, collection, tmp_path
):
    gradable(collection, topics=1)
    request = drafts_for(collection)
    with workers(database_url, redis_server.url, tmp_path) as start:
        short = start(options=["--short"]).wait_until_heard()
        (job,) = start_grading(collection, by=None)
        wait_until(lambda: GradingJob.objects.get(pk=job.pk).has_ended)
        [beat] = [each for each in queue.living_workers() if each.name.endswith(f"-{short.pid}")]
    assert not beat.backends
    assert queue.get_queue("high-hf_seq2seq").job_ids == [f"drafts-{request.pk}-0"]


@pytest.mark.django_db
def test_job_whose_worker_is_gone_says_who_takes_over(collection, owner, client_of, redis_server):
    gradable(collection, topics=1, passages=2, items=1)
    job = start_grading(collection, by=None)[0]
    lease = claim(job.chunks.get())
    works("attic-8")
    job.refresh_from_db()
    assert wait_of(job) is None
    job.chunks.update(lease_until=timezone.now() + timedelta(seconds=15))
    assert wait_of(job).is_orphaned
    page = client_of(owner).get(reverse("grades:jobs", args=["autumn"])).content.decode()
    assert "Its worker is gone. Another one takes over in about" in page
    works(lease.work.worker, doing="grading", work=lease.name)
    assert wait_of(job) is None


def test_a_job_without_limits_is_listed_and_begun(db):
    collection = CollectionFactory()
    gradable(collection)
    (job,) = start_grading(collection, by=None)
    listing = Listing(
        kind="counting", unit="pair", jobs=lambda _: GradingJob.objects.all(), name=str, does=str, address=str
    )
    chunks = [JobChunk(size=size, topic=collection.topics.first()) for size in (2, 1)]
    begun = begin(GradingJob(collection=collection, config=job.config), chunks)
    lines = lines_of(listing, listing.jobs(collection.pk))
    assert [(line.total, line.acts) for line in lines if line.pk == begun.pk] == [(3, ("cancel", "pause"))]
