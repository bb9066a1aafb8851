"""Answers with citations: extracted sentences, or a model's reply in one call.

The extractive system returns the retrieved sentences that share most with the topic, cited. It stands in
where there is no model, and is named so everywhere: it understands nothing, never says that an answer is
missing, and cannot join two facts. From RubricWeb, after no paper.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grading.generation import TextModel
from grading.generation.similarity import nearest
from grading.segmentation import MAX_TOKENS, count_tokens, sentence_spans
from grading.systems import (
    MAX_WORDS,
    Answer,
    CitedSentence,
    RecordingModel,
    Source,
    SystemStep,
    first_words,
    system_prompt,
)
from grading.types import Topic

_BRACKET = re.compile(r"\s*\[\s*(\d+(?:\s*(?:,|;|and|[-\u2013])\s*\d+)*)\s*\]", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*[-\u2013]\s*(\d+)|(\d+)")
_LIST_MARK = re.compile(r"(?:[-*\u2022]|\d+[.)])\s+")

_SPAN_MARK = re.compile(r"<(/?)co:?\s{0,3}([\d, ]{0,80})>")
_GROUNDED = "Grounded answer:"

Span = tuple[int, int, Sequence[int]]
"""Start and end in the text, and the positions of the sources cited for it, from 0."""


SENTENCES = 8
"""The longest answer; a run of a track has about as many."""
REPEATS = 0.6
"""Likeness (0..1) from which a sentence only repeats one that is in the answer: it adds its citation."""
SHORTEST, LONGEST = 5, 60
"""Words of a sentence that is taken: headings and lists without full stops are not."""
STYLES = {"wiki": "Wiki", "web": "Web", "question": "Question"}
"""Style -> prompt."""
SOURCES = 20
"""Passages in the context (section 3)."""


def cited_sentences(text: str, sources: int) -> tuple[CitedSentence, ...]:
    """Split an answer that cites `[1]`, `[1, 2]`, `[1]-[3]` or `[1-3]` (IEEE, from 1) into sentences.

    The brackets leave the text. One that stands behind a full stop belongs to the sentence before it. Numbers
    above `sources`, and repeated ones, are dropped (Pradeep et al. 2024, section 3.1).

    >>> cited_sentences("Tides follow the moon [2][1]. The sun helps. [3, 9] Nobody knows why.", 3)
    ... # doctest: +NORMALIZE_WHITESPACE
    (CitedSentence(text='Tides follow the moon.', citations=(1, 0)),
     CitedSentence(text='The sun helps.', citations=(2,)),
     CitedSentence(text='Nobody knows why.', citations=()))
    """
    plain, cited = _without_brackets(text)
    return _sentences(plain, cited, sources)


def span_sentences(text: str, spans: Iterable[Span], sources: int) -> tuple[CitedSentence, ...]:
    """Split an answer whose citations are spans, as Command R+ gives them, into sentences.

    A citation belongs to the sentence in which its span ends (Pradeep et al. 2024, section 6).

    >>> span_sentences("Tides follow the moon. The sun helps.", [(13, 21, [1]), (27, 30, [0, 1])], 2)
    ... # doctest: +NORMALIZE_WHITESPACE
    (CitedSentence(text='Tides follow the moon.', citations=(1,)),
     CitedSentence(text='The sun helps.', citations=(0, 1)))
    """
    return _sentences(text, sorted((end, place) for _, end, places in spans for place in places), sources)


def marked_spans(reply: str) -> tuple[str, list[Span]]:
    """Return a reply without the marks of Command R+, and what they cite; only what is its grounded answer.

    A mark that nothing closes lasts to the end; one that closes nothing is dropped.

    >>> marked_spans("Tides follow the <co: 1>moon</co: 1>. The <co: 0,1>sun</co: 0,1> helps.")
    ('Tides follow the moon. The sun helps.', [(17, 21, [1]), (27, 30, [0, 1])])
    """
    answer = reply.rpartition(_GROUNDED)[2].strip()
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[int, list[int]]] = []
    length = last = 0
    for match in _SPAN_MARK.finditer(answer):
        parts.append(answer[last : match.start()])
        length += match.start() - last
        last = match.end()
        if not match[1]:
            opened.append((length, [int(number) for number in re.findall(r"(?<!\d)\d{1,6}(?!\d)", match[2])]))
        elif opened:
            start, places = opened.pop()
            spans.append((start, length, places))
    text = "".join([*parts, answer[last:]])
    return text, spans + [(start, len(text), places) for start, places in opened]


def _without_brackets(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text without brackets, and each bracket's place and source.

    Pairs (where one stood in it, position of the source) are in the text's order.
    """
    parts: list[str] = []
    cited: list[tuple[int, int]] = []
    length = last = 0
    for match in _BRACKET.finditer(text):
        parts.append(text[last : match.start()])
        length += match.start() - last
        last = match.end()
        cited += [(length, number - 1) for number in _numbers(match[1])]
    return "".join([*parts, text[last:]]), cited


def _numbers(inside: str) -> Iterator[int]:
    for first, last, single in _RANGE.findall(inside):
        yield from range(int(first), min(int(last), int(first) + 99) + 1) if first else [int(single)]


