"""RIFER and EIFRP: key facts with citations, document by document, smoothed into an answer.

Key facts with their citations: what RIFER and EIFRP keep, and the rules by which replies are read.

The rules by which uninformative content is removed are unpublished (Farzi and Dietz 2024, TREMA-UNH at TREC,
section 3.2; appendix B.3 shows one such reply). Ours: see `fact_lines`.

RIFER and EIFRP: key facts, document by document, smoothed into an answer.

Farzi and Dietz 2024, TREMA-UNH at TREC, sections 3 and 4. Not in the paper, and chosen here: the rules of
removal (`key_facts`), the length limit (TREC RAG's), and that a sentence that the model changed a little
while quoting it is still taken out of its document.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from grading.formats.reading import text_lines
from grading.generation import TextModel
from grading.segmentation import sentence_spans
from grading.systems import (
    MAX_WORDS,
    Answer,
    CitedSentence,
    RecordingModel,
    Source,
    first_words,
    system_prompt,
)
from grading.types import Topic
from grading.verify import normal

SAME = 90.0
"""Similarity (0..100, share of common characters) from which a model's sentence is one that it was shown."""

_MARK = re.compile(r"^(?:[-*\u2022]+|\(?\d{1,2}[.):]|key fact(?: sentence)? ?\d*:)\s*", re.IGNORECASE)
_NOTHING = re.compile(r"(?:none|no|n/a|null)\W*$", re.IGNORECASE)
_REMARK = re.compile(
    r"note\b|here (?:are|is)\b|(?:sure|okay|certainly)\b[,!.]|output\b"
    r"|i (?:could not|couldn't|did not|didn't|cannot)\b"
    r"|there (?:are|is) no (?:other |more |further )?(?:relevant |key |important )*(?:facts?|sentences?)\b"
    r"|(?:the|this) (?:document|passage|sentence) (?:does not|doesn't)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"no\b(?!\s+\w)", re.IGNORECASE)
_QUOTES = "\"'\u201c\u201d\u2018\u2019 \t"


@dataclass(slots=True)
class KeyFact:
    """A fact and the positions of the sources that have it, from 0, in the order of reading."""

    text: str
    citations: list[int] = field(default_factory=list)


def fact_lines(reply: str) -> list[str]:
    r"""Return the key facts that a reply lists, one a line, without what only talks about them.

    Left out are blank lines, "None" and the like, lines that end with a colon, remarks ("Note: …", "Here are
    …", "There are no other sentences …"), and repeated lines. Marks of lists and quotation marks go.

    >>> fact_lines("Here are the facts:\n1. The moon pulls.\n- The moon pulls.\nNote: that is all.\nNone")
    ['The moon pulls.']
    """
    kept: dict[str, str] = {}
    for line in text_lines(reply):
        text = _MARK.sub("", line.strip()).strip(_QUOTES)
        if text and not (_NOTHING.match(text) or _REMARK.match(text) or text.endswith(":")):
            kept.setdefault(normal(text), text)
    return list(kept.values())


def found_sentence(reply: str) -> str | None:
    """Return the sentence with which a model supports a fact.

    It is None where the model says "No", or only talks about it.

    >>> found_sentence("No, it is not there."), found_sentence("No drug helps against it.")
    (None, 'No drug helps against it.')
    """
    if _DENIAL.match(reply.strip(_QUOTES)):
        return None
    return next(iter(fact_lines(reply)), None)


def says_yes(reply: str) -> bool:
    """Return whether a reply begins with "yes", whatever quotes or marks it stands in.

    >>> says_yes('"Yes."'), says_yes("No, it cannot."), says_yes("I think yes")
    (True, False, False)
    """
    return bool(re.match(r"\W*yes\b", reply, re.IGNORECASE))


def without_sentence(document: str, sentence: str) -> str:
    """Return the document without a sentence: verbatim, or its own that is like it (SAME).

    Without either the document stays as it is.

    >>> without_sentence("The moon pulls. The sun helps a little.", "The sun helps little.")
    'The moon pulls.'
    """
    from rapidfuzz import fuzz, process  # here: who reads a board compares no sentences

    if sentence in document:
        return _joined(document.replace(sentence, " ", 1))
    spans = sentence_spans(document)
    hit = process.extractOne(
        sentence, [document[slice(*span)] for span in spans], scorer=fuzz.ratio, score_cutoff=SAME
    )
    if hit is None:
        return document
    start, end = spans[hit[2]]
    return _joined(f"{document[:start]} {document[end:]}")


def merged(facts: Sequence[KeyFact]) -> list[KeyFact]:
    """Merge facts with equal words (but for stop words and inflection), with the citations of all."""
    kept: dict[str, KeyFact] = {}
    for fact in facts:
        first = kept.setdefault(normal(fact.text), KeyFact(fact.text))
        first.citations += [place for place in fact.citations if place not in first.citations]
    return list(kept.values())


def in_order(facts: Sequence[KeyFact], reply: str) -> list[KeyFact]:
    """Return the facts in the order of a reply's list; those that it lacks follow in their own order.

    Texts are matched by their likeness (SAME). The order stays where the reply has no valid list.

    >>> facts = [KeyFact("The moon pulls."), KeyFact("The sun helps.")]
    >>> [fact.text for fact in in_order(facts, "Sure! ['The sun helps.', 'The moon pulls.']")]
    ['The sun helps.', 'The moon pulls.']
    >>> [fact.text for fact in in_order(facts, "The sun helps, then the moon.")]
    ['The moon pulls.', 'The sun helps.']
    """
    from rapidfuzz import fuzz, process  # here: who reads a board compares no sentences

    left = dict(enumerate(facts))
    ordered = []
    for text in _listed(reply):
        texts = {place: fact.text for place, fact in left.items()}
        hit = process.extractOne(text, texts, scorer=fuzz.ratio, score_cutoff=SAME)
        if hit is not None:
            ordered.append(left.pop(hit[2]))
    return [*ordered, *left.values()]


def _joined(text: str) -> str:
    return re.sub(r"[^\S\n]{2,}", " ", text).strip()


def _listed(reply: str) -> list[str]:
    """Return the texts of the first JSON or Python list of a reply; empty where there is none."""
    start, end = reply.find("["), reply.rfind("]")
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(reply[start : end + 1])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, list):
            return [text for text in value if isinstance(text, str)]
    return []


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
        facts = merged(facts)
        if self.enhanced:
            facts = _sorted(model, topic, _cleaned(model, topic, facts))
        kept = first_words(
            [CitedSentence(fact.text, tuple(fact.citations)) for fact in facts], self.max_words
        )
        smooth = first_words(_smoothed(model, kept), self.max_words)
        return Answer(smooth, tuple(sources), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Return the expected calls.

        `D + sum of known facts x (1 + SUPPORTED) + kept - 1`, EIFRP `+ kept + 1`.

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
            "verify", system_prompt("FactInDocument"), source=place, fact=fact.text, document=document
        )
        sentence = found_sentence(reply)
        if sentence is None:
            continue
        reply = model.ask(
            "confirm", system_prompt("FactInSentence"), source=place, fact=fact.text, sentence=sentence
        )
        if says_yes(reply):
            fact.citations.append(place)
            document = without_sentence(document, sentence)
    return document


