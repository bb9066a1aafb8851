"""The origin of an item's text: spans that a person marked in a passage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rubricweb.banks.errors import UnfitSpan
from rubricweb.corpus.models import Passage

MOST_SPANS = 10
SPAN_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Origin:
    """A passage and spans of it, as they stand there up to white space."""

    passage: Passage
    spans: tuple[str, ...]


def quoted(passage: Passage, lines: Iterable[str]) -> Origin:
    """Return the spans among `lines`, each once. Raises UnfitSpan for one that is not in the passage."""
    spans = tuple(dict.fromkeys(words for line in lines if (words := " ".join(line.split()))))
    if len(spans) > MOST_SPANS:
        raise UnfitSpan(f"Keep it to {MOST_SPANS} spans; these are {len(spans)}.")
    text = " ".join(passage.text.split())
    for span in spans:
        if len(span) > SPAN_CHARS:
            raise UnfitSpan(f"Keep each span under {SPAN_CHARS:,} characters: \u201c{span[:60]}…\u201d.")
        if span not in text:
            raise UnfitSpan(f"This span is not in the passage: \u201c{span[:60]}\u201d.")
    return Origin(passage, spans)
