"""Asking a model about citations as a kind of background work: one topic at a time."""

from __future__ import annotations

import time

from grading.generation.models import text_model
from grading.support import asking
from rubricweb.core import events
from rubricweb.core.servers import model_server
from rubricweb.jobs import endings, limited
from rubricweb.jobs.chunked import ChunkKind
from rubricweb.jobs.kinds import Need, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import Job
from rubricweb.support.cited import Citation, statements_of, texts_of
from rubricweb.support.labels import missing
from rubricweb.support.models import SupportChunk, SupportJob, SupportLabel


class SupportLabels(ChunkKind[SupportChunk]):
    name = "support"
    model = SupportChunk
    related = ("job__judge__collection", "topic__collection")
    job_related = ("judge__collection",)

    def run(self, lease: Lease[SupportChunk]) -> None:
        """Label what the judge has not labelled. Raises what `Kind.run` does, and what models raise."""
        began = time.monotonic()
        chunk = self.model.objects.select_related(*self.related).get(pk=lease.work.pk)
        if chunk.job.state not in Job.WORKED_ON:
            raise Stopping
        _label(lease, chunk)
        seconds = time.monotonic() - began
        endings.finish(lease, done=chunk.size, failed=chunk.failed, seconds=seconds)
        events.publish_on_commit(chunk.job.judge.collection.channel, "progress")

    def need(self, work: SupportChunk) -> Need:
        judge = work.job.judge
        return limited.need_of(judge.backend, judge.llm)

    def words(self, work: SupportChunk) -> str:
        return f"support, topic {work.topic.query_id}"

    def job_changed(self, job: SupportJob) -> None:
        events.publish(job.judge.collection.channel, "progress")


def _label(lease: Lease[SupportChunk], chunk: SupportChunk) -> None:
    judge = chunk.job.judge
    prompt, asked = asking.support_prompt(judge.prompt_id), _questions(chunk)
    if not asked:
        return
    llm = limited.loaded(judge.llm, lambda: text_model(judge.backend, judge.llm, model_server()))
    for number, (citation, statement, passage) in enumerate(asked, start=1):
        limited.count_call(chunk.job)
        reply = llm.complete(asking.question(statement, passage, prompt))
        label = asking.label_of(reply, prompt)
        # Kept even if the lease is lost: it was paid for.
        row = SupportLabel(judge=judge, label=label, reply=reply, **citation._asdict())
        SupportLabel.objects.bulk_create([row], ignore_conflicts=True)
        chunk.failed += label is None
        done = max(0, chunk.size - len(asked) + number)
        if not lease.held().update(done=done, failed=chunk.failed):
            raise LeaseLost


def _questions(chunk: SupportChunk) -> list[tuple[Citation, str, str]]:
    """(citation, statement, passage) of what has no label."""
    collection, topic = chunk.job.judge.collection, chunk.topic
    left = [one for one in missing(collection, chunk.job.judge, chunk.job.rule) if one.topic_id == topic.pk]
    said = statements_of(topic)
    texts = texts_of(topic, (one.doc_id for one in left))
    return [(one, said[one.sentence_md5].text, texts[one.doc_id]) for one in left]
