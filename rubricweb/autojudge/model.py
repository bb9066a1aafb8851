"""The model that the environment names, as the runner read it: it drafts, and it grades."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grading import prompts
from grading.errors import GraderUnavailable
from grading.generation.drafting import TextModel
from grading.graders import BACKENDS, JSON, Connection, GraderSpec, build
from grading.graders.backend_options import Thinking
from grading.graders.completions import Message
from grading.graders.openai_client import ChatClient, ChatOptions
from grading.graders.replies import Answer
from grading.prompts import Prompt
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, ItemKind, Purpose
from rubricweb.autojudge.replies import SharedReplies
from rubricweb.autojudge.settings import Settings

logger = logging.getLogger(__name__)

BACKEND = "openai_compatible"
DEFAULT_URL = "https://api.openai.com/v1"
Graded = Mapping[tuple[str, str], Grade]
"""By the ids of item and passage; a pair whose reply could not be read is missing."""


class ModelConfig(Protocol):
    """What the runner passes as `llm_config`."""

    model: str
    base_url: str | None
    api_key: str | None
    cache_dir: Path | None


@dataclass(frozen=True, slots=True)
class Writer:
    """A `TextModel`."""

    client: ChatClient

    def complete(self, messages: Sequence[Message]) -> str:
        return Answer.of(self.client.ask(messages))


@dataclass(frozen=True, slots=True)
class Model:
    """Nothing is asked before a draft or a grade is."""

    llm: str
    connection: Connection
    settings: Settings

    @classmethod
    def of(cls, config: ModelConfig, settings: Settings) -> Model:
        replies = SharedReplies(Path(config.cache_dir)) if config.cache_dir else None
        connection = Connection(config.base_url or DEFAULT_URL, config.api_key or "", replies)
        return cls(config.model, connection, settings)

    @contextmanager
    def writing(self) -> Iterator[TextModel]:
        """Yield what drafts. Its calls raise NoReply."""
        settings = self.settings
        call = ChatOptions(
            self.llm,
            settings.longest_draft,
            thinking=Thinking.of(settings.thinking_options),
            timeout_s=settings.timeout_s,
            attempts=settings.attempts,
        )
        client = ChatClient(self.connection, call)
        try:
            yield Writer(client)
        finally:
            client.close()

    def grade(self, cells: Iterable[CellToGrade]) -> Graded:
        """Grade every pair of an item and a passage once.

        Raises GraderUnavailable where the server does not answer: an unfinished leaderboard would be taken
        for a finished one.
        """
        once = {(cell.item.item_id, cell.passage.passage_id): cell for cell in cells}
        by_kind: dict[ItemKind, list[CellToGrade]] = {}
        for cell in once.values():
            by_kind.setdefault(cell.item.kind, []).append(cell)
        graded: dict[tuple[str, str], Grade] = {}
        for kind, of_kind in by_kind.items():
            graded |= self._grade(of_kind, self.prompt_for(kind).prompt_class)
        return graded

    def prompt_for(self, kind: ItemKind) -> Prompt:
        """Return the prompt that the settings name, or the back-end's first that rates such items."""
        if kind is ItemKind.DIRECT:
            return prompts.get(self.settings.label_prompt)
        named = [self.settings.rating_prompt] if self.settings.rating_prompt else []
        known = (prompts.get(name) for name in (*named, *BACKENDS[BACKEND].prompt_classes))
        return next(prompt for prompt in known if kind in prompt.kinds and prompt.purpose is Purpose.RATE)

    def _grade(self, cells: list[CellToGrade], prompt_class: str) -> Graded:
        grader = build(GraderSpec(BACKEND, self.llm, prompt_class, self._options()), self.connection)
        graded, unread = {}, 0
        try:
            for result in grader.grade(cells):
                if isinstance(result, GradeFailure):
                    _check(result)
                    unread += 1
                else:
                    graded[result.item_id, result.passage_id] = result
        finally:
            grader.close()
        if unread:
            logger.warning("%d of %d replies to %s hold no grade", unread, len(cells), prompt_class)
        return graded

    def _options(self) -> dict[str, JSON]:
        names = ("concurrency", "attempts", "timeout_s", "max_new_tokens", "top_logprobs")
        return {name: getattr(self.settings, name) for name in names} | self.settings.thinking_options


def _check(failure: GradeFailure) -> None:
    """Raise GraderUnavailable unless the model replied, in whatever words."""
    is_reply = failure.trace is not None and failure.error_class in (ErrorClass.PARSE, ErrorClass.OTHER)
    if not is_reply:
        raise GraderUnavailable(f"{failure.item_id} and passage {failure.passage_id}: {failure.reason}")
