"""Answers of a model in one call, from what was retrieved or from nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grading.generation.drafting import TextModel
from grading.response_passages import MAX_TOKENS, count_tokens
from grading.segmentation import sentence_spans
from grading.systems import prompts
from grading.systems.base import MAX_WORDS, Answer, CitedSentence, RecordingModel, Source, first_words
from grading.systems.extractive import cited_sentences
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


SOURCES = 20
"""Passages in the context (section 3)."""


@dataclass(frozen=True, slots=True)
class Ragnarok:
    """Asks once with the prompt of Figure 2, and parses the citations of the reply."""

    llm: TextModel
    max_words: int = MAX_WORDS

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Answer from all sources given. Raises whatever the model raises where it cannot be asked."""
        model = RecordingModel(self.llm)
        contexts = "\n".join(_context(number, source) for number, source in enumerate(sources, 1))
        reply = model.ask("answer", prompts.get("ChatQa"), query=topic.text, contexts=contexts)
        sentences = first_words(cited_sentences(reply, len(sources)), self.max_words)
        return Answer(sentences, tuple(sources), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """One."""
        return 1


def output(answer: Answer) -> str:
    """The JSON of section 3.1: references, answer, and the answer's length in characters.

    The paper counts characters, the track that it was made for words; a run's file has words.

    >>> from grading.systems.base import CitedSentence
    >>> print(output(Answer((CitedSentence("Tides rise.", (0,)),), (Source("d7", "..."),))))
    {"references": ["d7"], "answer": [{"text": "Tides rise.", "citations": [0]}], "response_length": 11}
    """
    sentences = [{"text": one.text, "citations": list(one.citations)} for one in answer.sentences]
    return json.dumps(
        {
            "references": [source.passage_id for source in answer.sources],
            "answer": sentences,
            "response_length": sum(len(one.text) for one in answer.sentences),
        },
        ensure_ascii=False,
    )


def _context(number: int, source: Source) -> str:
    return f"[{number}] {source.title}: {source.text}" if source.title else f"[{number}] {source.text}"
