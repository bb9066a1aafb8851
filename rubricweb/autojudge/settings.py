"""The settings of a workflow, which the track's runner passes to all phases alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from grading.errors import GradingError
from grading.graders.backend_options import DEFAULT, Thinking
from grading.types import ItemKind


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
        """The last three, where they are not the defaults."""
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
        return _switch(name, value)
    try:
        return kind(value)  # type: ignore[call-arg]  # each of these classes takes one value
    except (TypeError, ValueError) as error:
        choices = f", expected one of {', '.join(kind)}" if issubclass(kind, StrEnum) else ""
        raise BadSetting(f"{name} is {value!r}{choices}: {error}") from error


def _switch(name: str, value: object) -> bool:
    values = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in values:
        raise BadSetting(f"{name} is {value!r}, expected true or false")
    return values[str(value).lower()]
