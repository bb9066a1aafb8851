"""Answers of a model that reads nothing: the generated systems of RUBRIC, section 6.4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grading.generation.drafting import TextModel
from grading.response_passages import MAX_TOKENS, count_tokens
from grading.segmentation import sentence_spans
from grading.systems import prompts
from grading.systems.base import Answer, CitedSentence, RecordingModel, Source
from grading.types import Topic

STYLES = {"wiki": "Wiki", "web": "Web", "question": "Question"}
"""Style -> prompt."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """Asks once for an article, a web page or an answer; each passage of it becomes one sentence."""

    llm: TextModel
    prompt: str
    """One of the values of STYLES."""

    def answer(self, topic: Topic, sources: Sequence[Source] = ()) -> Answer:
        """Answer without sources. Raises whatever the model raises where it cannot be asked."""
        model = RecordingModel(self.llm)
        query = topic.text.rstrip("? ") if self.prompt == STYLES["question"] else topic.text
        reply = model.ask("answer", prompts.get(self.prompt), query=query)
        passages = tuple(CitedSentence(passage) for passage in passages_of(reply))
        return Answer(passages, (), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """One."""
        return 1


def passages_of(text: str, tokens: int = MAX_TOKENS) -> Iterator[str]:
    """Cut a text into passages of at most `tokens` tokens: between paragraphs, else between sentences.

    The Workbench's generated systems have passages of "about 400 words" (section 6). What is longer than
    MAX_TOKENS would be cut again when it is graded. Paragraphs are joined while they fit. A sentence that is
    longer is a passage of its own.

    >>> list(passages_of("One two.\\n\\nThree four.\\n\\nFive six seven. Eight nine ten.", 6))
    ['One two.\\n\\nThree four.', 'Five six seven.', 'Eight nine ten.']
    """
    passage, size = "", 0
    for unit, joint in _units(text, tokens):
        more = count_tokens(unit)
        if passage and size + more > tokens:
            yield passage
            passage, size = "", 0
        passage, size = f"{passage}{joint}{unit}" if passage else unit, size + more
    if passage:
        yield passage


def _units(text: str, tokens: int) -> Iterator[tuple[str, str]]:
    """(paragraph, or sentence of a long one; what stands before it where it is joined to another)."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if count_tokens(paragraph) <= tokens:
            yield paragraph.strip(), "\n\n"
        else:
            for number, (start, end) in enumerate(sentence_spans(paragraph)):
                yield paragraph[start:end], " " if number else "\n\n"
