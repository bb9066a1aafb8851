"""A prompt: what a model is asked about one item and one passage, and how its reply is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from grading.parsing import OnUnparsable, Parsed
from grading.prompts.chat import WELL_KNOWN, Marks, fill
from grading.prompts.reading import ParseRule, read
from grading.types import CellToGrade, ItemKind, Purpose

PLACEHOLDERS = ("question", "nugget", "query", "context", "answer_key", "answer")
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")
_SINGLE_DIGIT = 9
_NAMES = {ParseRule.YES_NO: ("no", "yes"), ParseRule.ANSWER_KEY: ("wrong", "right")}
"""What 0 and 1 are called by rules that give nothing else."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text with placeholders in braces (PLACEHOLDERS); fixed once it has graded."""

    prompt_class: str
    version: str
    purpose: Purpose
    kinds: frozenset[ItemKind]
    """The kinds of items that it is worded for."""
    scale: tuple[int, int] | None
    """Lowest and highest rating; None if it asks for text."""
    template: str
    source: str
    """The paper and table that it comes from."""
    rule: ParseRule = ParseRule.RATING
    system: str = ""
    """The system message of a chat model; other models read it above the template."""
    labels: tuple[tuple[str, int], ...] = ()
    """Names of ratings, which rule LABEL reads; the first of a rating is its name."""
    is_strict: bool = False
    """Whether an unparsable reply is a failed grade, whatever the grader's options.

    For direct prompts it always is.
    """
    min_grade: int | None = None
    """The threshold; None without a scale."""
    summary: str = ""
    """What the model is asked, for whoever chooses a prompt; empty in those that a collection wrote."""

    @property
    def prompt_id(self) -> str:
        """`CLASS@version`, which names these exact words for ever."""
        return f"{self.prompt_class}@{self.version}"

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders in the text."""
        return frozenset(_PLACEHOLDER.findall(self.system + self.template))

    @property
    def needs_key(self) -> bool:
        """Whether the item's answer key is needed, in the text or to read the reply."""
        return self.rule is ParseRule.ANSWER_KEY or "answer_key" in self.placeholders

    @property
    def needs_answer(self) -> bool:
        """Whether it asks about an extracted answer."""
        return "answer" in self.placeholders

    @property
    def first_tokens(self) -> Mapping[str, int]:
        """Whole replies that the first tokens decide, with the rating of each; empty where none do.

        Each is read by `parse` as that rating; a back-end may score them instead of generating.
        """
        if self.rule is ParseRule.YES_NO:
            return {"Yes": 1, "yes": 1, "No": 0, "no": 0}
        if self.rule is ParseRule.RATING and self.scale and self.scale[1] <= _SINGLE_DIGIT:
            return {str(rating): rating for rating in range(self.scale[0], self.scale[1] + 1)}
        return {}

    def messages(
        self, pair: CellToGrade, context: str | None = None, marks: Marks = WELL_KNOWN
    ) -> list[tuple[str, str]]:
        """(role, text) for a chat model: "system" where the prompt has such a text, then "user".

        `context` replaces the passage's text where that had to be cut. Only the prompt's own placeholders are
        filled: braces in items, topics and passages stay, and control tokens that they spell, as `marks` has
        them, are broken.
        """
        texts = self._texts(pair, context)
        return [
            (role, fill(text, _PLACEHOLDER, texts, marks))
            for role, text in (("system", self.system), ("user", self.template))
            if text
        ]

    def shared_start(self, pair: CellToGrade) -> str:
        """The prompt until the end of its first placeholder: what prompts about the same item have in common,
        or those about the same passage where the prompt has that first.
        """
        text = f"{self.system}\n{self.template}"
        first = _PLACEHOLDER.search(text)
        return fill(text[: first.end()] if first else text, _PLACEHOLDER, self._texts(pair))

    def _texts(self, pair: CellToGrade, context: str | None = None) -> dict[str, str]:
        return {
            "question": pair.item.text,
            "nugget": pair.item.text,
            "query": pair.topic.text,
            "context": pair.passage.text if context is None else context,
            "answer_key": '" or "'.join(pair.item.answers),
            "answer": pair.answer or "",
        }

    def render(self, pair: CellToGrade, context: str | None = None, marks: Marks = WELL_KNOWN) -> str:
        """The messages as one text, for a model without roles."""
        return "\n".join(text for _, text in self.messages(pair, context, marks))

    def parse(
        self, reply: str, pair: CellToGrade | None = None, *, on_unparsable: OnUnparsable = "default"
    ) -> Parsed:
        """Read a raw reply by the prompt's rule. `pair` is what was asked about; rule ANSWER_KEY needs it.

        Raises ParseFailure where no published rule says what such a reply counts as. In strict and in direct
        prompts, and with on_unparsable="fail", it does so for every reply that does not say what was asked
        for.
        """
        is_strict = self.is_strict or self.purpose is Purpose.DIRECT
        return read(self, reply, pair, "fail" if is_strict else on_unparsable)

    def label_of(self, rating: int) -> str:
        """The name of a rating, or the number if it has none."""
        named = next((label for label, value in self.labels if value == rating), "")
        names = _NAMES.get(self.rule, ())
        return named or (names[rating] if 0 <= rating < len(names) else str(rating))
