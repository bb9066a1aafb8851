"""The language model named by the environment, and the table of its replies.

Judges of TREC AutoJudge share one table of replies, `$CACHE_DIR/minima_llm.db`. The organizers run a judge
again with its model switched off, so every reply of the first run has to be in the table. A row's key is of
the model, the messages and the parameters, not of the server's address.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from grading import prompts
from grading.errors import GraderUnavailable
from grading.generation.drafting import TextModel
from grading.graders import BACKENDS, JSON, Connection, GraderSpec, build
from grading.graders.backend_options import Thinking
from grading.graders.completions import Message, read
from grading.graders.openai_client import ChatClient, ChatOptions
from grading.graders.replies import Answer, NoReply
from grading.prompts import Prompt
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, ItemKind, Purpose
from rubricweb.autojudge.settings import Settings

if TYPE_CHECKING:
    from minima_llm import PromptCache


FILE = "minima_llm.db"
_NAMED = ("model", "messages", "temperature", "max_tokens")
Json = Mapping[str, Any]

BACKEND = "openai_compatible"
DEFAULT_URL = "https://api.openai.com/v1"


class SharedReplies:
    """A `ReplyStore` on minima-llm's own table; each thread has its connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = threading.local()

    def get(self, request: Json) -> Json | None:
        """Return the reply that this judge or another one kept; None without one."""
        row = self._table.get(key_of(canonical(request)))
        if row is None:
            return None
        text, raw = row
        if text and not (raw and raw.get("choices")):
            return _completion(text)
        return raw or None

    def put(self, request: Json, reply: Json) -> None:
        try:
            text = read(reply).raw
        except NoReply as error:
            text = error.raw
        canonical_text = canonical(request)
        self._table.put(
            key_of(canonical_text), text, dict(reply), model=request["model"], canonical=canonical_text
        )

    @property
    def _table(self) -> PromptCache:
        if not hasattr(self._held, "table"):
            from minima_llm import PromptCache

            self._folder.mkdir(parents=True, exist_ok=True)
            self._held.table = PromptCache(str(self._folder / FILE))
        table: PromptCache = self._held.table
        return table


def canonical(request: Json) -> str:
    """Return what is hashed: JSON with sorted names, ASCII, without blanks; rarer parameters under `extra`.

    >>> canonical({"model": "m", "messages": [], "temperature": 0, "max_tokens": 8})
    '{"max_tokens":8,"messages":[],"model":"m","temperature":0}'
    """
    stated = {name: request[name] for name in _NAMED if request.get(name) is not None}
    extra = {name: value for name, value in request.items() if name not in _NAMED}
    whole = {**stated, **({"extra": extra} if extra else {})}
    return json.dumps(whole, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def key_of(canonical_text: str) -> str:
    return hashlib.sha256(canonical_text.encode()).hexdigest()


def _completion(text: str) -> Json:
    """Return a reply of which only the words are known."""
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


logger = logging.getLogger(__name__)
Graded = Mapping[tuple[str, str], Grade]
"""Keyed by the ids of item and passage, without pairs whose reply could not be parsed."""


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
    """The model of a judge, which is loaded and asked only when a draft or a grade is due."""

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
        registered = (prompts.get(name) for name in (*named, *BACKENDS[BACKEND].prompt_classes))
        return next(
            prompt for prompt in registered if kind in prompt.kinds and prompt.purpose is Purpose.RATE
        )

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
