"""Prompts: what a model is asked, how its reply is read, and the published ones in TOML files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from grading.errors import ParseFailure
from grading.parsing import OnUnparsable, parse_final_score, parse_label, parse_rating, parse_yes_no
from grading.parsing.words import is_stated_unanswerable, is_unanswerable
from grading.prompts.chat import WELL_KNOWN, PromptMarks, exemplar_block, fill, find_prompt
from grading.types import (
    MAX_RATING,
    MIN_RATING,
    CellToGrade,
    ItemKind,
    Outcome,
    Parsed,
    ParsedRating,
    Purpose,
    usual_min_grade,
)
from grading.verify import verify

PLACEHOLDERS = ("question", "nugget", "query", "context", "answer_key", "answer")
"""Those of prompts about one item, which people may write, too."""
ITEMS = "items"
"""The placeholder of the numbered list of items, in a prompt that asks about several in one call."""
_PLACEHOLDER = re.compile(rf"\{{({'|'.join((*PLACEHOLDERS, ITEMS))})\}}")
_SINGLE_DIGIT = 9


class ParseRule(StrEnum):
    """How a reply is read."""

    RATING = "rating"
    """A number in the scale."""
    FINAL_SCORE = "final_score"
    """A RATING after some reasoning: the last "final score: n" decides."""
    YES_NO = "yes_no"
    LABEL = "label"
    """One of the prompt's labels."""
    TEXT = "text"
    """An answer, verbatim."""
    ANSWER_KEY = "answer_key"
    """An answer: 1 if it is in the item's answer key, else 0."""
    LINES = "lines"
    """A numbered line for each item of a call: one of the prompt's labels, or without these a RATING."""


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
    items_a_call: int = 1
    """The most items that one call asks about; more than 1 with rule LINES only."""
    summary: str = ""
    """What the model is asked, for whoever chooses a prompt; empty in those that a collection wrote."""
    plugin: str = ""
    """The distribution that brings it, with its version; empty for those of this package."""

    @property
    def prompt_id(self) -> str:
        """Return `CLASS@version`, which names these exact words for ever."""
        return f"{self.prompt_class}@{self.version}"

    @property
    def placeholders(self) -> frozenset[str]:
        """Return the placeholders in the text."""
        return frozenset(_PLACEHOLDER.findall(self.system + self.template))

    @property
    def needs_key(self) -> bool:
        """Return whether the item's answer key is needed, in the text or to read the reply."""
        return self.rule is ParseRule.ANSWER_KEY or "answer_key" in self.placeholders

    @property
    def needs_answer(self) -> bool:
        """Return whether it asks about an extracted answer."""
        return "answer" in self.placeholders

    @property
    def takes_exemplars(self) -> bool:
        """Return whether its ratings of items are on the scale of people's ratings, which it can be shown."""
        return self.purpose is Purpose.RATE and self.scale == (MIN_RATING, MAX_RATING)

    @property
    def first_tokens(self) -> Mapping[str, int]:
        """Return whole replies that the first tokens decide, with the rating of each; empty where none do.

        Each is read by `parse` as that rating; a back-end may score them instead of generating.
        """
        if self.rule is ParseRule.YES_NO:
            return {"Yes": 1, "yes": 1, "No": 0, "no": 0}
        if self.rule is ParseRule.RATING and self.scale and self.scale[1] <= _SINGLE_DIGIT:
            return {str(rating): rating for rating in range(self.scale[0], self.scale[1] + 1)}
        return {}

    def messages(
        self, pair: CellToGrade, context: str | None = None, marks: PromptMarks = WELL_KNOWN
    ) -> list[tuple[str, str]]:
        """Return (role, text) for a chat model: "system" where the prompt has such a text, then "user".

        `context` replaces the passage's text where that had to be cut. Only the prompt's own placeholders are
        filled: braces in items, topics and passages stay, and control tokens that they spell, as `marks` has
        them, are broken.
        """
        texts = self._texts(pair, context)
        filled = fill(self.template, _PLACEHOLDER, texts, marks)
        user = exemplar_block(pair.exemplars, self.label_of, marks) + filled
        system = fill(self.system, _PLACEHOLDER, texts, marks)
        return [(role, text) for role, text in (("system", system), ("user", user)) if text]

    def shared_start(self, pair: CellToGrade) -> str:
        """Return the prompt until the end of its first placeholder, or of its exemplars.

        Prompts about the same item have it in common, or those about the same passage where the prompt has
        that first; with exemplars, those of the same topic.
        """
        if pair.exemplars:
            return f"{self.system}\n{exemplar_block(pair.exemplars, self.label_of)}"
        text = f"{self.system}\n{self.template}"
        first = _PLACEHOLDER.search(text)
        return fill(text[: first.end()] if first else text, _PLACEHOLDER, self._texts(pair))

    def _texts(self, pair: CellToGrade, context: str | None = None) -> dict[str, str]:
        listed = enumerate(pair.items or (pair.item,), 1)
        return {
            ITEMS: "\n".join(f"{number}. {' '.join(item.text.split())}" for number, item in listed),
            "question": pair.item.text,
            "nugget": pair.item.text,
            "query": pair.topic.text,
            "context": pair.passage.text if context is None else context,
            "answer_key": '" or "'.join(pair.item.answers),
            "answer": pair.answer or "",
        }

    def render(self, pair: CellToGrade, context: str | None = None, marks: PromptMarks = WELL_KNOWN) -> str:
        """Return the messages as one text, for a model without roles."""
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

    def parse_line(self, text: str) -> ParsedRating:
        """Read what a reply by rule LINES says of one item.

        Raises ParseFailure for a line that does not state a rating or a label, or says "unanswerable" in none
        of the papers' words.
        """
        if self.labels:
            return parse_label(text, dict(self.labels))
        parsed = parse_rating(text, scale=self.scale or (MIN_RATING, MAX_RATING), on_unparsable="fail")
        if parsed.outcome is Outcome.UNANSWERABLE and not is_stated_unanswerable(text):
            raise ParseFailure("the line states no rating")
        return parsed

    def label_of(self, rating: int) -> str:
        """Return the name of a rating, or the number if it has none."""
        named = next((label for label, value in self.labels if value == rating), "")
        names = _NAMES.get(self.rule, ())
        return named or (names[rating] if 0 <= rating < len(names) else str(rating))


