"""Answer a question of the arena as a kind of background work, an answer a chunk."""

from __future__ import annotations

import time
from functools import partial

from django.db.models import QuerySet
from django.utils.text import Truncator

from grading.systems.pipeline import make
from grading.types import Ranking, Topic
from rubricweb.arena import battles
from rubricweb.arena.models import FreshAnswer, Question
from rubricweb.core import events
from rubricweb.core.reader import reader
from rubricweb.jobs import leases, steering
from rubricweb.jobs.kinds import ChunkKind, Need, Stopping
from rubricweb.jobs.listing import Listing
from rubricweb.jobs.models import Job
from rubricweb.systems import retrieval
from rubricweb.systems.kind import model_of
from rubricweb.systems.models import made_as_json

LONGEST = 120


class FreshAnswers(ChunkKind[FreshAnswer]):
    name = "fresh-answer"
    model = FreshAnswer
    related = ("job__collection", "job__topic")
    job_related = ("collection",)
    payload = ("replies", "result")
    activity = "question's answering"

    def run(self, lease: leases.Lease[FreshAnswer]) -> None:
        """Make one of the two answers. Raises what `Kind.run` does, and what models raise."""
        began = time.monotonic()
        chunk = self.model.objects.select_related(*self.related).get(pk=lease.work.pk)
        if chunk.job.state not in Job.WORKED_ON:
            raise Stopping
        spec, collection = chunk.made_by, chunk.job.collection
        topic = Topic(chunk.job.query_id or f"question-{chunk.job_id}", chunk.job.text)
        ranking = Ranking("", topic.query_id, (), ())
        if spec.retrieves:
            ranking = retrieval.index_of(collection).search(topic, depth=spec.depth)
        sources_of = partial(retrieval.sources_of, collection)
        result = made_as_json(make(spec, topic, ranking, sources_of, model_of(spec, lease, chunk)))
        leases.finish(lease, result=result, done=1, seconds=time.monotonic() - began)
        events.publish_on_commit(chunk.job.collection.channel, "progress")

    def need(self, work: FreshAnswer) -> Need | None:
        spec = work.made_by
        return steering.need_of(spec.backend, spec.llm) if spec.needs_model else None

    def label(self, work: FreshAnswer) -> str:
        return f"an answer to question {work.job_id} of the arena"

    def on_ended(self, work: FreshAnswer, *, error: str) -> None:
        super().on_ended(work, error=error)
        question: Question = self.job(work)
        if question.state == Job.State.DONE:
            battles.keep_digests(question)

    def job_changed(self, job: Question) -> None:
        events.publish(job.collection.channel, "progress")


def _jobs(collection_id: int) -> QuerySet[Question]:
    rows = Question.objects.filter(collection=collection_id)
    return rows.select_related("collection", "battle", "by")


def _address(question: Question) -> str:
    """Return the address of the battle for the person who asked; empty for everybody else."""
    user = reader().user
    asks = user is not None and user == question.by
    return question.battle.get_absolute_url() if asks else ""


LISTING = Listing(
    kind="questions",
    units="answers",
    jobs=_jobs,
    name=lambda question: f"Answer question {question.pk}",
    does=lambda question: Truncator(question.text).chars(LONGEST),
    address=_address,
    opens="Battle",
    rate=lambda _: None,
    is_for_its_starter=True,
    shows_calls=lambda question: not question.battle.is_blind,
)
