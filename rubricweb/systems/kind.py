"""Making a run as a kind of background work: one topic at a time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.db.models import F

from grading.errors import GraderUnavailable, UnknownGrader
from grading.generation import TextModel
from grading.generation.models import text_model
from grading.graders import registry
from grading.systems.pipeline import SystemSpec, make
from rubricweb.core import events
from rubricweb.core.servers import model_server
from rubricweb.corpus import convert
from rubricweb.jobs import endings, steering, worker_state
from rubricweb.jobs.chunked import ChunkKind
from rubricweb.jobs.kinds import CannotRun, Need, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import Job
from rubricweb.systems import retrieval, specs, writing
from rubricweb.systems.models import SystemChunk, SystemJob

CANNOT_RUN = (GraderUnavailable, UnknownGrader)


class Systems(ChunkKind[SystemChunk]):
    name = "system"
    model = SystemChunk
    related = ("job__collection", "job__run", "topic")
    job_related = ("collection", "run")
    payload = ("replies", "result")

    def run(self, lease: Lease[SystemChunk]) -> None:
        """Make the topic's ranking and answer. Raises what `Kind.run` does, and what models raise."""
        began = time.monotonic()
        chunk = self.model.objects.select_related(*self.related).get(pk=lease.work.pk)
        if chunk.job.state not in Job.WORKED_ON:
            raise Stopping
        spec, collection = chunk.job.system, chunk.job.collection
        made = make(
            spec,
            convert.topic(chunk.topic),
            retrieval.candidates(collection, spec, chunk.topic),
            partial(retrieval.sources_of, collection),
            PaidModel(_model(spec), lease, chunk) if spec.needs_model else None,
        )
        seconds = time.monotonic() - began
        endings.finish(lease, result=specs.made_as_json(made), done=1, seconds=seconds)
        events.publish_on_commit(collection.channel, "progress")

    def need(self, work: SystemChunk) -> Need | None:
        spec = work.job.system
        if not spec.needs_model:
            return None
        key = hashlib.sha256(f"{spec.backend}\0{spec.llm}".encode()).hexdigest()[:16]
        return Need(f"writer-{key}", f"{spec.llm} as a writer", *registry.requirement(spec.backend))

    def words(self, work: SystemChunk) -> str:
        return f"run {work.job.run.run_tag}, topic {work.topic.query_id}"

    def has_ended(self, work: SystemChunk, *, error: str) -> None:
        super().has_ended(work, error=error)
        job: SystemJob = self.job(work)
        if job.state == Job.State.DONE:
            writing.write_run(job)

    def job_changed(self, job: SystemJob) -> None:
        events.publish(job.collection.channel, "progress")


class PaidModel:
    """A model whose replies are kept as they come, and which is asked no more often than the job allows."""

    def __init__(self, llm: TextModel, lease: Lease[SystemChunk], chunk: SystemChunk) -> None:
        self._llm, self._lease, self._chunk = llm, lease, chunk
        self._left = {digest: list(replies) for digest, replies in chunk.replies.items()}

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Raises Stopping where the job was paused, cancelled, or has asked as often as it may."""
        digest = hashlib.sha256(repr(list(messages)).encode()).hexdigest()
        if self._left.get(digest):
            return str(self._left[digest].pop(0))
        self._may_ask()
        reply = self._llm.complete(messages)
        self._chunk.replies.setdefault(digest, []).append(reply)
        if not self._lease.held().update(replies=self._chunk.replies):
            raise LeaseLost
        return reply

    def _may_ask(self) -> None:
        if worker_state.now.is_stopping:
            raise Stopping
        job = SystemJob.objects.filter(pk=self._chunk.job_id, state__in=Job.WORKED_ON)
        if not job.filter(calls__lt=F("most_calls")).update(calls=F("calls") + 1):
            _pause_if_spent(self._chunk.job)
            raise Stopping


@transaction.atomic
def _pause_if_spent(job: SystemJob) -> None:
    locked = steering.lock(job)
    if locked.state in Job.WORKED_ON and locked.calls >= locked.most_calls:
        reason = f"It has asked the model {locked.calls:,} times, as often as it may."
        steering.pause_locked(locked, reason=reason)


def _model(spec: SystemSpec) -> TextModel:
    """Raises CannotRun."""
    with worker_state.now.load(spec.llm):
        try:
            return text_model(spec.backend, spec.llm, model_server())
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error
