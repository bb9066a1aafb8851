"""What a run would take, before anybody starts it."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Avg
from django.db.models.functions import Length

from grading.systems.pipeline import SystemSpec
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine.price import CHARS_A_TOKEN, MILLION

TEMPLATE_CHARS = 600
"""Of a prompt, beside its passages: about what the longest published ones have."""


@dataclass(frozen=True, slots=True)
class SystemPrice:
    """Estimates for all topics together."""

    topics: int
    calls: int
    tokens: int
    """That the model reads."""
    dollars: float | None
    """None where nobody has set a price for the model."""

    @property
    def calls_a_topic(self) -> float:
        return self.calls / self.topics if self.topics else 0


def price(collection: Collection, spec: SystemSpec, topics: int) -> SystemPrice:
    """A call of a step reads one passage of average length; one of a ranking or an answer several."""
    passages = collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0
    calls = spec.calls(min(collection.passages.count(), spec.depth)) * topics
    read = spec.passages_read(min(collection.passages.count(), spec.depth)) * topics
    tokens = round((read * passages + calls * TEMPLATE_CHARS) / CHARS_A_TOKEN)
    each = settings.PRICES.get(spec.llm)
    return SystemPrice(topics, calls, tokens, None if each is None else tokens / MILLION * float(each))