def _sentences(text: str, cited: list[tuple[int, int]], sources: int) -> tuple[CitedSentence, ...]:
    spans = [span for span in _line_spans(text) if text[slice(*span)].strip()]
    citations: list[list[int]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for where, place in cited:
        of = max(bisect_left(starts, where) - 1, 0)
        if 0 <= place < sources and citations and place not in citations[of]:
            citations[of].append(place)
    return tuple(
        CitedSentence(text[start:end], tuple(places))
        for (start, end), places in zip(spans, citations, strict=True)
    )


def _line_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence; a line is one at least, without the mark of a list."""
    for line in re.finditer(r"[^\n]+", text):
        mark = _LIST_MARK.match(line[0].lstrip())
        skipped = len(line[0]) - len(line[0].lstrip()) + (mark.end() if mark else 0)
        begin = line.start() + skipped
        yield from ((begin + start, begin + end) for start, end in sentence_spans(line[0][skipped:]))


@dataclass(frozen=True, slots=True)
class BestSentences:
    """Takes the best sentences of all sources, in the order of the sources."""

    sentences: int = SENTENCES
    max_words: int = MAX_WORDS

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Answer from all sources given; empty where no sentence shares a rare word with the topic."""
        candidates = list(_candidates(sources))
        ranked = nearest(topic.text, [each.text for each in candidates], most=len(candidates))
        chosen: dict[int, list[int]] = {}
        for hit in ranked:
            source = candidates[hit.place].source
            picked = [candidates[place].text for place in chosen]
            like = nearest(candidates[hit.place].text, picked, most=1)
            if like and like[0].score >= REPEATS:
                citations = chosen[list(chosen)[like[0].place]]
                if source not in citations:
                    citations.append(source)
            elif len(chosen) < self.sentences:
                chosen[hit.place] = [source]
        answer = [CitedSentence(candidates[place].text, tuple(chosen[place])) for place in sorted(chosen)]
        steps = [
            SystemStep("choose", "", topic.text, candidates[hit.place].text, candidates[hit.place].source)
            for hit in ranked
            if hit.place in chosen
        ]
        return Answer(first_words(answer, self.max_words), tuple(sources), tuple(steps))

    def calls(self, sources: int) -> int:
        """Return 0: there is no model."""
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
        reply = model.ask("answer", system_prompt(self.prompt), query=query)
        passages = tuple(CitedSentence(passage) for passage in passages_of(reply))
        return Answer(passages, (), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Return 1."""
        return 1


def passages_of(text: str, tokens: int = MAX_TOKENS) -> Iterator[str]:
    r"""Cut a text into passages of at most `tokens` tokens: between paragraphs, else between sentences.

    The Workbench's generated systems have passages of "about 400 words" (section 6). What is longer than
    MAX_TOKENS would be cut again when it is graded. Paragraphs are joined while they fit. A sentence that is
    longer is a passage of its own.

    >>> list(passages_of("One two.\n\nThree four.\n\nFive six seven. Eight nine ten.", 6))
    ['One two.\n\nThree four.', 'Five six seven.', 'Eight nine ten.']
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
    """Yield (paragraph, or sentence of a long one; what stands before it where it is joined to another)."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if count_tokens(paragraph) <= tokens:
            yield paragraph.strip(), "\n\n"
        else:
            for number, (start, end) in enumerate(sentence_spans(paragraph)):
                yield paragraph[start:end], " " if number else "\n\n"


@dataclass(frozen=True, slots=True)
class Ragnarok:
    """Asks once with the prompt of Figure 2, and parses the citations of the reply."""

    llm: TextModel
    max_words: int = MAX_WORDS

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Answer from all sources given. Raises whatever the model raises where it cannot be asked."""
        model = RecordingModel(self.llm)
        contexts = "\n".join(
            f"[{number}] {source.title}: {source.text}" if source.title else f"[{number}] {source.text}"
            for number, source in enumerate(sources, 1)
        )
        reply = model.ask("answer", system_prompt("ChatQa"), query=topic.text, contexts=contexts)
        sentences = first_words(cited_sentences(reply, len(sources)), self.max_words)
        return Answer(sentences, tuple(sources), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Return 1."""
        return 1


@dataclass(frozen=True, slots=True)
class SpanCiting:
    """Asks once for an answer whose citations are spans; each goes to the sentence in which its span ends.

    So Ragnarök reads Command R+ (Pradeep et al. 2024, section 6). The words of the prompt are our own.
    """

    llm: TextModel
    max_words: int = MAX_WORDS

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Answer from all sources given. Raises whatever the model raises where it cannot be asked."""
        model = RecordingModel(self.llm)
        contexts = "\n\n".join(
            f"Document: {number}\n{source.title}\n{source.text}" for number, source in enumerate(sources)
        )
        reply = model.ask("answer", system_prompt("Spans"), query=topic.text, contexts=contexts)
        text, spans = marked_spans(reply)
        sentences = first_words(span_sentences(text, spans, len(sources)), self.max_words)
        return Answer(sentences, tuple(sources), tuple(model.steps))

    def calls(self, sources: int) -> int:
        """Return 1."""
        return 1


def output(answer: Answer) -> str:
    """Return the JSON of section 3.1: references, answer, and the answer's length in characters.

    The paper counts characters, the track that it was made for words; a run's file has words.

    >>> from grading.systems import CitedSentence
    >>> print(output(Answer((CitedSentence("Tides rise.", (0,)),), (Source("d7", "..."),))))
    {"references": ["d7"], "answer": [{"text": "Tides rise.", "citations": [0]}], "response_length": 11}
    """
    return json.dumps(document(answer), ensure_ascii=False)


def document(answer: Answer) -> dict[str, object]:
    """Return what `output` writes."""
    return {
        "references": [source.passage_id for source in answer.sources],
        "answer": [
            {"text": sentence.text, "citations": list(sentence.citations)} for sentence in answer.sentences
        ],
        "response_length": sum(len(sentence.text) for sentence in answer.sentences),
    }
