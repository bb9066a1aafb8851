"""The systems of the papers: retrieval, reranking, and answers with citations; here what they share.

The prompts are in prompts.toml beside this file and are read once a process. A prompt that has made a run is
never edited: a changed text is a new version, and a run's provenance names the version that it used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from grading.generation import TextModel
from grading.prompts.chat import ChatPrompt, chat_prompt
from grading.types import Citation, Response, Sentence, Topic

__all__ = ("SystemPrompt", "system_prompt")

SystemPrompt: TypeAlias = ChatPrompt
"""The prompt of a system at one step. Its replies are free text: it has no labels."""


MAX_WORDS = 400
"""The longest answer that TREC RAG 2024 takes; the papers of the systems give none."""


def system_prompt(name: str) -> SystemPrompt:
    """Return the prompt of a name, such as "KeyFacts". Raises UnknownPrompt, which lists the known ones.

    >>> system_prompt("KeyFacts").prompt_id
    'KeyFacts@1'
    """
    return chat_prompt("grading.systems", name)


@dataclass(frozen=True, slots=True)
class Source:
    """A retrieved passage that an answer may cite."""

    passage_id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer, with the sources that it cites by position, from 0, best first."""

    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemStep:
    """One call of a model, or one rule that was applied."""

    stage: str
    """Such as "extract", "verify", "smooth"."""
    prompt_id: str
    """Empty where no model was asked."""
    prompt: str
    reply: str
    source: int | None = None
    """The position of the source that it is about, from 0."""
    fact: str = ""
    """The key fact that it is about."""

    @property
    def number(self) -> int | None:
        """Return the number of the source, from 1."""
        return None if self.source is None else self.source + 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system answers to one topic, and how it came to it."""

    sentences: tuple[CitedSentence, ...]
    sources: tuple[Source, ...]
    steps: tuple[SystemStep, ...] = ()

    def response(self, run_tag: str, query_id: str, *, team: str = "") -> Response:
        """Return the answer as a run's response; its references are all sources, in their order."""
        references = tuple(source.passage_id for source in self.sources)
        sentences = tuple(
            Sentence(sentence.text, tuple(Citation(references[place]) for place in sentence.citations))
            for sentence in self.sentences
        )
        return Response(run_tag, query_id, sentences, team=team, references=references)


class AnswerSystem(Protocol):
    """Answers one topic from sources, best first."""

    def answer(self, topic: Topic, sources: Sequence[Source]) -> Answer:
        """Answer the topic. Raises whatever its model raises where it cannot be asked."""
        ...

    def calls(self, sources: int) -> int:
        """Return how many calls of the model an answer from so many sources is expected to take."""
        ...


@dataclass(slots=True)
class RecordingModel:
    """A model whose calls are kept as steps."""

    llm: TextModel
    steps: list[SystemStep] = field(default_factory=list)

    def ask(
        self, stage: str, prompt: SystemPrompt, *, source: int | None = None, fact: str = "", **texts: str
    ) -> str:
        """Return the stripped answer to a filled prompt; `fact` is one of its words, too. Raises NoReply."""
        messages = prompt.messages(fact=fact, **texts)
        return self.send(stage, prompt.prompt_id, messages, source=source, fact=fact)

    def send(
        self,
        stage: str,
        prompt_id: str,
        messages: Sequence[tuple[str, str]],
        *,
        source: int | None = None,
        fact: str = "",
    ) -> str:
        """Return the stripped answer to messages of (role, text). Raises NoReply."""
        reply = self.llm.complete(messages)
        text = "\n\n".join(text for _, text in messages)
        self.steps.append(SystemStep(stage, prompt_id, text, reply, source, fact))
        return reply.strip()


def first_words(sentences: Sequence[CitedSentence], most: int = MAX_WORDS) -> tuple[CitedSentence, ...]:
    """Return the first sentences that have at most `most` words together; the first one always.

    >>> first_words([CitedSentence("One two."), CitedSentence("Three four five."), CitedSentence("Six.")], 4)
    (CitedSentence(text='One two.', citations=()),)
    """
    kept: list[CitedSentence] = []
    length = 0
    for sentence in sentences:
        length += len(sentence.text.split())
        if kept and length > most:
            break
        kept.append(sentence)
    return tuple(kept)
