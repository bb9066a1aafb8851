"""Asking a model about citations as a kind of background work: one topic at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.db.models.functions import Now
from django.utils.functional import lazy

from grading import support
from grading.graders.backend_options import Thinking
from grading.graders.replies import NoReply
from grading.prompts.chat import ChatPrompt, Messages
from grading.support import Support
from rubricweb.core import events
from rubricweb.corpus.writers import options_of_writer
from rubricweb.jobs import endings, limited
from rubricweb.jobs.chunked import ChunkKind
from rubricweb.jobs.kinds import Need, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import Job
from rubricweb.support import labels
from rubricweb.support.cited import Citation, statements_of, texts_of
from rubricweb.support.labels import citation_of
from rubricweb.support.models import SupportChunk, SupportJob, SupportLabel
from rubricweb.webhooks import outbox


class SupportLabels(ChunkKind[SupportChunk]):
    name = "support"
    collection = "job.judge.collection_id"
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

    def has_finished(self, job: SupportJob) -> None:
        collection = job.judge.collection
        outbox.job_ended(job, collection, kind="support", page=lazy(job.get_absolute_url, str)())

    def job_changed(self, job: SupportJob) -> None:
        events.publish(job.judge.collection.channel, "progress")


@dataclass(frozen=True, slots=True)
class CitationQuestion:
    """What the model is asked about one citation."""

    citation: Citation
    statement: str
    passage: str
    failed: SupportLabel | None
    """Its label, where the model was asked before and named none."""

    def messages(self, prompt: ChatPrompt) -> Messages:
        if self.failed is None or self.failed.problem:
            return support.question(self.statement, self.passage, prompt)
        return support.question_again(self.statement, self.passage, prompt, self.failed.reply)


def _label(lease: Lease[SupportChunk], chunk: SupportChunk) -> None:
    prompt, asked = support.support_prompt(chunk.job.judge.prompt_id), _questions(chunk)
    if not asked:
        return
    llm, failed = _model(chunk.job), chunk.failed
    for number, one in enumerate(asked, start=1):
        label, reply, problem = _answer(llm, one, prompt)
        _keep(chunk.job, one, label, reply, problem)
        failed += label is None
        done = max(0, chunk.size - len(asked) + number)
        if not lease.held().update(done=done, failed=failed):
            raise LeaseLost
    chunk.failed = failed


def _answer(
    llm: limited.LimitedModel, one: CitationQuestion, prompt: ChatPrompt
) -> tuple[Support | None, str, str]:
    """Label, reply, and why there is none. Raises what `LimitedModel` does where no call would succeed."""
    try:
        reply = llm.complete(one.messages(prompt))
    except NoReply as error:
        if not error.is_of_prompt:
            raise
        return None, error.raw, str(error)
    return support.label_of(reply, prompt), reply, ""


def _keep(job: SupportJob, one: CitationQuestion, label: Support | None, reply: str, problem: str) -> None:
    """Kept even if the lease is lost: it was paid for."""
    kept = {"job": job, "label": label, "reply": reply, "problem": problem}
    if one.failed:
        SupportLabel.objects.filter(pk=one.failed.pk, label=None).update(**kept, at=Now())
        return
    row = SupportLabel(judge=job.judge, **kept, **one.citation._asdict())
    SupportLabel.objects.bulk_create([row], ignore_conflicts=True)


def _questions(chunk: SupportChunk) -> list[CitationQuestion]:
    """What the job has not asked yet in its topic."""
    collection, topic, job = chunk.job.judge.collection, chunk.topic, chunk.job
    again: dict[Citation, SupportLabel] = {}
    if job.is_retry:
        rows = job.judge.labels.filter(topic=topic, label=None).exclude(job=job)
        again = {citation_of(row): row for row in rows}
        left = [one for one in labels.failed(collection, job.judge) if one in again]
    else:
        left = [one for one in labels.missing(collection, job.judge, job.rule) if one.topic_id == topic.pk]
    said = statements_of(topic)
    texts = texts_of(topic, (one.doc_id for one in left))
    return [
        CitationQuestion(one, said[one.sentence_md5].text, texts[one.doc_id], again.get(one)) for one in left
    ]


def _model(job: SupportJob) -> limited.LimitedModel:
    """Raises CannotRun."""
    judge = job.judge
    options = options_of_writer(judge.collection, judge.backend, judge.llm)
    return limited.limited_model(
        job,
        backend=judge.backend,
        llm=judge.llm,
        longest_reply=max(job.longest_reply, int(options.get("max_new_tokens", 0))),
        thinking=Thinking.of(options),
    )
