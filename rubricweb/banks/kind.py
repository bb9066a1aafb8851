"""Drafting as a kind of background work, and in the list of a collection's jobs."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from django.db.models import Exists, Model, OuterRef, QuerySet
from django.urls import reverse
from django.utils.functional import lazy

from grading import generation
from grading.errors import GraderUnavailable, GradingError, ParseFailure, UnknownGrader
from grading.generation.models import LONGEST_REPLY, text_model
from grading.graders import registry
from grading.graders.backend_options import Thinking
from grading.graders.replies import NoReply
from rubricweb.banks import draft_jobs, drafting
from rubricweb.banks.draft_models import DraftChunk, DraftJob, DraftRequest
from rubricweb.banks.drafting import request_of
from rubricweb.core import events
from rubricweb.core.servers import model_server
from rubricweb.corpus import convert as corpus
from rubricweb.corpus.prompts import options_of_writer
from rubricweb.jobs import leases, steering, worker_state
from rubricweb.jobs.kinds import CannotRun, ChunkKind, Need, Stopping, TaskKind
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.listing import Listing, TaskListing
from rubricweb.jobs.models import Job
from rubricweb.webhooks import actions as webhooks

logger = logging.getLogger(__name__)

CANNOT_RUN = (GraderUnavailable, UnknownGrader)
DraftLease = Lease[DraftRequest]


class Remembering:
    """A model whose last reply is kept, also where nothing could be made of it."""

    def __init__(self, llm: generation.TextModel) -> None:
        self._llm = llm
        self.last = ""

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        try:
            self.last = self._llm.complete(messages)
        except NoReply as error:
            self.last = error.raw
            raise
        return self.last


class Drafting(TaskKind[DraftRequest]):
    name = "drafts"
    collection = "bank.collection_id"
    model = DraftRequest
    related = ("bank__collection", "topic__collection")

    def run(self, lease: DraftLease) -> None:
        """Put drafts into the inbox, or say there why none came."""
        llm = Remembering(_model(lease.work))
        try:
            keep = (
                _weighed(llm, lease)
                if lease.work.asks == DraftRequest.Asks.IMPORTANCE
                else _drafted(llm, lease)
            )
        except GradingError as error:
            logger.warning("draft request %s failed: %s", lease.work.pk, error)
            leases.fail(lease, error=str(error), reply=llm.last)
        except Exception:
            lease.held().update(reply=llm.last)
            raise
        else:
            keep()
            logger.info("draft request %s for topic %s was answered", lease.work.pk, lease.work.topic_id)

    def need(self, work: DraftRequest) -> Need:
        model = hashlib.sha256(f"{work.backend}\0{work.llm}".encode()).hexdigest()[:16]
        purpose = f"{work.llm} as a writer of drafts"
        return Need(f"writer-{model}", purpose, *registry.requirement(work.backend))

    def label(self, work: DraftRequest) -> str:
        return f"drafts for topic {work.topic.query_id}"

    def changed(self, work: DraftRequest) -> None:
        drafting.announce(work)


def _model(request: DraftRequest) -> generation.TextModel:
    """Return the model that a request names. Raises CannotRun."""
    with worker_state.now.load(request.llm):
        try:
            options = options_of_writer(request.bank.collection, request.backend, request.llm)
            longest = max(LONGEST_REPLY, int(options.get("max_new_tokens", 0)))
            return text_model(
                request.backend,
                request.llm,
                model_server(),
                longest_reply=longest,
                thinking=Thinking.of(options),
                on_tokens=worker_state.now.on_tokens,
            )
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error


def _drafted(llm: Remembering, lease: DraftLease) -> Callable[[], None]:
    drafts = generation.draft(llm, request_of(lease.work))
    return partial(drafting.keep_drafts, lease, drafts)


def _weighed(llm: Remembering, lease: DraftLease) -> Callable[[], None]:
    """Ask for importances, and return what stores them. Raises ParseFailure if no reply has a label."""
    nuggets = drafting.nuggets_of(lease.work.bank, lease.work.topic)
    labels = generation.weigh(llm, corpus.topic(lease.work.topic), [nugget.text for nugget in nuggets])
    if labels.defaulted == len(nuggets):
        raise ParseFailure(f"no reply labels each of the {len(nuggets)} nuggets vital or okay")
    return partial(drafting.keep_suggestions, lease, nuggets, labels, raw=llm.last)


class CollectionDrafting(ChunkKind[DraftChunk]):
    name = "drafting"
    collection = "job.bank.collection_id"
    model = DraftChunk
    related = ("job__bank__collection", "job__by", "topic__collection")
    job_related = ("bank__collection",)
    payload = ("replies",)
    activity = "drafting"
    saves_batches = True

    def run(self, lease: Lease[DraftChunk]) -> None:
        """Put drafts for one topic or subtopic into the inbox, or say there why none came.

        Raises what `Kind.run` does, and NoReply where the server gives none.
        """
        began = time.monotonic()
        chunk = self.model.objects.select_related(*self.related).get(pk=lease.work.pk)
        if chunk.job.state not in Job.WORKED_ON:
            raise Stopping
        llm = Remembering(draft_jobs.model_of(lease, chunk))
        request = draft_jobs.request_for(chunk)
        task = request_of(request)
        request.prompt_id, texts = task.prompt.prompt_id, tuple[str, ...]()
        try:
            texts = generation.draft(llm, task).texts
            request.state = DraftRequest.State.DONE
        except GradingError as error:
            if isinstance(error, NoReply) and not error.is_of_prompt:
                raise
            request.state, request.error = DraftRequest.State.FAILED, str(error)
        request.reply = llm.last
        draft_jobs.keep(lease, request, texts, seconds=time.monotonic() - began)

    def need(self, work: DraftChunk) -> Need:
        return steering.need_of(work.job.backend, work.job.llm)

    def audited(self, job: DraftJob) -> tuple[Model, str]:
        return job.bank, str(job)

    def label(self, work: DraftChunk) -> str:
        return f"drafts for topic {work.topic.query_id}"

    def on_finished(self, job: DraftJob) -> None:
        webhooks.job_ended(job, job.collection, kind="drafting", page=lazy(_address, str)(job))

    def job_changed(self, job: DraftJob) -> None:
        events.publish(job.collection.channel, "progress")


def _jobs(collection_id: int) -> QuerySet[DraftJob]:
    rows = DraftJob.objects.filter(bank__collection=collection_id)
    of_subtopics = DraftChunk.objects.filter(job=OuterRef("pk")).exclude(facet_id="")
    return rows.select_related("bank__collection", "by").annotate(of_subtopics=Exists(of_subtopics))


def _address(job: DraftJob) -> str:
    return f"{reverse('editor:review-drafts', args=[job.collection.slug])}?bank={job.bank_id}"


def measured_rate(job: DraftJob) -> float | None:
    """Return the drafts a second of one worker, as measured on this server."""
    seconds = draft_jobs.seconds_a_place(job.backend, job.llm)
    return 1 / seconds if seconds else None


JOBS = Listing(
    kind="drafting",
    unit=lambda job: "subtopic" if job.of_subtopics else "topic",
    jobs=_jobs,
    name=lambda job: f"Draft {job.kind}s for rubric {job.bank.name}",
    does=str,
    address=_address,
    opens="Drafts",
    rate=measured_rate,
)


def _requests(collection_id: int) -> QuerySet[DraftRequest]:
    rows = DraftRequest.objects.filter(bank__collection=collection_id)
    return rows.select_related("bank__collection", "topic", "by").defer("reply")


def _request_name(request: DraftRequest) -> str:
    is_of_importance = request.asks == DraftRequest.Asks.IMPORTANCE
    does = "Suggest importance of nuggets" if is_of_importance else f"Draft {request.kind}s"
    return f"{does} for {request.topic.query_id}"


LISTING = TaskListing(
    kind="drafts",
    jobs=_requests,
    name=_request_name,
    does=str,
    address=lambda request: reverse("editor:drafts", args=[request.bank_id, request.topic_id]),
    opens="Drafts",
    acts={"cancel": drafting.cancel_request},
)
