"""Making a run as a kind of background work: one topic at a time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import partial

from grading.generation import TextModel
from grading.generation.models import text_model
from grading.systems.pipeline import make
from rubricweb.core import events
from rubricweb.core.servers import model_server
from rubricweb.corpus import convert
from rubricweb.jobs import endings, limited
from rubricweb.jobs.chunked import ChunkKind
from rubricweb.jobs.kinds import Need, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import Job
from rubricweb.systems import retrieval, specs, writing
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
            KeptReplies(_model(chunk.job), lease, chunk) if spec.needs_model else None,
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


class KeptReplies:
    """A model whose replies are kept as they come, so that none is paid for twice."""

    def __init__(self, llm: TextModel, lease: Lease[SystemChunk], chunk: SystemChunk) -> None:
        self._llm, self._lease, self._chunk = llm, lease, chunk
        self._left = {digest: list(replies) for digest, replies in chunk.replies.items()}

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Raises what `LimitedModel` does, and LeaseLost."""
        digest = hashlib.sha256(repr(list(messages)).encode()).hexdigest()
        if self._left.get(digest):
            return str(self._left[digest].pop(0))
        reply = self._llm.complete(messages)
        self._chunk.replies.setdefault(digest, []).append(reply)
        if not self._lease.held().update(replies=self._chunk.replies):
            raise LeaseLost
        return reply


def _model(job: SystemJob) -> TextModel:
    """Raises CannotRun."""
    spec = job.system
    load = partial(text_model, spec.backend, spec.llm, model_server(), longest_reply=spec.longest_reply)
    llm = limited.loaded(spec.llm, load)
    return limited.LimitedModel(
        llm, job, backend=spec.backend, name=spec.llm, longest_reply=spec.longest_reply
    )
