"""Draft questions or nuggets for a topic."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from grading.errors import ParseFailure, UnknownPrompt
from grading.generation import prompts
from grading.generation.parsing import parse_drafts
from grading.generation.prompts import DraftPrompt
from grading.types import ItemKind, Topic

logger = logging.getLogger(__name__)

TRIES = 3
"""Calls of the model before giving up."""
_SHOWN = 120
"""Characters of the last reply that an error quotes."""


class TextModel(Protocol):
    """Anything that completes a chat: (role, text) messages to the answer's text."""

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the answer without thinking: an `Answer` where a model wrote it.

        Raises NoReply where the model gives none, or cannot be asked.
        """
        ...


@dataclass(frozen=True, slots=True)
class DraftTask:
    """What to draft: for a topic, or for a subtopic of it."""

    topic: Topic
    kind: ItemKind
    subtopic: str = ""
    prompt_class: str = ""
    """Empty for the TREC CAR prompt with a subtopic, else the TREC DL one."""

    @property
    def prompt(self) -> DraftPrompt:
        """Raises UnknownPrompt, also for a prompt that drafts the other kind or needs the subtopic."""
        style = "TrecCar" if self.subtopic else "TrecDl"
        what = "Questions" if self.kind is ItemKind.QUESTION else "Nuggets"
        prompt = prompts.get(self.prompt_class or f"{style}{what}")
        if not prompt.drafts or prompt.kind is not self.kind:
            raise UnknownPrompt(f"{prompt.prompt_class} does not draft {self.kind} items")
        if prompt.needs_subtopic and not self.subtopic:
            raise UnknownPrompt(f"{prompt.prompt_class} drafts for a subtopic, and none is given")
        return prompt

    @property
    def messages(self) -> list[tuple[str, str]]:
        """The messages to the model."""
        words = {
            "query_text": self.topic.text,
            "query_title": self.topic.text,
            "query_subtopic": self.subtopic,
        }
        return [("user", self.prompt.render(words))]


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafted texts, with the provenance that items keep."""

    texts: tuple[str, ...]
    raw: str
    """The reply that lists the texts, verbatim."""
    prompt_id: str
    tries: int


def draft(llm: TextModel, request: DraftTask) -> Drafts:
    """Ask until a reply lists something, TRIES times at most.

    Raises ParseFailure, which quotes the last reply, and whatever the model raises where it cannot be asked.
    """
    messages = request.messages
    raw = ""
    for tries in range(1, TRIES + 1):
        raw = llm.complete(messages)
        if texts := parse_drafts(raw):
            return Drafts(tuple(texts), raw, request.prompt.prompt_id, tries)
        logger.info("draft %d of %d for topic %s listed nothing", tries, TRIES, request.topic.query_id)
    raise ParseFailure(f"no {request.kind} in {TRIES} replies; the last one begins: {raw[:_SHOWN]!r}")
