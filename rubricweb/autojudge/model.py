"""The settings of a workflow, the language model named by the environment, and the table of its replies.

The language model named by the environment, and the table of its replies.

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
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from grading import prompts
from grading.errors import GraderUnavailable, GradingError
from grading.generation import TextModel
from grading.graders import JSON, GraderSpec
from grading.graders.backend_options import DEFAULT, Thinking
from grading.graders.completions import Message, read
from grading.graders.connection import Connection
from grading.graders.openai_client import ChatClient, ChatOptions
from grading.graders.registry import BACKENDS, build
from grading.graders.replies import NoReply, ReplyText
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, ItemKind, Purpose

if TYPE_CHECKING:
    from minima_llm import PromptCache


class BadSetting(GradingError):
    """A setting of `workflow.yml` that does not exist, or cannot have its value."""


class GradeText(StrEnum):
    """What of a report is graded, in the track's words."""

    RESPONSE = "response"
    DOCUMENT = "document"
    DOCUMENT_PARAGRAPHS = "document_paragraphs"
    RESPONSE_AND_DOCUMENTS = "response_and_documents"
    RESPONSE_AND_DOCUMENT_PARAGRAPHS = "response_and_document_paragraphs"

    @property
    def has_response(self) -> bool:
        return self.value.startswith("response")

    @property
    def has_documents(self) -> bool:
        return "document" in self.value

    @property
    def has_paragraphs(self) -> bool:
        return self.value.endswith("paragraphs")


class Query(StrEnum):
    """Which fields of a topic make its query."""

    TITLE = "title"
    PROBLEM_STATEMENT = "problem_statement"
    """The title where a topic has none."""
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of all phases, each with its default."""

    filebase: str = ""
    """Path and name of the files that a phase writes, without their ends; empty: none are written."""
    outdir: Path = Path()
    description: str = ""
    """Not read."""
    query: Query = Query.BOTH
    kind: ItemKind = ItemKind.QUESTION
    """What is drafted: questions, or nuggets."""
    draft_prompt: str = ""
    """The class of the drafting prompt; empty for the one of TREC DL."""
    most_items: int = 10
    """Kept of a topic's drafts."""
    weigh: bool = False
    """Whether the model says which drafts are vital."""
    grade_text: GradeText = GradeText.RESPONSE
    rating_prompt: str = ""
    """The class of the prompt that rates; empty for the back-end's own of each kind."""
    label_prompt: str = "UmbrelaStyle"
    """The class of the prompt that labels responses where qrels are made without nuggets."""
    grade_threshold: int = 4
    """The lowest grade that covers an item."""
    concurrency: int = 8
    """Calls under way at once."""
    attempts: int = 3
    """Maximum tries of a call."""
    timeout_s: float = 120.0
    """Seconds for one attempt."""
    max_new_tokens: int = 64
    """Maximum tokens of a rating."""
    longest_draft: int = 512
    """Tokens of a reply that lists drafts."""
    top_logprobs: int = 0
    """Alternatives that are asked for, to tell confidence; 0 keeps the requests as other judges make them."""
    thinking: str = DEFAULT
    """Whether the model thinks first: on, off, or default. As do the next two, it makes other requests."""
    reasoning_effort: str = DEFAULT
    """How long it thinks, where it can be told so."""
    request_fields: str = "{}"
    """Further fields of each request, as a JSON object."""

    @property
    def thinking_options(self) -> dict[str, str]:
        """Return the last three, where they are not the defaults."""
        return {
            each.name: value
            for each in fields(Thinking)
            if (value := getattr(self, each.name)) != each.default
        }


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Return the settings. Raises BadSetting for an unknown name, or a value that does not fit.

    >>> settings_of({"grade_threshold": "5"}).grade_threshold
    5
    """
    by_name = {field.name: type(field.default) for field in fields(Settings)}
    unknown = sorted(set(given) - set(by_name))
    if unknown:
        raise BadSetting(f"no setting {', '.join(unknown)}; known are {', '.join(by_name)}")
    return Settings(**{name: _value(name, by_name[name], value) for name, value in given.items()})


def _value(name: str, kind: type, value: object) -> Any:
    if issubclass(kind, bool):
        values = {"true": True, "false": False}
        if isinstance(value, bool):
            return value
        if str(value).lower() not in values:
            raise BadSetting(f"{name} is {value!r}, expected true or false")
        return values[str(value).lower()]
    try:
        return kind(value)  # type: ignore[call-arg]  # each of these classes takes one value
    except (TypeError, ValueError) as error:
        choices = f", expected one of {', '.join(kind)}" if issubclass(kind, StrEnum) else ""
        raise BadSetting(f"{name} is {value!r}{choices}: {error}") from error


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
            message = {"role": "assistant", "content": text}
            return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
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
        return ReplyText.of(self.client.ask(messages))


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

    def prompt_for(self, kind: ItemKind) -> prompts.Prompt:
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
