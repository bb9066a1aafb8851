"""Dry runs: asked for in the web process, made by a worker, kept for a day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from grading import prompts, types
from grading.graders import GraderSpec, registry
from grading.prompts import Prompt
from grading.types import Outcome
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.jobs import dispatch, endings
from rubricweb.jobs.leases import Lease
from rubricweb.prompts.models import DryRun
from rubricweb.prompts.samples import Sample, blind_ids, pairs_of, sample_of, spec_of_dry_run

KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DryRunReply:
    """What came of one passage."""

    doc_id: str
    prompt: str
    reply: str
    rating: int | None
    outcome: str
    answer: str
    reason: str
    """Why it failed."""
    context_chars: int | None
    confidence: float | None

    @classmethod
    def of(cls, result: types.Grade | types.GradeFailure) -> DryRunReply:
        trace = result.trace
        prompt, reply, cut = (trace.prompt, trace.reply, trace.context_chars) if trace else ("", "", None)
        asked = (result.passage_id, prompt, reply)
        if isinstance(result, types.GradeFailure):
            return cls(*asked, None, Outcome.FAILED.value, "", result.reason, cut, confidence=None)
        return cls(
            *asked,
            rating=result.rating,
            outcome=result.outcome.value,
            answer=result.answer,
            reason="",
            context_chars=cut,
            confidence=result.confidence,
        )


@transaction.atomic
def start_dry_run(
    collection: Collection, prompt: Prompt, sample: Sample, *, backend: str, llm: str, by: User | None
) -> DryRun:
    """Have a worker ask about the passages of `sample`; without an `llm`, the back-end's default one."""
    collection.dry_runs.filter(at__lt=timezone.now() - KEPT_FOR).delete()
    dry_run: DryRun = DryRun.objects.create(
        collection=collection,
        prompt_class=prompt.prompt_class,
        definition=prompts.as_options(prompt) if prompts.is_own(prompt) else {},
        backend=backend,
        llm=llm or registry.BACKENDS[backend].default_llm,
        topic=sample.topic,
        revision=sample.revision,
        doc_ids=list(sample.doc_ids),
        by=by,
    )
    audit.record("prompt tried", dry_run, by=by, detail=f"{prompt.prompt_id} with {dry_run.llm}")
    dispatch.enqueue([dry_run])
    return dry_run


def keep(lease: Lease[DryRun], replies: Iterable[DryRunReply], seconds: float) -> None:
    """Save the replies in the order of the passages, and how long they took. Raises LeaseLost."""
    order = {doc_id: place for place, doc_id in enumerate(lease.work.doc_ids)}
    ordered = sorted(replies, key=lambda reply: order[reply.doc_id])
    endings.finish(lease, results=[asdict(reply) for reply in ordered], seconds=seconds)


def sample_of_dry_run(dry_run: DryRun) -> Sample | None:
    """What was chosen, with what else could have been."""
    said = {f"passage_{place}": doc_id for place, doc_id in enumerate(dry_run.doc_ids, start=1)}
    said |= {"topic": str(dry_run.topic_id), "item": str(dry_run.revision_id or "")}
    return sample_of(dry_run.collection, dry_run.prompt.kinds, said)


def spec_of(dry_run: DryRun) -> GraderSpec:
    return spec_of_dry_run(dry_run.collection, dry_run.prompt, dry_run.backend, dry_run.llm)


def pairs(dry_run: DryRun) -> list[types.CellToGrade]:
    sample = sample_of_dry_run(dry_run)
    return pairs_of(sample, dry_run.prompt, spec_of(dry_run)) if sample else []


def results(dry_run: DryRun) -> list[DryRunReply]:
    """What came of the passages, without those that whoever reads now is to rate blind."""
    hidden = blind_ids(dry_run.collection_id, dry_run.doc_ids)
    return [DryRunReply(**reply) for reply in dry_run.results if reply["doc_id"] not in hidden]
