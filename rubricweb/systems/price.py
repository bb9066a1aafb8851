"""What a run would take, before anybody starts it, and what each call costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Avg
from django.db.models.functions import Length

from grading.graders import registry
from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine.price import CHARS_A_TOKEN, MILLION
from rubricweb.jobs.progress import UNSURE, Price, rate_of
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
    def calls_a_topic(self) -> float:
        return self.calls / self.topics if self.topics else 0


def price(collection: Collection, spec: SystemSpec, topics: int, *, workers: int = 1) -> SystemPrice:
    """A call of a step reads one passage of average length; one of a ranking or an answer several.

    `workers` share the work.
    """
    passages = collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0
    candidates = min(collection.passages.count(), spec.depth)
    calls, read = spec.calls(candidates) * topics, spec.passages_read(candidates) * topics
    tokens_read = round((read * passages + calls * TEMPLATE_CHARS) / CHARS_A_TOKEN)
    written = calls * reply_tokens(spec)
    dollars = cost(spec, tokens_read, written)
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


def cost(spec: SystemSpec, tokens_read: float, tokens_written: float) -> float | None:
    """Dollars; 0 on the workers' own machines, None for a server's model without a price."""
    each = settings.PRICES.get(spec.llm)
    if each is None:
        return None if _is_served(spec) else 0.0
    of_reply = settings.REPLY_PRICES.get(spec.llm, each)
    return (tokens_read * float(each) + tokens_written * float(of_reply)) / MILLION


def reply_tokens(spec: SystemSpec) -> int:
    """That a usual reply has."""
    if spec.is_closed_book:
        return round(1_000 * TOKENS_A_WORD)
    return round(spec.max_words * TOKENS_A_WORD) if spec.answering is Answering.RAGNAROK else REPLY_TOKENS


def tokens_of(texts: Sequence[str]) -> float:
    """An estimate for English."""
    return sum(map(len, texts)) / CHARS_A_TOKEN


def _is_served(spec: SystemSpec) -> bool:
    backend = registry.BACKENDS.get(spec.backend)
    return spec.needs_model and (backend is None or backend.needs_server)


def _topics_a_second(spec: SystemSpec) -> float | None:
    """Of one worker, in the latest topics that the same system answered by the same model."""
    same = {"answering": spec.answering.value, "llm": spec.llm, "rerank_passes": spec.rerank_passes}
    return rate_of(
        SystemChunk.objects.filter(**{f"job__spec__{name}": value for name, value in same.items()})
    )
