"""Reranking by a language model: lists in windows (RankGPT, RankZephyr), or each passage by its rating.

Windows of 20 passages slide from the last to the first by 10 (Sun et al. 2023, arXiv 2304.09542); RankZephyr
rho makes three passes (Pradeep et al. 2024, Ragnarok, section 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from grading.errors import ParseFailure
from grading.generation import TextModel
from grading.prompts import prompt
from grading.prompts.prompt import Prompt
from grading.systems import RecordingModel, Source, SystemStep, system_prompt
from grading.types import CellToGrade, Item, ItemKind, Passage, Purpose, Ranking, Topic

WINDOW = 20
STRIDE = 10
PASSAGE_WORDS = 300
"""Longer passages are cut in the prompt: twenty must fit into the model's context."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """The sources in their new order, and the calls that it took."""

    sources: tuple[Source, ...]
    steps: tuple[SystemStep, ...]

    def ranking(self, run_tag: str, query_id: str) -> Ranking:
        """Return the ranking with `1 / rank` as the score, since a list has none."""
        ids = tuple(source.passage_id for source in self.sources)
        return Ranking(run_tag, query_id, ids, tuple(1 / rank for rank in range(1, len(ids) + 1)))


class Reranker(Protocol):
    """Puts passages into a new order."""

    def rerank(self, topic: Topic, sources: Sequence[Source]) -> Reranked: ...

    def calls(self, sources: int) -> int: ...


@dataclass(frozen=True, slots=True)
class ListwiseReranker:
    """Shows the model windows of the list, and takes over the order that it gives."""

    llm: TextModel
    window: int = WINDOW
    stride: int = STRIDE
    passes: int = 1

    def __post_init__(self) -> None:
        """Raise ValueError where a window could not hand its best passages on."""
        if not 1 <= self.stride < self.window:
            raise ValueError(f"a stride of {self.stride} does not fit a window of {self.window}")

    def rerank(self, topic: Topic, sources: Sequence[Source]) -> Reranked:
        """Rerank the passages. Raises whatever the model raises where it cannot be asked."""
        model, ordered = RecordingModel(self.llm), list(sources)
        for _ in range(self.passes):
            for start, end in windows(len(ordered), self.window, self.stride):
                ordered[start:end] = _ordered(model, topic, ordered[start:end])
        return Reranked(tuple(ordered), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Return how many calls a list of so many passages takes.

        >>> from unittest.mock import Mock
        >>> ListwiseReranker(Mock()).calls(100), ListwiseReranker(Mock(), passes=3).calls(100)
        (9, 27)
        """
        return self.passes * sum(1 for _ in windows(sources, self.window, self.stride))


@dataclass(frozen=True, slots=True)
class PointwiseReranker:
    """Has one passage a call rated on the topic, and puts the best rated first.

    Passages with equal ratings stay in their order; those whose reply is no rating come last.
    """

    llm: TextModel
    prompt: Prompt
    """One of `rating_prompts`; the topic's query is its question."""

    def rerank(self, topic: Topic, sources: Sequence[Source]) -> Reranked:
        """Rerank the passages. Raises whatever the model raises where it cannot be asked."""
        model = RecordingModel(self.llm)
        ratings = [self._rating(model, topic, place, source) for place, source in enumerate(sources)]
        order = sorted(range(len(sources)), key=lambda place: -ratings[place])
        return Reranked(tuple(sources[place] for place in order), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Return the number of passages: each takes one call."""
        return sources

    def _rating(self, model: RecordingModel, topic: Topic, place: int, source: Source) -> float:
        cell = CellToGrade(
            Item(topic.query_id, ItemKind.DIRECT, topic.text),
            Passage(source.passage_id, _abridged(source)),
            topic,
        )
        reply = model.send("rate", self.prompt.prompt_id, self.prompt.messages(cell), source=place)
        try:
            rating = self.prompt.parse(reply, cell, on_unparsable="fail").rating
        except ParseFailure:
            rating = None
        return float("-inf") if rating is None else rating


@cache
def rating_prompts() -> Mapping[str, Prompt]:
    """Return the published prompts that rate one passage for a query or a question, by class."""
    kinds, purposes = {ItemKind.DIRECT, ItemKind.QUESTION}, (Purpose.DIRECT, Purpose.RATE)
    rating = (
        each for each in prompt.published() if each.purpose in purposes and each.scale and each.kinds & kinds
    )
    alone = (each for each in rating if not (each.needs_key or each.needs_answer or each.items_a_call > 1))
    return {each.prompt_class: each for each in alone if "context" in each.placeholders}


def windows(size: int, window: int, stride: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each window of a list, from its end to its start; none for an empty list.

    >>> list(windows(35, 20, 10))
    [(15, 35), (5, 25), (0, 15)]
    """
    end = size if size > 1 else 0
    while end > 0:
        start = max(end - window, 0)
        yield start, end
        end = end - stride if start else 0


def permutation(reply: str, size: int) -> list[int]:
    """Return the order of positions, from 0, that a reply like `[2] > [1]` gives to `size` passages.

    It is repaired as RankGPT does: numbers out of range and repeated ones are dropped, and positions that it
    lacks follow in their own order.

    >>> permutation("[3] > [1] > [3] > [9]", 4)
    [2, 0, 1, 3]
    """
    named = dict.fromkeys(int(number) - 1 for number in re.findall(r"\d{1,6}", reply))
    return list(dict.fromkeys([*(place for place in named if 0 <= place < size), *range(size)]))


def _ordered(model: RecordingModel, topic: Topic, sources: Sequence[Source]) -> list[Source]:
    passages = "\n\n".join(f"[{number}] {_abridged(source)}" for number, source in enumerate(sources, 1))
    reply = model.ask(
        "rerank", system_prompt("Listwise"), query=topic.text, passages=passages, count=str(len(sources))
    )
    return [sources[place] for place in permutation(reply, len(sources))]


def _abridged(source: Source) -> str:
    text = " ".join([source.title, *source.text.split()] if source.title else source.text.split())
    return " ".join(text.split(" ")[:PASSAGE_WORDS])
