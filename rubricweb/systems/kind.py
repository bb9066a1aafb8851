"""Making a run as a kind of background work: one topic at a time."""

from __future__ import annotations

import time
from functools import partial

from django.urls import reverse_lazy

from grading.systems.pipeline import make
from rubricweb.core import events
from rubricweb.corpus import convert
from rubricweb.jobs import endings, limited
from rubricweb.jobs.chunked import ChunkKind
from rubricweb.jobs.kinds import Need, Stopping
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.models import Job
from rubricweb.systems import retrieval, specs, writing
from rubricweb.systems.models import SystemChunk, SystemJob
from rubricweb.systems.replies import model_of
from rubricweb.webhooks import outbox


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
            partial(retrieval.sources_of, collection, corpus=spec.corpus),
            model_of(spec, lease, chunk),
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

    def has_finished(self, job: SystemJob) -> None:
        page = reverse_lazy("systems:made", args=[job.collection.slug, job.run_id])
        outbox.job_ended(job, job.collection, kind="run", page=page)

    def job_changed(self, job: SystemJob) -> None:
        events.publish(job.collection.channel, "progress")
