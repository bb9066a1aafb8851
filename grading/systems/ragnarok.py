"""Answers with citations from the best retrieved passages, in one call (Pradeep et al. 2024, Ragnarok)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from grading.generation.drafting import TextModel
from grading.systems import prompts
from grading.systems.base import MAX_WORDS, Answer, RecordingModel, Source, first_words
from grading.systems.citations import cited_sentences
from grading.types import Topic

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
