"""Ask a model about citations as a kind of background work, one topic at a time, and price it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Avg
from django.db.models.functions import Length, Now
from django.utils.functional import lazy

from grading import support
from grading.graders.replies import NoReply
from grading.prompts.chat import ChatPrompt, Messages
from grading.support import Support, support_prompt
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import Writer, limited_writer
from rubricweb.jobs.kinds import Need
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.limits import (
    CHARS_A_TOKEN,
    AskingKind,
    ExpectedCost,
    LimitedModel,
    need_of,
    price_of_calls,
)
from rubricweb.jobs.listing import Listing
from rubricweb.jobs.progress import Price, rate_of, seconds_for
from rubricweb.support.actions import Asking, failed_of, judge_for, left_to_ask, sampled_of, unit_of
from rubricweb.support.labels import CitationKey, citation_of, statements_of, texts_of
from rubricweb.support.models import SupportChunk, SupportJob, SupportLabel
from rubricweb.support.rationales import texts_of_claims
from rubricweb.webhooks import actions as webhooks

SENTENCE_CHARS = 150
"""Characters of an answer's sentence, about as in TREC RAG."""

LABEL_TOKENS = 6
"""Tokens of a usual reply."""


def price(collection: Collection, asking: Asking) -> Price:
    """Return the price of what this model has not labelled."""
    return _price(collection, asking, len(left_to_ask(collection, judge_for(collection, asking), asking)))


def price_of_retry(job: SupportJob) -> Price:
    """Return the price of asking the judge again wherever its reply named no label."""
    return _price(job.collection, asking_of(job), len(failed_of(job)))


def price_of_job(job: SupportJob) -> Price:
    """Return the price of the whole job, whatever is done."""
    return _price(job.judge.collection, asking_of(job), job.total)


def asking_of(job: SupportJob) -> Asking:
    """Return the model, what it is asked about and the limits that the job was started with."""
    judge, may_contradict = job.judge, support.knows_contradiction(job.judge.prompt_id)
    return Asking(judge.backend, judge.llm, job.rule, job.longest_reply, sampled_of(job), may_contradict)


def _price(collection: Collection, asking: Asking, calls: int) -> Price:
    """Return a call a citation or claim, which reads the prompt, a sentence, and an average passage."""
    passage = collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0
    each = len(support_prompt(asking.prompt_id).template) + SENTENCE_CHARS + passage
    read, written = calls * each / CHARS_A_TOKEN, calls * LABEL_TOKENS
    rate = rate_of(
        SupportChunk.objects.filter(job__judge__backend=asking.backend, job__judge__llm=asking.llm)
    )
    seconds = seconds_for(calls, rate)
    return price_of_calls(
        asking.backend, asking.llm, calls=calls, read=read, written=written, seconds=seconds
    )


def measured_rate(job: SupportJob) -> float | None:
    """Return the citations a second of one worker in the judge's latest chunks; None if it never labelled."""
    return rate_of(SupportChunk.objects.filter(job__judge=job.judge_id))


class SupportLabels(AskingKind[SupportChunk]):
    name = "support"
    collection = "job.judge.collection_id"
    model = SupportChunk
    related = ("job__judge__collection", "job__grader", "topic__collection")
    job_related = ("judge__collection",)
    activity = "support job"

    def ask(self, lease: Lease[SupportChunk], chunk: SupportChunk) -> dict[str, Any]:
        """Label what the judge has not labelled."""
        _label(lease, chunk)
        return {"done": chunk.size, "failed": chunk.failed}

    def need(self, work: SupportChunk) -> Need:
        judge = work.job.judge
        return need_of(judge.backend, judge.llm)

    def label(self, work: SupportChunk) -> str:
        return f"support, topic {work.topic.query_id}"

    def on_finished(self, job: SupportJob) -> None:
        collection = job.judge.collection
        webhooks.job_ended(job, collection, kind="support", page=lazy(job.get_absolute_url, str)())


