"""Drafts by workers: for one topic, and for a whole collection as one job, with the price and the start."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection as Several, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from statistics import median

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import lazy

from grading import generation
from grading.errors import GradingError, ParseFailure, UnknownGrader
from grading.generation.models import LONGEST_REPLY, drafting_backend
from grading.graders.replies import NoReply
from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks import drafting
from rubricweb.banks.changes import CannotDraft
from rubricweb.banks.draft_models import Draft, DraftChunk, DraftJob, DraftRequest
from rubricweb.banks.drafting import DraftOptions, announce, request_of
from rubricweb.banks.models import Bank, Item
from rubricweb.core import audit, events
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus import convert, convert as corpus
from rubricweb.corpus.models import Collection, Subtopic, Topic
from rubricweb.corpus.writers import Writer, limited_writer, unlimited_writer
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import Need, TaskKind
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import AskingKind, KeptReplies, Limits, begin, need_of, price_of_calls, tokens_of
from rubricweb.jobs.listing import Listing, TaskListing
from rubricweb.jobs.models import Chunk, Job
from rubricweb.jobs.progress import Price, seconds_for
from rubricweb.webhooks import actions as webhooks

PER_PLACE = 10
"""Questions or nuggets for which the prompts ask."""
REPLY_TOKENS = 250
"""Tokens of a reply with PER_PLACE questions or nuggets, at about 100 characters each."""
MEASURED = 20
"""Latest requests from which the time of one is measured."""


@dataclass(frozen=True, slots=True)
class DraftPlace:
    """A topic, or one subtopic of it, that one call drafts for."""

    topic: Topic
    subtopic: Subtopic | None = None

    @property
    def facet_id(self) -> str:
        return self.subtopic.facet_id if self.subtopic else ""

    @property
    def key(self) -> tuple[int, str]:
        return self.topic.pk, self.facet_id

    def task(self, kind: ItemKind) -> generation.DraftTask:
        """Return what the model is asked."""
        subtopic = str(self.subtopic) if self.subtopic else ""
        return generation.DraftTask(convert.topic(self.topic), kind, subtopic)


@dataclass(frozen=True, slots=True)
class Lacking:
    """The places of a rubric that lack items."""

    places: tuple[DraftPlace, ...]
    """Those to draft for: they have a text, no waiting draft, and no model is at them."""
    without_items: int
    total: int
    is_of_subtopics: bool
    """Whether places are subtopics, of some topics at least."""
    first: Topic | None

    @property
    def noun(self) -> str:
        return "subtopic" if self.is_of_subtopics else "topic"


def lacking(collection: Collection, bank: Bank | None, *, among: Several[int] | None = None) -> Lacking:
    """Return the places without items; `among` are the keys of the topics to look at, all by default.

    A topic with subtopics is drafted for by subtopic. An item of the whole topic covers all of them.
    """
    listed = [(topic, facet) for topic, facet in _places(collection.pk) if among is None or topic in among]
    split = {topic for topic, facet in listed if facet is not None}
    keys = [(topic, facet or "") for topic, facet in listed]
    filled = _keys(_with_items(bank.pk) if bank else (), split)
    bare = {key for key in keys if not _is_in(key, filled)}
    taken = _keys(_taken(bank), split) if bare else set()
    topics = collection.topics.filter(pk__in={topic for topic, _ in bare}) if bare else Topic.objects.none()
    bare_places = [
        place
        for topic in topics.order_by("position", "pk").prefetch_related("subtopics")
        for subtopic in (list(topic.subtopics.all()) or [None])
        if (place := DraftPlace(topic, subtopic)).key in bare
    ]
    free = tuple(place for place in bare_places if place.topic.text and not _is_in(place.key, taken))
    return Lacking(free, len(bare), len(keys), bool(split), next((each.topic for each in bare_places), None))


@compiled_once
def _places(collection: int) -> QuerySet[Topic, tuple[int, str | None]]:
    """Return each topic with each of its subtopics, or with None."""
    return Topic.objects.filter(collection=collection).order_by().values_list("pk", "subtopics__facet_id")


@compiled_once
def _with_items(bank: int) -> QuerySet[Item, tuple[int, str]]:
    """Return topic and subtopic of the rubric's items, each pair once."""
    items: QuerySet[Item] = Item.including_secret.active().filter(bank=bank).order_by()
    return items.values_list("topic_id", "facet_id").distinct()


def _is_in(key: tuple[int, str], keys: set[tuple[int, str]]) -> bool:
    return key in keys or (key[0], "") in keys


def _taken(bank: Bank | None) -> Iterable[tuple[int, str]]:
    """Return topic and subtopic of the drafts that wait, and of those that a model is at."""
    if bank is None:
        return []
    waiting = Draft.objects.filter(request__bank=bank, state=Draft.State.WAITING)
    live = bank.draft_requests.filter(state__in=DraftRequest.LIVE, asks=DraftRequest.Asks.ITEMS)
    under_way = DraftChunk.objects.filter(job__bank=bank, state__in=Chunk.LIVE)
    return [
        *waiting.values_list("request__topic_id", "request__facet_id"),
        *live.values_list("topic_id", "facet_id"),
        *under_way.values_list("topic_id", "facet_id"),
    ]


def _keys(pairs: Iterable[tuple[int, str]], split: set[int]) -> set[tuple[int, str]]:
    """Return the pairs, and the topic as a whole where it is not split into subtopics."""
    return {(topic, facet if topic in split else "") for topic, facet in pairs}


