"""What the calls of a language model cost."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from grading.graders import registry

CHARS_A_TOKEN = 4
"""Of English, in the usual tokenizers: an estimate."""
MILLION = 1_000_000


def cost(backend: str, llm: str, tokens_read: float, tokens_written: float) -> float | None:
    """Dollars; 0 on the workers' own machines, None for a server's model without a price."""
    each = settings.PRICES.get(llm)
    if each is None:
        return None if _is_served(backend) else 0.0
    of_reply = settings.REPLY_PRICES.get(llm, each)
    return (tokens_read * float(each) + tokens_written * float(of_reply)) / MILLION


def tokens_of(texts: Sequence[str]) -> float:
    """An estimate for English."""
    return sum(map(len, texts)) / CHARS_A_TOKEN


def _is_served(name: str) -> bool:
    backend = registry.BACKENDS.get(name)
    return backend is None or backend.needs_server
