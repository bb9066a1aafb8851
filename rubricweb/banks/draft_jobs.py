"""Drafts for a whole collection as one job: the places that lack items, the price, and the start."""

from __future__ import annotations

from collections.abc import Collection as Several, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from django.db import transaction
from django.utils import timezone

from grading import generation
from grading.errors import UnknownGrader
from grading.generation.models import LONGEST_REPLY, drafting_backend
from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.changes import CannotDraft
from rubricweb.banks.draft_models import Draft, DraftChunk, DraftJob, DraftRequest
from rubricweb.banks.drafting import DraftOptions, announce
from rubricweb.banks.models import Bank, Item
from rubricweb.core import audit, events
from rubricweb.corpus import convert
from rubricweb.corpus.models import Collection, Subtopic, Topic
from rubricweb.corpus.writers import Writer, limited_writer
from rubricweb.jobs import leases
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import KeptReplies, Limits, begin, price_of_calls, tokens_of
from rubricweb.jobs.models import Chunk, Job
from rubricweb.jobs.progress import Price, seconds_for

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

    @property
    def noun(self) -> str:
        return "subtopic" if self.is_of_subtopics else "topic"


def lacking(collection: Collection, bank: Bank | None, *, among: Several[int] | None = None) -> Lacking:
    """Return the places without items; `among` are the keys of the topics to look at, all by default.

    A topic with subtopics is drafted for by subtopic. An item of the whole topic covers all of them.
    """
    topics = collection.topics.order_by("position", "pk").prefetch_related("subtopics")
    places = [
        DraftPlace(topic, subtopic)
        for topic in topics
        if among is None or topic.pk in among
        for subtopic in (list(topic.subtopics.all()) or [None])
    ]
    split = {place.topic.pk for place in places if place.subtopic}
    filled = _keys(_filled(bank), split)
    bare = [place for place in places if not _is_in(place, filled)]
    taken = _keys(_taken(bank), split) if bare else set()
    free = tuple(place for place in bare if place.topic.text and not _is_in(place, taken))
    return Lacking(free, len(bare), len(places), bool(split))


def _is_in(place: DraftPlace, keys: set[tuple[int, str]]) -> bool:
    return place.key in keys or (place.topic.pk, "") in keys


def _filled(bank: Bank | None) -> Iterable[tuple[int, str]]:
    """Return topic and subtopic of the items."""
    items = Item.including_secret.active().filter(bank=bank).order_by()
    return items.values_list("topic_id", "facet_id").distinct()


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
    return bank.draft_jobs.exclude(state__in=Job.ENDED).select_related("bank__collection").first()


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
    kept = _kept_replies(job)
    chunks = [
        DraftChunk(topic=place.topic, facet_id=place.facet_id, size=1, replies=kept.get(place.key, {}))
        for place in places
    ]
    begin(job, chunks, limits)
    audit.record("drafting begun", bank, by=by, detail=f"{job}, {job.total} calls or more, {limits.text}")
    return job


def _kept_replies(job: DraftJob) -> dict[tuple[int, str], dict[str, list[str]]]:
    """Return the replies of jobs that asked the same and ended before they made drafts of them."""
    same = {f"job__{name}": getattr(job, name) for name in ("bank", "kind", "backend", "llm")}
    left = DraftChunk.objects.filter(**same).exclude(state=Chunk.State.DONE).exclude(replies={})
    rows = left.order_by("pk").values_list("topic_id", "facet_id", "replies")
    return {(topic, facet): replies for topic, facet, replies in rows}


def model_of(lease: Lease[DraftChunk], chunk: DraftChunk) -> KeptReplies:
    """Return the job's model within its limits, whose replies are kept. Raises CannotRun."""
    job = chunk.job
    writer = Writer(job.backend, job.llm)
    return KeptReplies(limited_writer(job, job.collection, writer, longest_reply=LONGEST_REPLY), lease, chunk)


def request_for(chunk: DraftChunk) -> DraftRequest:
    """Return the request of a chunk, which is not saved yet."""
    job = chunk.job
    request = DraftRequest(bank=job.bank, topic=chunk.topic, facet_id=chunk.facet_id, by=job.by)
    request.kind, request.backend, request.llm = job.kind, job.backend, job.llm
    return request


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
