"""How a run was made here, live and step by step; organizers steer it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.systems import CitedSentence, SystemStep, key_facts
from grading.systems.pipeline import Made
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.http import HtmxRequest, page_or_part, parse_id, part_or_redirect
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.limits import LimitsForm
from rubricweb.jobs.models import Chunk
from rubricweb.systems import actions, models
from rubricweb.systems.make import MAKE, page

STEPS_A_PAGE = 20
SHOWN_RANKS = 20
"""Ranks shown besides those from which the answer was made."""


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """How far one topic is."""

    topic: Topic
    state: str
    passages: int
    """Ranked ones."""
    sentences: int | None
    """None for a run that only ranks."""
    cited: int | None
    """Number of cited sources; None for a run that only ranks."""
    calls: int


@dataclass(frozen=True, slots=True)
class RankedSource:
    """A passage as the system had it."""

    rank: int
    doc_id: str
    score: float
    before: int | None
    """Its rank before it was reranked; None where nothing was."""
    text: str
    """Empty where the collection has no text of it."""
    title: str
    is_source: bool
    """The answer was made from it."""


@dataclass(slots=True)
class Check:
    """Whether one source has a fact, as the model said."""

    source: int
    sentence: str | None
    """That it quoted for it; None where it found none."""
    is_confirmed: bool = False

    @property
    def number(self) -> int:
        """Return the 1-based place of the source."""
        return self.source + 1


@dataclass(slots=True)
class FactRow:
    """A key fact: which source gave it, and where it was looked for."""

    text: str
    source: int
    checks: list[Check] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Return the 1-based place of the source."""
        return self.source + 1


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    text: str
    citations: tuple[tuple[int, str, int], ...]
    """(Number of the source from 1, id of the passage, its rank)."""


@dataclass(frozen=True, slots=True)
class TopicSteps:
    """Everything that is kept of one topic."""

    made: Made
    ranking: tuple[RankedSource, ...]
    sentences: tuple[AnswerSentence, ...]
    facts: tuple[FactRow, ...]
    sources: tuple[str, ...]
    """Ids of the passages that the answer was made from."""


def topic_rows(job: models.SystemJob) -> list[TopicProgress]:
    chunks = job.chunks.select_related("topic").order_by("topic__position")
    return [_topic_row(chunk) for chunk in chunks]


def steps_of(collection: Collection, result: models.Json) -> TopicSteps:
    """Return all that led to one answer or ranking, from what a chunk keeps of it."""
    made = models.made_from_json(result, "", "")
    answer = made.answer
    sources = tuple(source.passage_id for source in answer.sources) if answer else ()
    ranks = {doc_id: rank for rank, doc_id in enumerate(made.ranking.doc_ids, 1)}
    sentences = tuple(_cited(sentence, sources, ranks) for sentence in answer.sentences) if answer else ()
    ranking = _ranked(collection, made, sources)
    return TopicSteps(made, ranking, sentences, tuple(facts_of(made.steps)), sources)


def facts_of(steps: Iterable[SystemStep]) -> list[FactRow]:
    """Return the key facts of RIFER's steps, in the order in which they were found."""
    facts: dict[str, FactRow] = {}
    for step in steps:
        if step.stage == "extract" and step.source is not None:
            for line in key_facts.fact_lines(step.reply):
                facts.setdefault(line, FactRow(line, step.source))
        elif step.fact in facts and step.source is not None:
            checks = facts[step.fact].checks
            if step.stage == "verify":
                checks.append(Check(step.source, key_facts.found_sentence(step.reply)))
            elif step.stage == "confirm" and checks:
                checks[-1].is_confirmed = key_facts.says_yes(step.reply)
    return list(facts.values())


def _topic_row(chunk: models.SystemChunk) -> TopicProgress:
    result = chunk.result or {}
    sentences = result.get("sentences")
    cited = {place for _, places in sentences or () for place in places}
    calls = sum(len(replies) for replies in chunk.replies.values())
    state = "running" if chunk.state == Chunk.State.LEASED else str(chunk.state)
    ranked = len(result.get("doc_ids", ()))
    n_sentences = None if sentences is None else len(sentences)
    n_cited = None if sentences is None else len(cited)
    return TopicProgress(chunk.topic, state, ranked, n_sentences, n_cited, calls)


def _cited(sentence: CitedSentence, sources: Sequence[str], ranks: Mapping[str, int]) -> AnswerSentence:
    cited = [(place + 1, sources[place]) for place in sentence.citations if place < len(sources)]
    return AnswerSentence(sentence.text, tuple((number, pk, ranks.get(pk, 1)) for number, pk in cited))


def _ranked(collection: Collection, made: Made, sources: Sequence[str]) -> tuple[RankedSource, ...]:
    ranked = made.ranking.doc_ids[: max(SHOWN_RANKS, len(sources))]
    texts = {
        doc_id: (text, title)
        for doc_id, text, title in collection.passages.filter(doc_id__in=ranked).values_list(
            "doc_id", "text", "title"
        )
    }
    before = {doc_id: rank for rank, doc_id in enumerate(made.retrieved, 1)}
    return tuple(
        RankedSource(
            rank,
            doc_id,
            made.ranking.scores[rank - 1],
            before.get(doc_id),
            *texts.get(doc_id, ("", "")),
            is_source=doc_id in sources,
        )
        for rank, doc_id in enumerate(ranked, 1)
    )


def job_for(
    user: User, slug: str, run_id: int, *, needed: roles.Role = roles.TO_SEE_RUNS
) -> models.SystemJob:
    """Return how the run was made; 404 for a run that came from elsewhere."""
    collection = collection_for(user, slug, needed=needed)
    jobs = collection.system_jobs.select_related("collection", "run", "by")
    job: models.SystemJob = get_object_or_404(jobs, run=run_id)
    return job


@require_safe
def made(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Show the runs made here, with the progress, provenance and topics of one open below its row; live.

    Below the row of the topic in the address: its answer, facts, passages, and each call of the model.
    """
    job = job_for(request.user, slug, run_id)
    context = _context(request, job)
    if opened := parse_id(request.GET.get("topic", "")):
        chunk = get_object_or_404(job.chunks.select_related("topic"), topic=opened)
        chunk.job = job
        steps = steps_of(chunk.job.collection, chunk.result) if chunk.result is not None else None
        context |= {"opened_topic": opened, "steps": steps}
        if steps:
            context["page"] = Paginator(steps.made.steps, STEPS_A_PAGE).get_page(request.GET.get("page"))
    return page_or_part(request, MAKE, context, part="job")


@require_POST
def make_rest(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Make the topics that the job has left."""
    job = job_for(request.user, slug, run_id, needed=roles.TO_ORGANIZE)
    job = actions.make_rest(job, by=request.user)
    messages.info(request, f"{job.run} continues with the remaining topics.")
    to = reverse("systems:made", args=[slug, run_id])
    return part_or_redirect(request, f"{MAKE}#job", _context(request, job), to=to)


def _context(request: HtmxRequest, job: models.SystemJob) -> dict[str, Any]:
    may_organize = roles.holds(request.user, job.collection, roles.TO_ORGANIZE)
    has_limits = may_organize and job.system.needs_model and not job.has_ended
    expected = actions.price(job.collection, job.system, job.total).of_model
    context = page(job.collection, may_organize=may_organize)
    return context | {
        "row": next(row for row in context["rows"] if row.job == job),
        "opened": job.run,
        "system": job.system,
        "topics": topic_rows(job),
        "form": LimitsForm.of_job(job, expected) if has_limits else None,
    }
