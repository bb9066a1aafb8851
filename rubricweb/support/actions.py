"""Ask a model about citations, label one, take that back, and choose what people see first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from grading.support import LONGEST_REPLY, PROMPT_ID, JudgedCitations, Support
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection
from rubricweb.jobs import queue
from rubricweb.jobs.steering import Limits
from rubricweb.support.labels import Citation, citation_of, failed, missing
from rubricweb.support.models import (
    SupportChunk,
    SupportEvent,
    SupportJob,
    SupportJudge,
    SupportLabel,
    SupportSettings,
)


class NothingToAsk(Exception):
    """The judge has labelled every citation that has a text, or none of its labels failed."""


def judge_for(collection: Collection, backend: str, llm: str) -> SupportJudge | None:
    """Return the judge that asks this model in today's words; None where it has never been asked."""
    return collection.support_judges.filter(backend=backend, llm=llm, prompt_id=PROMPT_ID).first()


@dataclass(frozen=True, slots=True)
class Asking:
    """Which model is asked, about what, and how."""

    backend: str
    llm: str
    rule: JudgedCitations
    longest_reply: int = LONGEST_REPLY
    """In tokens."""


@transaction.atomic
def start(collection: Collection, asking: Asking, *, limits: Limits, by: User | None) -> SupportJob:
    """Have workers ask the model what it has not labelled, a topic at a time. Raises NothingToAsk."""
    judge, _ = SupportJudge.objects.get_or_create(
        collection=collection, backend=asking.backend, llm=asking.llm, prompt_id=PROMPT_ID
    )
    job = SupportJob(judge=judge, citations=asking.rule, longest_reply=asking.longest_reply)
    return _started(job, missing(collection, judge, asking.rule), limits, by)


@transaction.atomic
def retry_failed(before: SupportJob, *, limits: Limits, by: User | None) -> SupportJob:
    """Ask the judge of `before` again wherever its reply named no label. Raises NothingToAsk."""
    judge = before.judge
    rows = {"citations": JudgedCitations.ALL, "longest_reply": before.longest_reply}
    job = SupportJob(judge=judge, is_retry=True, **rows)
    return _started(job, failed(judge.collection, judge), limits, by)


def _started(job: SupportJob, citations: list[Citation], limits: Limits, by: User | None) -> SupportJob:
    collection = job.judge.collection
    by_topic = Counter(citation.topic_id for citation in citations)
    if not by_topic:
        raise NothingToAsk
    job.most_calls, job.most_dollars = max(1, limits.calls), limits.dollars
    job.total, job.by = by_topic.total(), by
    job.save()
    chunks = [
        SupportChunk(job=job, topic_id=topic_id, number=number, size=size)
        for number, (topic_id, size) in enumerate(by_topic.items())
    ]
    queue.enqueue(SupportChunk.objects.bulk_create(chunks))
    audit.record("support asked of a model", collection, by=by, detail=f"{job}: {job.total:,} citations")
    events.publish_on_commit(collection.channel, "progress")
    return job


@transaction.atomic
def label_citation(
    citation: Citation, *, label: Support, by: User, seen: SupportLabel | None = None, uid: str = ""
) -> SupportEvent:
    """Save the label; `seen` is the model's label that the person was shown, None from scratch.

    A request that came before, as its `uid` says, changes nothing.
    """
    return _once(
        uid,
        by,
        **citation._asdict(),
        label=label,
        seen_label=seen.label if seen else None,
        seen_judge=seen.judge if seen and seen.label is not None else None,
    )


@transaction.atomic
def take_back(collection: Collection, *, by: User, uid: str = "") -> SupportEvent | None:
    """Withdraw the person's latest label that stands; None where none does."""
    if uid and (before := SupportEvent.objects.filter(by=by, uid=uid).first()):
        return before
    stands: dict[Citation, SupportEvent] = {}
    for event in SupportEvent.objects.filter(topic__collection=collection, by=by).order_by("pk"):
        stands.pop(citation_of(event), None)
        if event.label is not None:
            stands[citation_of(event)] = event
    if not stands:
        return None
    last = next(reversed(stands))
    return _once(uid, by, **last._asdict(), label=None)


def _once(uid: str, by: User, **fields: Any) -> SupportEvent:  # Any: columns of every type
    if not uid:
        return SupportEvent.objects.create(by=by, **fields)
    return SupportEvent.objects.get_or_create(by=by, uid=uid, defaults=fields)[0]


@transaction.atomic
def choose(
    collection: Collection,
    *,
    citations: JudgedCitations,
    sample: int | None,
    shown_judge: SupportJudge | None,
    by: User,
) -> SupportSettings:
    """Keep how many citations people are asked about, all without a `sample`, and whose label they see."""
    chosen, _ = SupportSettings.objects.update_or_create(
        collection=collection,
        defaults={"citations": citations, "sample": sample, "shown_judge": shown_judge},
    )
    detail = f"citations: {citations}, {sample or 'all'}; label shown first: {shown_judge or 'none'}"
    audit.record("support settings changed", collection, by=by, detail=detail)
    return chosen
