"""What a model's labels would take, before anybody asks for them."""

from __future__ import annotations

from django.db.models import Avg
from django.db.models.functions import Length

from grading.support.asking import support_prompt
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limited import CHARS_A_TOKEN, Expected, cost
from rubricweb.jobs.progress import UNSURE, Price, rate_of
from rubricweb.support.actions import Asking, judge_for
from rubricweb.support.labels import failed, missing
from rubricweb.support.models import SupportChunk, SupportJob

SENTENCE_CHARS = 150
"""Of a sentence of an answer: about what TREC RAG's have."""

LABEL_TOKENS = 6
"""Of a usual reply."""


def price(collection: Collection, asking: Asking) -> Price:
    """Of what this model has not labelled."""
    judge = judge_for(collection, asking.backend, asking.llm)
    return _price(collection, asking, len(missing(collection, judge, asking.rule)))


def price_of_retry(job: SupportJob) -> Price:
    """Of asking the judge of `job` again wherever its reply named no label."""
    judge = job.judge
    calls = len(failed(judge.collection, judge))
    return _price(judge.collection, asking_of(job), calls)


def price_of_job(job: SupportJob) -> Price:
    """Of all of it, whatever is done."""
    return _price(job.judge.collection, asking_of(job), job.total)


def asking_of(job: SupportJob) -> Asking:
    """What the job was started with."""
    return Asking(job.judge.backend, job.judge.llm, job.rule, job.longest_reply)


def of_model(price: Price) -> Expected:
    """For the form of limits."""
    return Expected(price.cells, price.dollars)


def _price(collection: Collection, asking: Asking, calls: int) -> Price:
    """A call a citation; each reads the prompt, a sentence, and a passage of average length."""
    passage = collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0
    each = len(support_prompt().template) + SENTENCE_CHARS + passage
    read, written = calls * each / CHARS_A_TOKEN, calls * LABEL_TOKENS
    rate = rate_of(
        SupportChunk.objects.filter(job__judge__backend=asking.backend, job__judge__llm=asking.llm)
    )
    return Price(
        cells=calls,
        tokens=round(read + written),
        seconds=(calls / rate * UNSURE[0], calls / rate * UNSURE[1]) if rate else None,
        dollars=cost(asking.backend, asking.llm, read, written),
    )


def measured_rate(job: SupportJob) -> float | None:
    """Citations a second that one worker reached in the judge's latest chunks; None if it never labelled."""
    return rate_of(SupportChunk.objects.filter(job__judge=job.judge_id))
