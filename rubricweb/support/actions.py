"""Ask a model about citations, label one, take that back, and choose what people see first."""

from __future__ import annotations

from django.db import transaction

from grading.support.asking import PROMPT_ID
from grading.support.scores import JudgedCitations, Support
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection
from rubricweb.jobs import dispatch, limited
from rubricweb.support.cited import Citation
from rubricweb.support.labels import citation_of, missing
from rubricweb.support.models import (
    SupportChunk,
    SupportEvent,
    SupportJob,
    SupportJudge,
    SupportLabel,
    SupportSettings,
)


class NothingToAsk(Exception):
    """The judge has labelled every citation that has a text."""


def judge_for(collection: Collection, backend: str, llm: str) -> SupportJudge | None:
    """The judge that asks this model in today's words; None where it has never been asked."""
    return collection.support_judges.filter(backend=backend, llm=llm, prompt_id=PROMPT_ID).first()


@transaction.atomic
def start(
    collection: Collection,
    *,
    backend: str,
    llm: str,
    rule: JudgedCitations,
    most_calls: int,
    by: User | None,
) -> SupportJob:
    """Have workers ask the model what it has not labelled, a topic at a time. Raises NothingToAsk."""
    judge, _ = SupportJudge.objects.get_or_create(
        collection=collection, backend=backend, llm=llm, prompt_id=PROMPT_ID
    )
    by_topic: dict[int, int] = {}
    for citation in missing(collection, judge, rule):
        by_topic[citation.topic_id] = by_topic.get(citation.topic_id, 0) + 1
    if not by_topic:
        raise NothingToAsk
    total = sum(by_topic.values())
    job = SupportJob.objects.create(
        judge=judge, citations=rule, most_calls=max(1, most_calls), total=total, by=by
    )
    chunks = [
        SupportChunk(job=job, topic_id=topic_id, number=number, size=size)
        for number, (topic_id, size) in enumerate(by_topic.items())
    ]
    dispatch.enqueue(SupportChunk.objects.bulk_create(chunks))
    detail = f"{judge}: {total:,} citations"
    audit.record("support asked of a model", collection, by=by, detail=detail)
    events.publish_on_commit(collection.channel, "progress")
    return job


@transaction.atomic
def allow_calls(job: SupportJob, most_calls: int, *, by: User | None) -> SupportJob:
    """Let a job ask its model up to `most_calls` times in all; one that paused for that goes on."""
    collection = job.judge.collection
    audit.record("limit of calls changed", collection, by=by, detail=f"{job}: {most_calls:,} calls")
    return limited.allow_calls(job, most_calls)


@transaction.atomic
def label_citation(
    citation: Citation, *, label: Support, by: User, seen: SupportLabel | None = None
) -> SupportEvent:
    """`seen` is the model's label that the person had before their eyes; None from scratch."""
    return SupportEvent.objects.create(
        **citation._asdict(),
        by=by,
        label=label,
        seen_label=seen.label if seen else None,
        seen_judge=seen.judge if seen and seen.label is not None else None,
    )


@transaction.atomic
def take_back(collection: Collection, *, by: User) -> SupportEvent | None:
    """Withdraw the person's latest label that stands; None where none does."""
    stands: dict[Citation, SupportEvent] = {}
    for event in SupportEvent.objects.filter(topic__collection=collection, by=by).order_by("pk"):
        stands.pop(citation_of(event), None)
        if event.label is not None:
            stands[citation_of(event)] = event
    if not stands:
        return None
    last = next(reversed(stands))
    return SupportEvent.objects.create(**last._asdict(), by=by, label=None)


@transaction.atomic
def choose(
    collection: Collection, *, citations: JudgedCitations, shown_judge: SupportJudge | None, by: User
) -> SupportSettings:
    """Which citations people are asked about, and whose label they see first."""
    chosen, _ = SupportSettings.objects.update_or_create(
        collection=collection, defaults={"citations": citations, "shown_judge": shown_judge}
    )
    detail = f"citations: {citations}; label shown first: {shown_judge or 'none'}"
    audit.record("support settings changed", collection, by=by, detail=detail)
    return chosen
