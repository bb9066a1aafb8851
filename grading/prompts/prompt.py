"""A prompt: what a model is asked about one item and one passage."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grading.types import ItemKind, Pair, Purpose

_PLACEHOLDER = re.compile(r"\{(question|nugget|query|context)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text with the placeholders {question} or {nugget}, {query} and {context}; fixed once it has graded."""

    prompt_class: str
    version: str
    purpose: Purpose
    kinds: frozenset[ItemKind]
    """The kinds of item that it is worded for."""
    scale: tuple[int, int] | None
    """Lowest and highest rating that it asks for; None where it asks for text."""
    template: str
    source: str
    """The paper and table that it is taken from."""

    @property
    def prompt_id(self) -> str:
        """`CLASS@version`, which names these exact words for ever."""
        return f"{self.prompt_class}@{self.version}"

    def render(self, pair: Pair, context: str | None = None) -> str:
        """The words for the model. `context` replaces the passage's text where that had to be cut.

        Only the template's own placeholders are filled: braces in items, topics and passages stay.
        """
        words = {
            "question": pair.item.text,
            "nugget": pair.item.text,
            "query": pair.topic.text,
            "context": pair.passage.text if context is None else context,
        }
        return _PLACEHOLDER.sub(lambda match: words[match[1]], self.template)
