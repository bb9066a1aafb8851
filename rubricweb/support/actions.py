"""Ask a model about citations, label one, take that back, and choose what people see first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from grading.support import (
    CLAIM_PROMPT_ID,
    LONGEST_REPLY,
    PROMPT_ID,
    STANCE_PROMPT_ID,
    JudgedCitations,
    Support,
)
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limits import Limits, begin
from rubricweb.support import labels, rationales
from rubricweb.support.labels import CitationKey, citation_of
from rubricweb.support.models import (
    SupportChunk,
    SupportEvent,
    SupportJob,
    SupportJudge,
    SupportLabel,
    SupportSettings,
)
from rubricweb.support.rationales import SampledRationales


class NothingToAsk(Exception):
    """The judge has labelled every citation or claim that has a text, or none of its labels failed."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Which model is asked, about what, and how."""

    backend: str
    llm: str
    rule: JudgedCitations
    longest_reply: int = LONGEST_REPLY
    """In tokens."""
    sampled: SampledRationales | None = None
    """The rationales that are checked, instead of citations."""
    may_contradict: bool = False
    """Whether the model may say of a citation that the passage contradicts the sentence."""

    @property
    def prompt_id(self) -> str:
        if self.sampled:
            return CLAIM_PROMPT_ID
        return STANCE_PROMPT_ID if self.may_contradict else PROMPT_ID


def judge_for(collection: Collection, asking: Asking) -> SupportJudge | None:
    """Return the judge that asks this model in these words; None where it has never been asked."""
    return collection.support_judges.filter(
        backend=asking.backend, llm=asking.llm, prompt_id=asking.prompt_id
    ).first()


def left_to_ask(collection: Collection, judge: SupportJudge | None, asking: Asking) -> list[CitationKey]:
    """Return what the judge has not labelled of what is asked about, by topic."""
    if asking.sampled:
        return rationales.unlabelled_claims(collection, judge, asking.sampled)
    return labels.missing(collection, judge, asking.rule)


def failed_of(job: SupportJob) -> list[CitationKey]:
    """Return what the job's judge gave a reply without a label to, of what jobs like this one ask about."""
    if sampled := sampled_of(job):
        return rationales.failed_claims(job.collection, job.judge, sampled)
    return labels.failed(job.collection, job.judge)


def unit_of(job: SupportJob) -> str:
    """Return what a unit of its work is called."""
    return "claim" if job.grader_id else "citation"


def sampled_of(job: SupportJob) -> SampledRationales | None:
    """Return the rationales that the job checks; None where it labels citations."""
    return SampledRationales(job.grader, job.sample) if job.grader else None


@transaction.atomic
def start(collection: Collection, asking: Asking, *, limits: Limits, by: User | None) -> SupportJob:
    """Have workers ask the model what it has not labelled, a topic at a time. Raises NothingToAsk."""
    judge, _ = SupportJudge.objects.get_or_create(
        collection=collection, backend=asking.backend, llm=asking.llm, prompt_id=asking.prompt_id
    )
    job = SupportJob(judge=judge, citations=asking.rule, longest_reply=asking.longest_reply)
    if asking.sampled:
        job.grader, job.sample = asking.sampled.grader, asking.sampled.size
    return _started(job, left_to_ask(collection, judge, asking), limits, by)


@transaction.atomic
def retry_failed(before: SupportJob, *, limits: Limits, by: User | None) -> SupportJob:
    """Ask the judge of `before` again wherever its reply named no label. Raises NothingToAsk."""
    judge = before.judge
    rows = {"citations": JudgedCitations.ALL, "longest_reply": before.longest_reply}
    job = SupportJob(judge=judge, is_retry=True, grader=before.grader, sample=before.sample, **rows)
    return _started(job, failed_of(before), limits, by)


def _started(job: SupportJob, citations: list[CitationKey], limits: Limits, by: User | None) -> SupportJob:
    collection = job.judge.collection
    by_topic = Counter(citation.topic_id for citation in citations)
    if not by_topic:
        raise NothingToAsk
    job.by = by
    chunks = [SupportChunk(topic_id=topic_id, size=size) for topic_id, size in by_topic.items()]
    begin(job, chunks, limits)
    audit.record(
        "support asked of a model", collection, by=by, detail=f"{job}: {counted(job.total, unit_of(job))}"
    )
    return job


@transaction.atomic
def label_citation(
    citation: CitationKey, *, label: Support, by: User, seen: SupportLabel | None = None, uid: str = ""
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
    stands: dict[CitationKey, SupportEvent] = {}
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
    contradicts: bool = False,
    by: User,
) -> SupportSettings:
    """Keep how many citations people are asked about, all without a `sample`, and whose label they see.

    With `contradicts` they may also say that the passage contradicts the sentence; what they said stands
    without it, too.
    """
    chosen, _ = SupportSettings.objects.update_or_create(
        collection=collection,
        defaults={
            "citations": citations,
            "sample": sample,
            "shown_judge": shown_judge,
            "contradicts": contradicts,
        },
    )
    detail = f"citations: {citations}, {sample or 'all'}; label shown first: {shown_judge or 'none'}"
    detail += "; with contradicts" if contradicts else ""
    audit.record("support settings changed", collection, by=by, detail=detail)
    return chosen