def read(prompt: Prompt, reply: str, pair: CellToGrade | None, on_unparsable: OnUnparsable) -> Parsed:
    """Parse the reply as `Prompt.parse` does."""
    if prompt.rule in (ParseRule.TEXT, ParseRule.LINES):
        return Parsed(None, Outcome.EXTRACTED, reply)
    if prompt.rule is ParseRule.ANSWER_KEY:
        return checked(reply, pair)
    rating, outcome = _rating(prompt, reply, on_unparsable)
    if outcome is Outcome.UNANSWERABLE and prompt.purpose is Purpose.DIRECT:
        raise ParseFailure("the reply states no label")  # a passage is not relevant for want of an answer
    return Parsed(rating, outcome, (pair.answer or "") if pair else "")


def checked(answer: str, pair: CellToGrade | None) -> Parsed:
    """Return 1 if the answer is in the item's key, else 0; ParseFailure without a key."""
    if pair is None or not pair.item.answers:
        raise ParseFailure("the item has no answer key")
    is_correct = verify(answer, pair.item.answers).correct
    is_denial = not is_correct and is_unanswerable(answer)
    return Parsed(int(is_correct), Outcome.UNANSWERABLE if is_denial else Outcome.NUMERIC, answer)


def _rating(prompt: Prompt, reply: str, on_unparsable: OnUnparsable) -> ParsedRating:
    scale = prompt.scale or (MIN_RATING, MAX_RATING)
    if prompt.rule is ParseRule.YES_NO:
        return parse_yes_no(reply, on_unparsable=on_unparsable)
    if prompt.rule is ParseRule.LABEL:
        return parse_label(reply, dict(prompt.labels))
    if prompt.rule is ParseRule.FINAL_SCORE:
        return parse_final_score(reply, scale=scale, on_unparsable=on_unparsable)
    return parse_rating(reply, scale=scale, on_unparsable=on_unparsable)


