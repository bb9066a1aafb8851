"""What a model's labels would take, before anybody asks for them."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Avg
from django.db.models.functions import Length

from grading.support.asking import support_prompt
from grading.support.scores import JudgedCitations
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine.price import CHARS_A_TOKEN, MILLION
from rubricweb.jobs.progress import UNSURE, Price, rate_of
from rubricweb.support.actions import judge_for
from rubricweb.support.labels import missing
from rubricweb.support.models import SupportChunk, SupportJob

SENTENCE_CHARS = 150
"""Of a sentence of an answer: about what TREC RAG's have."""


def price(collection: Collection, backend: str, llm: str, rule: JudgedCitations) -> Price:
    """A call a citation; each reads the prompt, a sentence, and a passage of average length."""
    judge = judge_for(collection, backend, llm)
    calls = len(missing(collection, judge, rule))
    passage = collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0
    each = len(support_prompt().template) + SENTENCE_CHARS + passage
    tokens = round(calls * each / CHARS_A_TOKEN)
    rate = rate_of(SupportChunk.objects.filter(job__judge__backend=backend, job__judge__llm=llm))
    dollars = settings.PRICES.get(llm)
    return Price(
        cells=calls,
        tokens=tokens,
        seconds=(calls / rate * UNSURE[0], calls / rate * UNSURE[1]) if rate else None,
        dollars=None if dollars is None else tokens / MILLION * float(dollars),
    )


def measured_rate(job: SupportJob) -> float | None:
    """Citations a second that one worker reached in the judge's latest chunks; None if it never labelled."""
    return rate_of(SupportChunk.objects.filter(job__judge=job.judge_id))
