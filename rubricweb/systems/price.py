"""What a run would take, before anybody starts it, and what each call costs."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Avg
from django.db.models.functions import Length

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limited import CHARS_A_TOKEN, Expected, cost
from rubricweb.jobs.progress import UNSURE, Price, rate_of
from rubricweb.systems import corpora
from rubricweb.systems.models import SystemChunk

TEMPLATE_CHARS = 600
"""Of a prompt, beside its passages: about what the longest published ones have."""
REPLY_TOKENS = 60
"""Of a step's reply, such as a sentence or a few facts."""
TOKENS_A_WORD = 1.4


@dataclass(frozen=True, slots=True)
class SystemPrice:
    """Estimates for all topics together."""

    topics: int
    calls: int
    """Of the model; 0 where none is asked."""
    price: Price
    """Of tokens read and written; without dollars where nobody has set a price for the model."""
    needs_limit_on_calls: bool
    """A server is asked whose price is not known, so that only a limit on calls protects from surprises."""

    @property
    def of_model(self) -> Expected:
        return Expected(self.calls, self.price.dollars)

    @property
    def calls_a_topic(self) -> float:
        return self.calls / self.topics if self.topics else 0


def price(collection: Collection, spec: SystemSpec, topics: int, *, workers: int = 1) -> SystemPrice:
    """A call of a step reads one passage of average length; one of a ranking or an answer several.

    `workers` share the work.
    """
    there, passages = _passages(collection, spec)
    candidates = min(there, spec.depth)
    calls, read = spec.calls(candidates) * topics, spec.passages_read(candidates) * topics
    tokens_read = round((read * passages + calls * TEMPLATE_CHARS) / CHARS_A_TOKEN)
    written = calls * reply_tokens(spec)
    dollars = cost(spec.backend, spec.llm, tokens_read, written) if spec.needs_model else 0.0
    rate = _topics_a_second(spec)
    seconds = topics / rate / max(1, workers) if rate else None
    return SystemPrice(
        topics,
        calls,
        Price(
            cells=topics,
            tokens=tokens_read + written if spec.needs_model else None,
            seconds=(seconds * UNSURE[0], seconds * UNSURE[1]) if seconds else None,
            dollars=dollars,
        ),
        needs_limit_on_calls=spec.needs_model and dollars is None,
    )


def _passages(collection: Collection, spec: SystemSpec) -> tuple[int, float]:
    """How many there are to search, and the characters of one on average."""
    if spec.corpus:
        return corpora.size_of(spec.corpus)
    return collection.passages.count(), collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0


def reply_tokens(spec: SystemSpec) -> int:
    """That a usual reply has."""
    if spec.is_closed_book:
        return round(1_000 * TOKENS_A_WORD)
    return round(spec.max_words * TOKENS_A_WORD) if spec.answering is Answering.RAGNAROK else REPLY_TOKENS


def _topics_a_second(spec: SystemSpec) -> float | None:
    """Of one worker, in the latest topics that the same system answered by the same model."""
    same = {"answering": spec.answering.value, "llm": spec.llm, "rerank_passes": spec.rerank_passes}
    if spec.rating_prompt:
        same["rating_prompt"] = spec.rating_prompt
    return rate_of(
        SystemChunk.objects.filter(**{f"job__spec__{name}": value for name, value in same.items()})
    )