def price(options: DraftOptions, places: Sequence[DraftPlace]) -> Price:
    """Return what one call a place takes; a reply that lists nothing is asked for again, twice at most."""
    read = sum(tokens_of([text for _, text in place.task(options.kind).messages]) for place in places)
    written = REPLY_TOKENS * len(places)
    model, each = (options.backend, options.llm), seconds_a_place(options.backend, options.llm)
    seconds = seconds_for(len(places), 1 / each if each else None)
    return price_of_calls(*model, calls=len(places), read=read, written=written, seconds=seconds)


def seconds_a_place(backend: str, llm: str) -> float | None:
    """Return how long the model took for a draft, by the median of its last answers on this server."""
    done = DraftRequest.objects.filter(backend=backend, llm=llm, state=DraftRequest.State.DONE)
    rows = done.order_by("-ended_at").values_list("queued_at", "ended_at")[:MEASURED]
    times = [(queued, ended) for queued, ended in rows if ended]
    before = [ended for _, ended in times[1:]]
    begun = [max([queued, *before[n : n + 1]]) for n, (queued, _) in enumerate(times)]
    spans = [(ended - first).total_seconds() for (_, ended), first in zip(times, begun, strict=True)]
    return median(spans) if spans else None


def live_job(bank: Bank) -> DraftJob | None:
    """Return the job that drafts for the rubric, if one has not ended."""
    return next(iter(_live_jobs(bank.pk)), None)


@compiled_once
def _live_jobs(bank: int) -> QuerySet[DraftJob, DraftJob]:
    live = DraftJob.objects.filter(bank=bank).exclude(state__in=Job.ENDED)
    return live.select_related("bank__collection")[:1]


@transaction.atomic
def start(
    bank: Bank,
    options: DraftOptions,
    *,
    limits: Limits,
    by: User | None,
    among: Several[int] | None = None,
    at_most: int | None = None,
) -> DraftJob:
    """Have workers draft for each place without items, one call a place.

    `among` are the keys of the topics to look at, and `at_most` how many places to try. Replies that an
    earlier job kept without drafts are used before the model is asked. Raises CannotDraft.
    """
    try:
        backend = drafting_backend(options.backend)
    except UnknownGrader as error:
        raise CannotDraft(str(error)) from error
    Bank.objects.select_for_update(no_key=True).get(pk=bank.pk)
    if other := live_job(bank):
        raise CannotDraft(f"{other.llm} is drafting for this rubric. Let it finish, or cancel it.")
    places = lacking(bank.collection, bank, among=among).places[:at_most]
    if not places:
        raise CannotDraft("Each topic with a text has items, or drafts that wait for a decision.")
    job = DraftJob(
        bank=bank,
        kind=str(options.kind),
        backend=backend.name,
        llm=options.llm or backend.default_llm,
        priority=Job.Priority.HIGH if len(places) == 1 else Job.Priority.DEFAULT,
        by=by,
    )
    # Replies of jobs that asked the same and ended before they made drafts of them.
    same = {f"job__{name}": getattr(job, name) for name in ("bank", "kind", "backend", "llm")}
    left = DraftChunk.objects.filter(**same).exclude(state=Chunk.State.DONE).exclude(replies={})
    rows = left.order_by("pk").values_list("topic_id", "facet_id", "replies")
    kept = {(topic, facet): replies for topic, facet, replies in rows}
    chunks = [
        DraftChunk(topic=place.topic, facet_id=place.facet_id, size=1, replies=kept.get(place.key, {}))
        for place in places
    ]
    begin(job, chunks, limits)
    audit.record("drafting begun", bank, by=by, detail=f"{job}, {job.total} calls or more, {limits.text}")
    return job


@transaction.atomic
def keep(lease: Lease[DraftChunk], request: DraftRequest, texts: Sequence[str], *, seconds: float) -> None:
    """Put drafts into the inbox, or `request`, which has failed; raises LeaseLost.

    The replies are then those of the request, and the chunk keeps none.
    """
    has_failed = request.state == DraftRequest.State.FAILED
    leases.finish(lease, done=1, failed=int(has_failed), seconds=seconds, replies={})
    request.ended_at = timezone.now()
    request.queued_at = request.ended_at - timedelta(seconds=seconds)
    request.attempts = 1
    request.save()
    Draft.objects.bulk_create([Draft(request=request, text=text) for text in texts])
    announce(request)
    events.publish_on_commit(request.bank.collection.channel, "progress")


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
                else partial(drafting.keep_drafts, lease, generation.draft(llm, request_of(lease.work)))
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
        job = chunk.job
        writer = Writer(job.backend, job.llm)
        limited = limited_writer(job, job.collection, writer, longest_reply=LONGEST_REPLY)
        llm = Remembering(KeptReplies(limited, lease, chunk))
        request = DraftRequest(bank=job.bank, topic=chunk.topic, facet_id=chunk.facet_id, by=job.by)
        request.kind, request.backend, request.llm = job.kind, job.backend, job.llm
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
        keep(lease, request, texts, seconds=time.monotonic() - began)

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
    seconds = seconds_a_place(job.backend, job.llm)
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


def _request_name(request: DraftRequest) -> str:
    is_of_importance = request.asks == DraftRequest.Asks.IMPORTANCE
    does = "Suggest importance of nuggets" if is_of_importance else f"Draft {request.kind}s"
    return f"{does} for {request.topic.query_id}"


LISTING = TaskListing(
    kind="drafts",
    jobs=lambda collection_id: (
        DraftRequest.objects.filter(bank__collection=collection_id)
        .select_related("bank__collection", "topic", "by")
        .defer("reply")
    ),
    name=_request_name,
    does=str,
    address=lambda request: reverse("editor:drafts", args=[request.bank_id, request.topic_id]),
    opens="Drafts",
    acts={"cancel": drafting.cancel_request},
)