@dataclass(frozen=True, slots=True)
class CitationQuestion:
    """What the model is asked about one citation, or claim of a rationale."""

    citation: CitationKey
    statement: str
    passage: str
    failed: SupportLabel | None
    """Its label, where the model was asked before and named none."""

    def messages(self, prompt: ChatPrompt) -> Messages:
        if self.failed is None or self.failed.problem:
            return support.question(self.statement, self.passage, prompt)
        return support.question_again(self.statement, self.passage, prompt, self.failed.reply)


def _label(lease: Lease[SupportChunk], chunk: SupportChunk) -> None:
    prompt, questions = support.support_prompt(chunk.job.judge.prompt_id), _questions(chunk)
    if not questions:
        return
    llm, failed = _model(chunk.job), chunk.failed
    for number, question in enumerate(questions, start=1):
        label, reply, problem = _answer(llm, question, prompt)
        _keep(chunk.job, question, label, reply, problem)
        failed += label is None
        done = max(0, chunk.size - len(questions) + number)
        if not lease.held().update(done=done, failed=failed):
            raise LeaseLost
    chunk.failed = failed


def _answer(
    llm: LimitedModel, question: CitationQuestion, prompt: ChatPrompt
) -> tuple[Support | None, str, str]:
    """Label, reply, and why there is none. Raises what `LimitedModel` does where no call would succeed."""
    try:
        reply = llm.complete(question.messages(prompt))
    except NoReply as error:
        if not error.is_of_prompt:
            raise
        return None, error.raw, str(error)
    return support.label_of(reply, prompt), reply, ""


def _keep(
    job: SupportJob, question: CitationQuestion, label: Support | None, reply: str, problem: str
) -> None:
    """Save the label even if the lease is lost: it was paid for."""
    kept = {"job": job, "label": label, "reply": reply, "problem": problem}
    if question.failed:
        SupportLabel.objects.filter(pk=question.failed.pk, label=None).update(**kept, at=Now())
        return
    row = SupportLabel(judge=job.judge, **kept, **question.citation._asdict())
    SupportLabel.objects.bulk_create([row], ignore_conflicts=True)


def _questions(chunk: SupportChunk) -> list[CitationQuestion]:
    """Return what the job has not asked yet in its topic."""
    collection, topic, job = chunk.job.judge.collection, chunk.topic, chunk.job
    again: dict[CitationKey, SupportLabel] = {}
    if job.is_retry:
        rows = job.judge.labels.filter(topic=topic, label=None).exclude(job=job)
        again = {citation_of(row): row for row in rows}
        left = [citation for citation in failed_of(job) if citation in again]
    else:
        every = left_to_ask(collection, job.judge, asking_of(job))
        left = [citation for citation in every if citation.topic_id == topic.pk]
    sampled = sampled_of(job)
    statements = (
        texts_of_claims(collection, sampled, topic)
        if sampled
        else {md5: statement.text for md5, statement in statements_of(topic).items()}
    )
    texts = texts_of(topic, (citation.doc_id for citation in left))
    return [
        CitationQuestion(
            citation, statements[citation.sentence_md5], texts[citation.doc_id], again.get(citation)
        )
        for citation in left
    ]


def _model(job: SupportJob) -> LimitedModel:
    """Return the model within its limits. Raises CannotRun."""
    judge = job.judge
    writer = Writer(judge.backend, judge.llm)
    return limited_writer(job, judge.collection, writer, longest_reply=job.longest_reply)


def _name(job: SupportJob) -> str:
    return f"{'Check rationales' if job.grader_id else 'Label support'} with {job.judge.llm}"


def _does(job: SupportJob) -> str:
    work = f"up to {job.sample} of {job.grader}" if job.grader else job.get_citations_display()
    return f"{job.judge}: {'failed labels again' if job.is_retry else work}"


LISTING = Listing(
    kind="support",
    unit=unit_of,
    jobs=lambda key: SupportJob.objects.filter(judge__collection=key).select_related(
        "judge__collection", "grader", "by"
    ),
    name=_name,
    does=_does,
    address=SupportJob.get_absolute_url,
    opens="Details",
    rate=measured_rate,
    expected=lambda job: ExpectedCost.of(price_of_job(job)),
)
