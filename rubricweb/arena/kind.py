"""Answer a question of the arena as a kind of background work, an answer a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.text import Truncator

from grading.systems import Source
from grading.systems.pipeline import make
from grading.types import Topic
from rubricweb.arena import battles
from rubricweb.arena.models import Battle, FreshAnswer, Question
from rubricweb.core.reader import reader
from rubricweb.jobs.kinds import Need
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import AskingKind, need_of
from rubricweb.jobs.listing import Listing
from rubricweb.jobs.models import Job
from rubricweb.systems import retrieval
from rubricweb.systems.kind import model_of
from rubricweb.systems.models import made_as_json

LONGEST = 120


class FreshAnswers(AskingKind[FreshAnswer]):
    name = "fresh-answer"
    model = FreshAnswer
    related = ("job__collection", "job__topic")
    payload = ("replies", "result")
    activity = "question's answering"
    is_awaited = True

    def ask(self, lease: Lease[FreshAnswer], chunk: FreshAnswer) -> dict[str, Any]:
        """Make one of the answers, from candidates that came along or retrieved ones."""
        spec, collection = chunk.made_by, chunk.job.collection
        topic = Topic(chunk.job.query_id or f"question-{chunk.job_id}", chunk.job.text)
        if "candidates" not in chunk.request:
            ranking = retrieval.candidates(collection, spec, topic, chunk.job.topic)
            sources_of = partial(retrieval.sources_of, collection, corpus=spec.corpus)
        else:
            given = retrieval.sources_sent(chunk.request["candidates"])
            ranking, sources_of = retrieval.unscored(topic.query_id, given), partial(_first, given)
        result = made_as_json(make(spec, topic, ranking, sources_of, model_of(spec, lease, chunk)))
        return {"result": result, "done": 1}

    def audited(self, job: Question) -> tuple[Model, str]:
        return job, ""

    def need(self, work: FreshAnswer) -> Need | None:
        spec = work.made_by
        return need_of(spec.backend, spec.llm) if spec.needs_model else None

    def label(self, work: FreshAnswer) -> str:
        return f"an answer to question {work.job_id} of the arena"

    def on_ended(self, work: FreshAnswer, *, error: str) -> None:
        super().on_ended(work, error=error)
        question: Question = self.job(work)
        if question.state == Job.State.DONE:
            battles.keep_digests(question)


def _first(given: list[Source], doc_ids: Sequence[str]) -> list[Source]:
    """Return as many of the sources as there are ids, which are theirs from the first on."""
    return given[: len(doc_ids)]


def _jobs(collection_id: int) -> QuerySet[Question]:
    rows = Question.objects.filter(collection=collection_id)
    return rows.select_related("collection", "battle", "by")


def _address(question: Question) -> str:
    """Return the address of the battle for the person who asked; empty for everybody else, or without one."""
    user = reader().user
    asks = user is not None and user == question.by
    battle = _battle(question)
    return battle.get_absolute_url() if asks and battle else ""


def _battle(question: Question) -> Battle | None:
    battle: Battle | None = getattr(question, "battle", None)
    return battle


LISTING = Listing(
    kind="questions",
    unit="answer",
    jobs=_jobs,
    name=lambda question: f"Answer question {question.pk}",
    does=lambda question: Truncator(question.text).chars(LONGEST),
    address=_address,
    opens="Battle",
    rate=lambda _: None,
    is_for_its_starter=True,
    shows_calls=lambda question: (battle := _battle(question)) is None or not battle.is_blind,
)