def _extracted(model: RecordingModel, topic: Topic, place: int, document: str) -> list[KeyFact]:
    """Return the key facts of what is left of a document."""
    if not document.strip():
        return []
    reply = model.ask("extract", system_prompt("KeyFacts"), source=place, query=topic.text, document=document)
    return [KeyFact(line, [place]) for line in fact_lines(reply)]


def _cleaned(model: RecordingModel, topic: Topic, facts: Sequence[KeyFact]) -> list[KeyFact]:
    """Return each fact without its uninformative parts (Table 5); a fact of which nothing is left goes."""
    cleaned = []
    for fact in facts:
        reply = model.ask("remove", system_prompt("Removal"), fact=fact.text, query=topic.text)
        cleaned += [KeyFact(line, fact.citations) for line in fact_lines(reply)[:1]]
    return merged(cleaned)


def _sorted(model: RecordingModel, topic: Topic, facts: list[KeyFact]) -> list[KeyFact]:
    if len(facts) < 2:
        return facts
    texts = str([fact.text for fact in facts])
    reply = model.ask("sort", system_prompt("Sorting"), query=topic.text, facts=texts)
    return in_order(facts, reply)


def _smoothed(model: RecordingModel, sentences: Sequence[CitedSentence]) -> list[CitedSentence]:
    """Revise each sentence after the one before it (Table 4); an empty reply leaves it as it is."""
    smooth = list(sentences[:1])
    for sentence in sentences[1:]:
        text, prompt = sentence.text, system_prompt("Smoothing")
        reply = model.ask("smooth", prompt, fact=text, first=smooth[-1].text, second=text)
        lines = fact_lines(reply)
        smooth.append(CitedSentence(lines[0] if lines else text, sentence.citations))
    return smooth
