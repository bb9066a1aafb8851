"""Drafting as a kind of background work, and in the list of a collection's jobs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from django.db.models import Exists, Model, OuterRef, QuerySet
from django.urls import reverse
from django.utils.functional import lazy

from grading import generation
from grading.errors import GradingError, ParseFailure
from grading.generation.models import LONGEST_REPLY
from grading.graders.replies import NoReply
from rubricweb.banks import draft_jobs, drafting
from rubricweb.banks.draft_models import DraftChunk, DraftJob, DraftRequest
from rubricweb.banks.drafting import request_of
from rubricweb.corpus import convert as corpus
from rubricweb.corpus.writers import Writer, unlimited_writer
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import Need, TaskKind
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import AskingKind, need_of
from rubricweb.jobs.listing import Listing, TaskListing
from rubricweb.webhooks import actions as webhooks

logger = logging.getLogger(__name__)

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
        collection, writer = lease.work.bank.collection, Writer(lease.work.backend, lease.work.llm)
        llm = Remembering(unlimited_writer(collection, writer, longest_reply=LONGEST_REPLY))
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
        return need_of(work.backend, work.llm)

    def label(self, work: DraftRequest) -> str:
        return f"drafts for topic {work.topic.query_id}"

    def changed(self, work: DraftRequest) -> None:
        drafting.announce(work)


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


class CollectionDrafting(AskingKind[DraftChunk]):
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
        chunk = self.begun(lease)
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

    def audited(self, job: DraftJob) -> tuple[Model, str]:
        return job.bank, str(job)

    def label(self, work: DraftChunk) -> str:
        return f"drafts for topic {work.topic.query_id}"

    def on_finished(self, job: DraftJob) -> None:
        webhooks.job_ended(job, job.collection, kind="drafting", page=lazy(_address, str)(job))


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
