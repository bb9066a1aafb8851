"""What the pages of a run that was made here show: progress, and each topic's steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from grading.systems import key_facts
from grading.systems.base import CitedSentence, Step
from grading.systems.pipeline import Made
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.jobs.models import Chunk
from rubricweb.jobs.progress import Progress, progress_of
from rubricweb.systems import models
from rubricweb.systems.models import SystemChunk, SystemJob

SHOWN_RANKS = 20
"""Ranks shown besides those from which the answer was made."""


@dataclass(frozen=True, slots=True)
class JobRow:
    job: SystemJob
    progress: Progress


@dataclass(frozen=True, slots=True)
class TopicRow:
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
        """The 1-based place of the source."""
        return self.source + 1


@dataclass(slots=True)
class FactRow:
    """A key fact: which source gave it, and where it was looked for."""

    text: str
    source: int
    checks: list[Check] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The 1-based place of the source."""
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


def job_rows(collection: Collection) -> list[JobRow]:
    """Return every run that was made here or is, latest first."""
    jobs = list(collection.system_jobs.select_related("run", "collection", "by"))
    return list(map(JobRow, jobs, progress_of(jobs, lambda _: None)))


def topic_rows(job: SystemJob) -> list[TopicRow]:
    chunks = job.chunks.select_related("topic").order_by("topic__position")
    return [_topic_row(chunk) for chunk in chunks]


def topic_steps(chunk: SystemChunk) -> TopicSteps | None:
    """Return the steps of the topic, or None until it is done."""
    if chunk.result is None:
        return None
    return steps_of(chunk.job.collection, chunk.result)


def steps_of(collection: Collection, result: models.Json) -> TopicSteps:
    """Return all that led to one answer or ranking, from what a chunk keeps of it."""
    made = models.made_from_json(result, "", "")
    answer = made.answer
    sources = tuple(source.passage_id for source in answer.sources) if answer else ()
    ranks = {doc_id: rank for rank, doc_id in enumerate(made.ranking.doc_ids, 1)}
    sentences = tuple(_cited(sentence, sources, ranks) for sentence in answer.sentences) if answer else ()
    ranking = _ranked(collection, made, sources)
    return TopicSteps(made, ranking, sentences, tuple(facts_of(made.steps)), sources)


def facts_of(steps: Iterable[Step]) -> list[FactRow]:
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


def _topic_row(chunk: SystemChunk) -> TopicRow:
    result = chunk.result or {}
    sentences = result.get("sentences")
    cited = {place for _, places in sentences or () for place in places}
    calls = sum(len(replies) for replies in chunk.replies.values())
    state = "running" if chunk.state == Chunk.State.LEASED else str(chunk.state)
    ranked = len(result.get("doc_ids", ()))
    n_sentences = None if sentences is None else len(sentences)
    n_cited = None if sentences is None else len(cited)
    return TopicRow(chunk.topic, state, ranked, n_sentences, n_cited, calls)


def _cited(sentence: CitedSentence, sources: Sequence[str], ranks: Mapping[str, int]) -> AnswerSentence:
    cited = [(place + 1, sources[place]) for place in sentence.citations if place < len(sources)]
    return AnswerSentence(sentence.text, tuple((number, pk, ranks.get(pk, 1)) for number, pk in cited))


def _ranked(collection: Collection, made: Made, sources: Sequence[str]) -> tuple[RankedSource, ...]:
    ranked = made.ranking.doc_ids[: max(SHOWN_RANKS, len(sources))]
    texts = {doc_id: (text, title) for doc_id, text, title in _texts(collection, ranked)}
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


def _texts(collection: Collection, doc_ids: Sequence[str]) -> QuerySet[Passage, tuple[str, str, str]]:
    return collection.passages.filter(doc_id__in=doc_ids).values_list("doc_id", "text", "title")
