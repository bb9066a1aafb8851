"""Dry runs: asked for in the web process, made by a worker, kept for a day."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial

import redis
from django.db import transaction
from django.utils import timezone

from grading import prompts, types
from grading.graders import GraderSpec, registry
from grading.prompts import Prompt
from grading.types import Outcome
from rubricweb.accounts.models import User
from rubricweb.core import audit, events, queue
from rubricweb.corpus.models import Collection
from rubricweb.grades.prompting.models import PromptTrial
from rubricweb.grades.prompting.samples import Sample, pairs_of, sample_of, spec_of_trial

logger = logging.getLogger(__name__)

ENTRY_POINT = "rubricweb.grades.prompting.jobs.try_prompt"
QUEUE = "high"
"""Somebody waits for it."""
KEPT_FOR = timedelta(days=1)

State = PromptTrial.State


@dataclass(frozen=True, slots=True)
class Said:
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
    def of(cls, result: types.Grade | types.GradeFailure) -> Said:
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
def start_trial(
    collection: Collection, prompt: Prompt, sample: Sample, *, backend: str, llm: str, by: User | None
) -> PromptTrial:
    """Have a worker ask about the passages of `sample`; without an `llm`, the back-end's default one."""
    collection.trials.filter(at__lt=timezone.now() - KEPT_FOR).delete()
    trial = PromptTrial.objects.create(
        collection=collection,
        prompt_class=prompt.prompt_class,
        definition=prompts.as_options(prompt),
        backend=backend,
        llm=llm or registry.BACKENDS[backend].default_llm,
        topic=sample.topic,
        revision=sample.revision,
        doc_ids=list(sample.doc_ids),
        by=by,
    )
    audit.record("prompt tried", trial, by=by, detail=f"{prompt.prompt_id} with {trial.llm}")
    transaction.on_commit(partial(_enqueue, trial.pk))
    return trial


def claim(trial_id: int) -> PromptTrial | None:
    """The dry run, now this worker's; None where another has it, or where it is gone."""
    if not PromptTrial.objects.filter(pk=trial_id, state=State.QUEUED).update(state=State.RUNNING):
        return None
    trial = PromptTrial.objects.select_related("collection", "topic", "revision").get(pk=trial_id)
    _announce(trial)
    return trial


def keep(trial: PromptTrial, results: Iterable[Said]) -> None:
    _end(trial, State.DONE, results=[asdict(said) for said in results])


def fail(trial: PromptTrial, *, error: str) -> None:
    _end(trial, State.FAILED, error=error)


def sample_of_trial(trial: PromptTrial) -> Sample | None:
    """What was chosen, with what else could have been."""
    said = {f"passage_{place}": doc_id for place, doc_id in enumerate(trial.doc_ids, start=1)}
    said |= {"topic": str(trial.topic_id), "item": str(trial.revision_id or "")}
    return sample_of(trial.collection, trial.prompt.kinds, said)


def spec_of(trial: PromptTrial) -> GraderSpec:
    return spec_of_trial(trial.collection, trial.prompt, trial.backend, trial.llm)


def pairs(trial: PromptTrial) -> list[types.Pair]:
    sample = sample_of_trial(trial)
    return pairs_of(sample, trial.prompt, spec_of(trial)) if sample else []


def results(trial: PromptTrial) -> list[Said]:
    return [Said(**said) for said in trial.results]


def _end(trial: PromptTrial, state: State, **fields: object) -> None:
    running = PromptTrial.objects.filter(pk=trial.pk, state=State.RUNNING)
    if running.update(state=state, ended_at=timezone.now(), **fields):
        _announce(trial)


def _announce(trial: PromptTrial) -> None:
    events.publish(trial.collection.channel, "progress")


def _enqueue(trial_id: int) -> None:
    try:
        queue.enqueue_many_now(ENTRY_POINT, [(f"trial-{trial_id}", (trial_id,))], queue_name=QUEUE)
    except redis.RedisError as error:
        logger.warning("dry run %s was not enqueued: %s", trial_id, error)
