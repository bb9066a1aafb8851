"""Drafts for a whole collection as one job: its places, price and limits, and what a kill leaves of it."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from grading.graders.connection import CallProblem
from grading.graders.replies import NoReply
from grading.types import ErrorClass, ItemKind
from rubricweb.banks import draft_jobs
from rubricweb.banks.actions import add_item
from rubricweb.banks.changes import CannotDraft
from rubricweb.banks.draft_jobs import JOBS, LISTING
from rubricweb.banks.draft_models import Draft, DraftChunk, DraftJob, DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Subtopic
from rubricweb.jobs import leases, limits, steering
from rubricweb.jobs.limits import Limits, change_limits
from rubricweb.jobs.listing import lines_of
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from tests.factories import TopicFactory
from tests.grading.servers.http import Reply, serving
from tests.rubricweb.banks.conftest import Scripted
from tests.rubricweb.jobs.workers import wait_until, workers

QUESTIONS = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny")
SERVED = DraftOptions(ItemKind.QUESTION, "openai_compatible", "m")
REPLY = '["Which pigment makes leaves red?", "Does frost dull colours?"]'


@pytest.fixture
def places(bank, topic):
    """Three: two subtopics of the first topic, and the second topic; the third has no text."""
    for place, facet_id in enumerate(("pigments", "weather")):
        Subtopic.objects.create(topic=topic, facet_id=facet_id, text=facet_id.title(), position=place)
    TopicFactory(collection=bank.collection, query_id="t2", text="how does bread rise", position=8)
    TopicFactory(collection=bank.collection, query_id="t3", text="", position=9)
    return draft_jobs.lacking(bank.collection, bank).places


@pytest.fixture
def writer(monkeypatch):
    """`writer(*replies)`: what the model says to a job."""

    def script(*replies: str | Exception) -> Scripted:
        llm = Scripted(*replies)
        monkeypatch.setattr(limits, "text_model", lambda *_, **__: llm)
        return llm

    return script


def start(bank, options=QUESTIONS, *, calls=99, dollars=None, **scope) -> DraftJob:
    return draft_jobs.start(bank, options, limits=Limits(calls, dollars), by=None, **scope)


def work(job: DraftJob) -> DraftJob:
    for chunk in job.chunks.filter(state=DraftChunk.State.QUEUED):
        work_on("drafting", chunk.pk)
    job.refresh_from_db()
    return job


def waiting(bank) -> list[tuple[str, str, int]]:
    requests = DraftRequest.objects.filter(bank=bank).order_by("pk")
    return [(row.topic.query_id, row.facet_id, row.drafts.count()) for row in requests]


def test_each_place_without_items_is_drafted_for_with_one_call(bank, topic, places, writer):
    llm = writer(REPLY)
    assert [place.facet_id for place in places] == ["pigments", "weather", ""]
    job = work(start(bank))
    assert (job.state, job.total, job.calls) == (Job.State.DONE, 3, 3)
    assert waiting(bank) == [(topic.query_id, "pigments", 2), (topic.query_id, "weather", 2), ("t2", "", 2)]
    assert "the subtopic 'Pigments'" in llm.asked[0]
    request = DraftRequest.objects.order_by("pk").first()
    assert (request.state, request.reply, request.prompt_id) == ("done", REPLY, "TrecCarQuestions@1")
    assert not bank.items.exists()
    assert AuditEntry.objects.filter(verb="drafting begun", object_id=bank.pk).exists()
    with pytest.raises(CannotDraft, match="has items, or drafts that wait"):
        start(bank)


def test_the_list_of_jobs_names_what_each_asks_for(bank, topic, places, writer):
    writer(REPLY)
    work(start(bank))
    DraftRequest.objects.update(kind=ItemKind.NUGGET)
    DraftRequest.objects.filter(facet_id="").update(asks=DraftRequest.Asks.IMPORTANCE)
    (job,) = lines_of(JOBS, JOBS.jobs(bank.collection_id))
    assert (job.done, job.unit) == (3, "subtopic")
    titles = {line.title for line in lines_of(LISTING, LISTING.jobs(bank.collection_id))}
    assert titles == {f"Draft nuggets for {topic.query_id}", "Suggest importance of nuggets for t2"}
    DraftChunk.objects.update(facet_id="")
    assert lines_of(JOBS, JOBS.jobs(bank.collection_id))[0].unit == "topic"


def test_items_and_what_is_under_way_need_no_drafts(bank, topic, places):
    add_item(bank, topic, kind=ItemKind.QUESTION, text="Why red?", facet_id="weather", by=None)
    rest = draft_jobs.lacking(bank.collection, bank)
    assert ([place.facet_id for place in rest.places], rest.without_items, rest.total) == (
        ["pigments", ""],
        3,
        4,
    )
    assert rest.noun == "subtopic"
    job = start(bank, at_most=1)
    assert (job.total, job.priority) == (1, Job.Priority.HIGH)
    assert [place.topic.query_id for place in draft_jobs.lacking(bank.collection, bank).places] == ["t2"]
    with pytest.raises(CannotDraft, match="tiny is drafting for this rubric"):
        start(bank)
    add_item(bank, topic, kind=ItemKind.QUESTION, text="What of it all?", by=None)
    assert draft_jobs.lacking(bank.collection, bank, among={topic.pk}).without_items == 0


def test_the_price_is_known_before(bank, places, settings):
    settings.PRICES, settings.REPLY_PRICES = {"m": 2.0}, {}
    price = draft_jobs.price(SERVED, places)
    read = sum(len(text) for place in places for _, text in place.task(ItemKind.QUESTION).messages)
    assert (price.cells, price.tokens) == (3, round(read / 4 + 3 * 250))
    assert price.dollars == pytest.approx(price.tokens * 2 / 1e6, rel=0.01)
    assert draft_jobs.price(QUESTIONS, places).dollars == 0
    settings.PRICES = {}
    assert draft_jobs.price(SERVED, places).dollars is None


def test_a_job_pauses_at_its_limit_and_goes_on_with_another(bank, places, writer):
    writer(REPLY)
    job = work(start(bank, calls=2))
    assert (job.state, job.calls) == (Job.State.PAUSED, 2)
    assert job.pause_reason == "It has asked the model 2 times, as often as it may."
    assert len(waiting(bank)) == 2
    change_limits(job, Limits(9), by=None)
    job = work(job)
    assert (job.state, job.calls, len(waiting(bank))) == (Job.State.DONE, 3, 3)


@pytest.mark.parametrize("step", ["asking", "keeping a reply", "storing drafts", "before the commit"])
def test_a_worker_killed_at_a_step_loses_no_draft_and_pays_nothing_twice(
    bank, places, writer, monkeypatch, step
):
    llm, job = writer(REPLY), start(bank, at_most=1)

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    chunk = job.chunks.get()
    places_of_death = {
        "asking": (draft_jobs, "limited_writer"),
        "keeping a reply": (draft_jobs.KeptReplies, "complete"),
        "storing drafts": (draft_jobs, "keep"),
        "before the commit": (draft_jobs, "announce"),
    }
    with monkeypatch.context() as killing:
        killing.setattr(*places_of_death[step], die)
        with pytest.raises(Killed):
            work_on("drafting", chunk.pk)
    assert not Draft.objects.exists()
    DraftChunk.objects.update(lease_until=timezone.now() - timedelta(hours=1))
    leases.reap()
    job = work(job)
    assert (job.state, len(llm.asked), Draft.objects.count()) == (Job.State.DONE, 1, 2)


def test_a_reply_that_a_cancelled_job_kept_is_not_paid_for_again(bank, places, writer, monkeypatch):
    llm, job = writer(REPLY), start(bank, at_most=1)
    with monkeypatch.context() as broken:
        broken.setattr(draft_jobs, "keep", lambda *_, **__: 1 / 0)
        work_on("drafting", job.chunks.get().pk)
    steering.steer(job, "cancel", by=None)
    job.refresh_from_db()
    assert (job.state, len(llm.asked)) == (Job.State.CANCELLED, 1)
    job = work(start(bank))
    assert (job.state, job.calls, len(llm.asked)) == (Job.State.DONE, 2, 3)
    assert len(waiting(bank)) == 3


def test_a_reply_without_a_list_fails_in_the_topics_inbox_and_the_job_goes_on(bank, places, writer):
    writer("I would rather not.", "No.", "Never.", REPLY)
    job = work(start(bank))
    assert (job.state, job.calls) == (Job.State.DONE, 5)
    assert sum(job.chunks.values_list("failed", flat=True)) == 1
    failed = DraftRequest.objects.get(state="failed")
    assert (failed.reply, failed.facet_id) == ("Never.", "pigments")
    assert "no question in 3 replies" in failed.error
    assert [place.key for place in draft_jobs.lacking(bank.collection, bank).places] == [places[0].key]


def test_a_server_that_takes_no_calls_pauses_the_job(bank, places, writer):
    gone = NoReply(CallProblem(ErrorClass.SERVER, "connection refused", is_passing=True))
    writer(gone)
    job = start(bank)
    for _ in range(leases.MAX_ATTEMPTS):
        work_on("drafting", job.chunks.first().pk)
    job.refresh_from_db()
    reason = "No reply from the model: connection refused. Check that its server runs, then resume."
    assert (job.state, job.pause_reason) == (Job.State.PAUSED, reason)
    writer(REPLY)
    job = work(steering.steer(job, "resume", by=None))
    assert (job.state, len(waiting(bank))) == (Job.State.DONE, 3)


def test_the_command_says_the_price_and_starts_one_job(bank, places):
    printed = StringIO()
    named = {"backend": "hf_seq2seq", "llm": "tiny", "topic": ["t2"]}
    call_command("draft_rubric", bank.collection.slug, price_only=True, stdout=printed, **named)
    assert printed.getvalue().startswith("tiny: 1 topic without questions, a call each, about ")
    assert not DraftJob.objects.exists()
    call_command("draft_rubric", bank.collection.slug, stdout=printed, **named)
    assert "started: questions by tiny for rubric main, at most 2 calls" in printed.getvalue()
    assert [chunk.topic.query_id for chunk in DraftJob.objects.get().chunks.all()] == ["t2"]
    with pytest.raises(CommandError, match="say --most-calls"):
        call_command(
            "draft_rubric", bank.collection.slug, backend="openai_compatible", llm="m", stdout=printed
        )
    with pytest.raises(CommandError, match="is drafting for this rubric"):
        call_command("draft_rubric", bank.collection.slug, stdout=printed, **(named | {"topic": []}))


def odd_server(body: dict[str, object], number: int) -> Reply:
    """Answer as a bad server does: every third call with an error, some with an empty or a broken body."""
    if number % 3 == 1:
        return Reply(500, {"error": {"message": "overloaded"}})
    if number % 7 == 5:
        return Reply(200, b"<html>not JSON")
    text = "" if number % 11 == 8 else REPLY
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Reply(
        200, {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )


def test_real_workers_that_are_killed_and_a_server_that_misbehaves(
    transactional_db, database_url, redis_server, tmp_path, bank, topic, monkeypatch
):
    for number in range(20):
        TopicFactory(
            collection=bank.collection, query_id=f"n{number}", text=f"what is {number}", position=number
        )
    with serving(odd_server) as server, workers(database_url, redis_server.url, tmp_path) as start_worker:
        monkeypatch.setenv("RUBRIC_OPENAI_BASE_URL", server.url)
        job = start(bank, SERVED)
        worker = start_worker(lease_seconds=1)
        kills = 0
        for answered in (4, 14):
            wait_until(lambda answered=answered: len(server.asked) >= answered, what="calls")
            worker.kill()
            kills += 1
            worker = start_worker(lease_seconds=1)
        wait_until(lambda: DraftJob.objects.get(pk=job.pk).has_ended, what="the job's end")
    job.refresh_from_db()
    requests = list(bank.draft_requests.all())
    assert (job.state, job.total, len(requests)) == (Job.State.DONE, 21, 21)
    done = [request for request in requests if request.state == "done"]
    assert Draft.objects.count() == 2 * len(done)
    assert {request.state for request in requests} <= {"done", "failed"}
    prompts = server.prompts()
    usable = [
        prompt
        for number, prompt in enumerate(prompts)
        if odd_server({}, number).body != b"<html>not JSON" and number % 3 != 1 and number % 11 != 8
    ]
    assert len(usable) - len(set(usable)) <= kills
