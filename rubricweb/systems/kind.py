"""Making a run as a kind of background work: one topic at a time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.db.models import F, Q

from grading.generation import TextModel
from grading.generation.models import text_model
from grading.systems.pipeline import SystemSpec, make
from rubricweb.core import events
from rubricweb.core.servers import model_server
from rubricweb.corpus import convert
from rubricweb.jobs import endings, limited, steering, worker_state
from rubricweb.jobs.chunked import ChunkKind
from rubricweb.jobs.kinds import Need, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import Job
from rubricweb.systems import price, retrieval, specs, writing
from rubricweb.systems.models import SystemChunk, SystemJob


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
        return limited.need_of(spec.backend, spec.llm)

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
    """A model whose replies are kept as they come, and which is asked no more than the job allows.

    Before each call the job's money is reduced by what it costs at most, and after it by what it cost: the
    limit holds also where several workers ask at once.
    """

    def __init__(self, llm: TextModel, lease: Lease[SystemChunk], chunk: SystemChunk) -> None:
        self._llm, self._lease, self._chunk, self._spec = llm, lease, chunk, chunk.job.system
        self._left = {digest: list(replies) for digest, replies in chunk.replies.items()}

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Raises Stopping where the job was paused, cancelled, or has asked as often as it may."""
        digest = hashlib.sha256(repr(list(messages)).encode()).hexdigest()
        if self._left.get(digest):
            return str(self._left[digest].pop(0))
        read = price.tokens_of([text for _, text in messages])
        reserved = self._cost(read, self._spec.longest_reply)
        self._may_ask(reserved)
        try:
            reply = self._llm.complete(messages)
        except BaseException:
            self._spend(0, -reserved)
            raise
        written = price.tokens_of([reply])
        self._spend(round(read + written), self._cost(read, written) - reserved)
        self._chunk.replies.setdefault(digest, []).append(reply)
        if not self._lease.held().update(replies=self._chunk.replies):
            raise LeaseLost
        return reply

    def _cost(self, read: float, written: float) -> float:
        return price.cost(self._spec, read, written) or 0.0

    def _may_ask(self, dollars: float) -> None:
        if worker_state.now.is_stopping:
            raise Stopping
        affordable = Q(most_dollars=None) | Q(most_dollars__gte=F("dollars") + dollars)
        job = SystemJob.objects.filter(affordable, pk=self._chunk.job_id, state__in=Job.WORKED_ON)
        may = job.filter(calls__lt=F("most_calls"))
        if not may.update(calls=F("calls") + 1, dollars=F("dollars") + dollars):
            _pause_if_spent(self._chunk.job, dollars)
            raise Stopping

    def _spend(self, tokens: int, dollars: float) -> None:
        job = SystemJob.objects.filter(pk=self._chunk.job_id)
        job.update(tokens=F("tokens") + tokens, dollars=F("dollars") + dollars)


@transaction.atomic
def _pause_if_spent(job: SystemJob, dollars: float) -> None:
    locked = steering.lock(job)
    if locked.state not in Job.WORKED_ON:
        return
    if locked.calls >= locked.most_calls:
        times = "once" if locked.calls == 1 else f"{locked.calls:,} times"
        steering.pause_locked(locked, reason=f"It has asked the model {times}, as often as it may.")
    elif locked.most_dollars is not None and locked.dollars + dollars > locked.most_dollars:
        spent = f"It has spent about ${locked.dollars:,.2f} of ${locked.most_dollars:,.2f}"
        steering.pause_locked(locked, reason=f"{spent}, and the next call could cost more than is left.")


def _model(spec: SystemSpec) -> TextModel:
    """Raises CannotRun."""
    load = partial(text_model, spec.backend, spec.llm, model_server(), longest_reply=spec.longest_reply)
    return limited.loaded(spec.llm, load)
