"""RIFER and EIFRP: key facts, document by document, smoothed into an answer.

Farzi and Dietz 2024, TREMA-UNH at TREC, sections 3 and 4. Not in the paper, and chosen here: the rules of
removal (`key_facts`), the length limit (TREC RAG's), and that a sentence that the model changed a little
while quoting it is still taken out of its document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grading.generation.drafting import TextModel
from grading.systems import key_facts, prompts
from grading.systems.base import MAX_WORDS, Answer, CitedSentence, RecordingModel, Source, first_words
from grading.systems.key_facts import KeyFact
from grading.types import Topic

SOURCES = 5
"""Documents that the submitted systems read (section 2)."""
FACTS_A_SOURCE = 2.5
"""New facts of a document, to foresee the number of calls: what 25 topics of llmjudge-dev gave."""
KEPT = 0.88
"""The share of facts that is left when repeated ones are merged, likewise."""
SUPPORTED = 0.12
"""The share of verified facts that a later document has, likewise."""


@dataclass(frozen=True, slots=True)
class Rifer:
    """Facts in the order of reading, uninformative ones removed by rules (section 3)."""

    llm: TextModel
    max_words: int = MAX_WORDS
    enhanced: bool = False
    """EIFRP: the model removes uninformative parts, and orders the facts by relevance (section 4)."""

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Read the sources in their order. Raises whatever the model raises where it cannot be asked."""
        model = RecordingModel(self.llm)
        facts: list[KeyFact] = []
        for place, source in enumerate(sources):
            left = _verified(model, facts, place, source.text)
            facts += _extracted(model, topic, place, left)
        facts = key_facts.merged(facts)
        if self.enhanced:
            facts = _sorted(model, topic, _cleaned(model, topic, facts))
        kept = first_words(
            [CitedSentence(fact.text, tuple(fact.citations)) for fact in facts], self.max_words
        )
        smooth = first_words(_smoothed(model, kept), self.max_words)
        return Answer(smooth, tuple(sources), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Expected calls: `D + sum of known facts x (1 + SUPPORTED) + kept - 1`, EIFRP `+ kept + 1`.

        >>> from unittest.mock import Mock
        >>> Rifer(Mock()).calls(5), Rifer(Mock(), enhanced=True).calls(5)
        (43, 55)
        """
        facts = KEPT * FACTS_A_SOURCE * sources
        verify = FACTS_A_SOURCE * sources * (sources - 1) / 2 * (1 + SUPPORTED)
        more = facts + 1 if self.enhanced else 0
        return round(sources + verify + max(facts - 1, 0) + more)


def _verified(model: RecordingModel, facts: Sequence[KeyFact], place: int, document: str) -> str:
    """Add the document to the citations of the facts that it has; the document without their sentences."""
    for fact in facts:
        if not document:
            break
        reply = model.ask(
            "verify", prompts.get("FactInDocument"), source=place, fact=fact.text, document=document
        )
        sentence = key_facts.found_sentence(reply)
        if sentence is None:
            continue
        reply = model.ask(
            "confirm", prompts.get("FactInSentence"), source=place, fact=fact.text, sentence=sentence
        )
        if key_facts.says_yes(reply):
            fact.citations.append(place)
            document = key_facts.without_sentence(document, sentence)
    return document


def _extracted(model: RecordingModel, topic: Topic, place: int, document: str) -> list[KeyFact]:
    """The key facts of what is left of a document."""
    if not document.strip():
        return []
    reply = model.ask("extract", prompts.get("KeyFacts"), source=place, query=topic.text, document=document)
    return [KeyFact(line, [place]) for line in key_facts.fact_lines(reply)]


def _cleaned(model: RecordingModel, topic: Topic, facts: Sequence[KeyFact]) -> list[KeyFact]:
    """Each fact without its uninformative parts (Table 5); a fact of which nothing is left goes."""
    cleaned = []
    for fact in facts:
        reply = model.ask("remove", prompts.get("Removal"), fact=fact.text, query=topic.text)
        cleaned += [KeyFact(line, fact.citations) for line in key_facts.fact_lines(reply)[:1]]
    return key_facts.merged(cleaned)


def _sorted(model: RecordingModel, topic: Topic, facts: list[KeyFact]) -> list[KeyFact]:
    if len(facts) < 2:
        return facts
    texts = str([fact.text for fact in facts])
    reply = model.ask("sort", prompts.get("Sorting"), query=topic.text, facts=texts)
    return key_facts.in_order(facts, reply)


def _smoothed(model: RecordingModel, sentences: Sequence[CitedSentence]) -> list[CitedSentence]:
    """Revise each sentence after the one before it (Table 4); an empty reply leaves it as it is."""
    smooth = list(sentences[:1])
    for sentence in sentences[1:]:
        text, prompt = sentence.text, prompts.get("Smoothing")
        reply = model.ask("smooth", prompt, fact=text, first=smooth[-1].text, second=text)
        lines = key_facts.fact_lines(reply)
        smooth.append(CitedSentence(lines[0] if lines else text, sentence.citations))
    return smooth