def get(prompt_class: str) -> Prompt:
    """Return the present version of a prompt class. Raises UnknownPrompt, which lists the known ones."""
    return find_prompt(by_class(), prompt_class, problem="no prompt class")


def published() -> tuple[Prompt, ...]:
    """Return every published prompt, in the order of their classes."""
    return tuple(prompt for _, prompt in sorted(by_class().items()))


@cache
def by_class() -> dict[str, Prompt]:
    """Return every published prompt."""
    prompts: dict[str, Prompt] = {}
    for file in resources.files(__package__).iterdir():
        if file.name.endswith(".toml"):
            for entry in tomllib.loads(file.read_text(encoding="utf-8"))["prompt"]:
                low_high, purpose = entry.get("scale"), Purpose(entry["purpose"])
                scale = (low_high[0], low_high[1]) if low_high else None
                usual = usual_min_grade(purpose, scale) if scale else None
                prompt = Prompt(
                    prompt_class=entry["prompt_class"],
                    version=entry["version"],
                    purpose=purpose,
                    kinds=frozenset(ItemKind(kind) for kind in entry["kinds"]),
                    scale=scale,
                    template=entry["template"],
                    source=entry["source"],
                    rule=ParseRule(entry["parse"]),
                    system=entry.get("system", ""),
                    labels=tuple(entry.get("labels", {}).items()),
                    is_strict=entry.get("strict", False),
                    min_grade=entry.get("min_grade", usual),
                    items_a_call=entry.get("items_a_call", 1),
                    summary=entry["summary"],
                )
                prompts[prompt.prompt_class] = prompt
    return prompts


def toml_lines(prompts: Iterable[Prompt]) -> Iterator[str]:
    """Yield a `[[prompt]]` table for each prompt, as in the files beside this one.

    >>> from grading.prompts import get
    >>> list(toml_lines([get("NuggetSelfRatedPrompt")]))[:4]
    ['[[prompt]]', 'prompt_class = "NuggetSelfRatedPrompt"', 'version = "1"', 'purpose = "rate"']
    """
    for number, prompt in enumerate(prompts):
        if number:
            yield ""
        yield "[[prompt]]"
        yield from (f"{key} = {value}" for key, value in _entries(prompt))


def _entries(prompt: Prompt) -> Iterator[tuple[str, str]]:
    yield "prompt_class", _text(prompt.prompt_class)
    yield "version", _text(prompt.version)
    yield "purpose", _text(prompt.purpose.value)
    yield "kinds", json.dumps(sorted(kind.value for kind in prompt.kinds))
    if prompt.scale:
        yield "scale", json.dumps(list(prompt.scale))
    if prompt.min_grade is not None:
        yield "min_grade", str(prompt.min_grade)
    yield "parse", _text(prompt.rule.value)
    if prompt.is_strict:
        yield "strict", "true"
    if prompt.items_a_call > 1:
        yield "items_a_call", str(prompt.items_a_call)
    if prompt.labels:
        yield "labels", "{" + ", ".join(f"{_text(name)} = {rating}" for name, rating in prompt.labels) + "}"
    yield "source", _text(prompt.source)
    if prompt.system:
        yield "system", _long(prompt.system)
    yield "template", _long(prompt.template)


def _long(text: str) -> str:
    """Return a literal of several lines where that can hold the text, so that people can read it."""
    is_plain = all(letter in "\n\t" or letter.isprintable() for letter in text)
    if not is_plain or "'''" in text or text.endswith("'"):
        return _text(text)
    return f"'''\n{text}'''"


def _text(text: str) -> str:
    """Return a basic string: TOML's escapes are those of JSON, but for DEL, which JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
