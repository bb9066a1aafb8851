"""Answers without a model: the retrieved sentences that share most with the topic, cited.

It stands in where no model is there, and is named so everywhere: it understands nothing, never says that an
answer is missing, and cannot join two facts. From RubricWeb, after no paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grading.generation.similarity import nearest
from grading.segmentation import sentence_spans
from grading.systems.base import MAX_WORDS, Answer, CitedSentence, Source, Step, first_words
from grading.types import Topic

SENTENCES = 8
"""The longest answer; a run of a track has about as many."""
REPEATS = 0.6
"""Likeness (0..1) from which a sentence only repeats one that is in the answer: it adds its citation."""
SHORTEST, LONGEST = 5, 60
"""Words of a sentence that is taken: headings and lists without full stops are not."""


@dataclass(frozen=True, slots=True)
class BestSentences:
    """Takes the best sentences of all sources, in the order of the sources."""

    sentences: int = SENTENCES
    max_words: int = MAX_WORDS

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Answer from all sources given; empty where no sentence shares a rare word with the topic."""
        candidates = list(_candidates(sources))
        ranked = nearest(topic.text, [one.text for one in candidates], most=len(candidates))
        chosen: dict[int, list[int]] = {}
        for hit in ranked:
            source = candidates[hit.place].source
            known = [candidates[place].text for place in chosen]
            like = nearest(candidates[hit.place].text, known, most=1)
            if like and like[0].score >= REPEATS:
                citations = chosen[list(chosen)[like[0].place]]
                if source not in citations:
                    citations.append(source)
            elif len(chosen) < self.sentences:
                chosen[hit.place] = [source]
        answer = [CitedSentence(candidates[place].text, tuple(chosen[place])) for place in sorted(chosen)]
        steps = [
            Step("choose", "", topic.text, candidates[hit.place].text, candidates[hit.place].source)
            for hit in ranked
            if hit.place in chosen
        ]
        return Answer(first_words(answer, self.max_words), tuple(sources), tuple(steps))

    def calls(self, sources: int) -> int:
        """None: there is no model."""
        return 0


class _Candidate(NamedTuple):
    text: str
    source: int


def _candidates(sources: Sequence[Source]) -> Iterator[_Candidate]:
    for place, source in enumerate(sources):
        for start, end in sentence_spans(source.text):
            text = " ".join(source.text[start:end].split())
            if SHORTEST <= len(text.split()) <= LONGEST and "?" not in text:
                yield _Candidate(text, place)
