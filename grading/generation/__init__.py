"""First drafts of a bank by a language model, for people to accept or reject, and which nuggets are vital."""

from __future__ import annotations

import ast
import json
import logging
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Protocol

from grading.errors import ParseFailure, UnknownPrompt
from grading.formats.reading import text_lines
from grading.graders.replies import NoReply
from grading.parsing import json_objects
from grading.prompts.chat import fill, find_prompt
from grading.types import Importance, ItemKind, Topic

LONGEST = 400
"""Characters; a longer text is prose around the drafts, not one of them."""

_LONGEST_LITERAL = 20_000
_KEYS = ("questions", "nuggets", "question_set", "nugget_set", "key_facts", "facts", "items")
_TEXT_KEYS = ("text", "question", "nugget", "question_text", "nugget_text", "key_fact", "fact")
# Blanks of one line, never given back: a long run of them costs no more than its length.
_BLANKS = r"[^\S\n]*+"
_QUOTED = re.compile(rf'"((?:[^"\\\n]|\\.)++)"{_BLANKS}(?=[,\]\n]|$)')
_MARK = r"(?:[(\[]?\d{1,3}[.):\]]|(?:[QqNn]|Question\s+|Nugget\s+|Fact\s+)\d{1,3}[.):]|[-*\u2022\u2013])"
_MARKED = re.compile(rf"^{_BLANKS}\**{_MARK}\**\s*+(\S.*)$", re.MULTILINE)
_QUOTED_LINE = re.compile(rf'^{_BLANKS}(?:{_MARK}\s*+)?"([^"\n]+)"', re.MULTILINE)
_NUMBER = re.compile(rf"^\**{_MARK}\**\s+")
_NAMED = re.compile(r"^(?:questions?|nuggets?|(?:key )?facts?)(?: \d{1,3})?: *", re.IGNORECASE)
_PIECES = re.compile(r'\n+|(?<=[.?!])\s+|"\s*,\s*')
_REPEATED, _WORDS, _LETTERS = 3, 3, 16
"""Pieces of a reply in a row that were written before, and what makes a piece long enough to count."""
_AROUND = " \t\r\n\"'`,*_\u201c\u201d\u2018\u2019"


_PLACEHOLDER = re.compile(r"\{(query_text|query_title|query_subtopic|nuggets|count)\}")
logger = logging.getLogger(__name__)
TRIES = 3
"""Calls of the model before giving up."""
_SHOWN = 120
"""Characters of the last reply that an error quotes."""
WINDOW = 10
"""Nuggets per request."""
_LABEL = re.compile(r"(?<![^\W_])(vital|okay)(?![^\W_])", re.IGNORECASE)


def parse_drafts(reply: str) -> list[str]:
    """Return the texts that a reply lists, each once, in order; empty if it lists none.

    Understands a JSON object with a list, a JSON or Python list, a list that was cut off (without its last,
    unfinished text), lines that begin with quotes, numbered or bulleted lines, and lines that end with "?".
    """
    for reading in (
        _in_object,
        _in_list,
        _in_broken_list,
        _in_quoted_lines,
        _in_marked_lines,
        _in_question_lines,
    ):
        if texts := _clean(reading(reply)):
            return texts
    return []


def _in_object(reply: str) -> Iterator[str]:
    for entry in json_objects(reply):
        by_key = {key.lower(): value for key, value in entry.items()}
        lists = [value for value in by_key.values() if isinstance(value, list)]
        for value in [by_key[key] for key in _KEYS if key in by_key] or lists[:1]:
            yield from _texts(value)
            return


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a list of strings or of objects; a single string is read line by line."""
    if isinstance(value, str):
        yield from _in_marked_lines(value) if _MARKED.search(value) else text_lines(value)
    elif isinstance(value, dict):
        yield from (text for text in value.values() if isinstance(text, str))
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, str):
                yield entry
            elif isinstance(entry, dict):
                named = (entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str))
                yield from (text for text in list(named)[:1])


def _in_list(reply: str) -> Iterator[str]:
    start = reply.find("[")
    if start < 0:
        return
    try:
        value, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):
        value = _python_list(reply[start : reply.rfind("]") + 1])
    yield from _texts(value)


def _python_list(text: str) -> object:
    if "\\" in text or len(text) > _LONGEST_LITERAL:  # an unknown escape would warn
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _in_broken_list(reply: str) -> Iterator[str]:
    """Yield the strings in quotes after the first bracket, each up to its closing quote."""
    start = reply.find("[")
    if start >= 0:
        for match in _QUOTED.finditer(reply, start):
            try:
                yield json.loads(f'"{match[1]}"')
            except ValueError:
                yield match[1]


def _in_quoted_lines(reply: str) -> Iterator[str]:
    yield from (match[1] for match in _QUOTED_LINE.finditer(reply))


def _in_marked_lines(reply: str) -> Iterator[str]:
    yield from (match[1] for match in _MARKED.finditer(reply))


def _in_question_lines(reply: str) -> Iterator[str]:
    yield from (line for line in text_lines(reply) if line.rstrip(_AROUND).endswith("?"))


def _clean(texts: Iterator[str]) -> list[str]:
    """Strip numbers, "Question:", quotes and commas; drop repeats, single characters and prose."""
    kept: dict[str, str] = {}
    for raw in texts:
        unnumbered = _NUMBER.sub("", raw.strip(_AROUND)).strip(_AROUND)
        text = " ".join(_NAMED.sub("", unnumbered).strip(_AROUND).split())
        if 1 < len(text) <= LONGEST and any(map(str.isalnum, text)):
            kept.setdefault(text.casefold(), text)
    return list(kept.values())


def repeats(reply: str) -> bool:
    r"""Tell whether the last three lines or sentences were all written before in the reply.

    Short ones do not count: a list of labels may well say "vital" ten times.

    >>> repeats("1. Who built the bridge?\n2. Why was it built?\n3. Who built the bridge?\n")
    False
    >>> repeats("4. Who built the bridge?\n" * 4)
    True
    """
    pieces = (re.findall(r"[^\W\d_]+", piece.lower()) for piece in _PIECES.split(reply)[:-1])
    long = [piece for piece in pieces if len(piece) >= _WORDS or sum(map(len, piece)) >= _LETTERS]
    places = range(len(long) - _REPEATED, len(long))
    return len(long) > _REPEATED and all(long[place] in long[:place] for place in places)


@dataclass(frozen=True, slots=True)
class DraftPrompt:
    """A template about a topic, without a passage."""

    prompt_class: str
    version: str
    kind: ItemKind
    template: str
    source: str
    """The paper and table that it comes from."""

    @property
    def prompt_id(self) -> str:
        """Return `CLASS@version`, which names these exact words for ever."""
        return f"{self.prompt_class}@{self.version}"

    @property
    def drafts(self) -> bool:
        """Return whether it asks for items, rather than about existing ones."""
        return "{nuggets}" not in self.template

    def render(self, texts: Mapping[str, str]) -> str:
        """Fill the template's own placeholders (`control_tokens.fill`)."""
        return fill(self.template, _PLACEHOLDER, texts)


def drafting_prompt(prompt_class: str) -> DraftPrompt:
    """Return the prompt of a class. Raises UnknownPrompt, which lists the known ones."""
    return find_prompt(drafting_prompts(), prompt_class, problem="no drafting prompt")


@cache
def drafting_prompts() -> dict[str, DraftPrompt]:
    """Return every prompt by its class, in the order of the file."""
    file = tomllib.loads((resources.files(__package__) / "prompts.toml").read_text(encoding="utf-8"))
    return {
        entry["prompt_class"]: DraftPrompt(
            prompt_class=entry["prompt_class"],
            version=entry["version"],
            kind=ItemKind(entry["kind"]),
            template=entry["template"].replace("{instruction}", file["instruction"][entry["kind"]]),
            source=entry["source"],
        )
        for entry in file["prompt"]
    }


class TextModel(Protocol):
    """Anything that completes a chat: (role, text) messages to the answer's text."""

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the answer without thinking: a `ReplyText` where a model wrote it.

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
        """Return the prompt. Raises UnknownPrompt, also for another kind or one that needs a subtopic."""
        style = "TrecCar" if self.subtopic else "TrecDl"
        what = "Questions" if self.kind is ItemKind.QUESTION else "Nuggets"
        prompt = drafting_prompt(self.prompt_class or f"{style}{what}")
        if not prompt.drafts or prompt.kind is not self.kind:
            raise UnknownPrompt(f"{prompt.prompt_class} does not draft {self.kind} items")
        if "{query_subtopic}" in prompt.template and not self.subtopic:
            raise UnknownPrompt(f"{prompt.prompt_class} drafts for a subtopic, and none is given")
        return prompt

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Return the messages to the model."""
        texts = {
            "query_text": self.topic.text,
            "query_title": self.topic.text,
            "query_subtopic": self.subtopic,
        }
        return [("user", self.prompt.render(texts))]


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


@dataclass(frozen=True, slots=True)
class Importances:
    """One label per nugget, in their order."""

    labels: tuple[Importance, ...]
    unsaid: tuple[int, ...]
    """Places labelled OKAY only because no reply labelled each nugget of their window."""
    prompt_id: str

    @property
    def defaulted(self) -> int:
        return len(self.unsaid)


def weigh(llm: TextModel, topic: Topic, nuggets: Sequence[str]) -> Importances:
    """Label window by window, TRIES times at most; without an answer OKAY, as in the published tool.

    Raises NoReply where the model cannot be asked, or answers for no window.
    """
    labels: list[Importance] = []
    unsaid: list[int] = []
    no_reply: NoReply | None = None
    for start in range(0, len(nuggets), WINDOW):
        window, window_labels = nuggets[start : start + WINDOW], []
        try:
            window_labels = _weigh_window(llm, topic, window)
        except NoReply as error:
            if not error.is_of_prompt:
                raise
            no_reply = error
        unsaid += [] if window_labels else range(start, start + len(window))
        labels += window_labels or [Importance.OKAY] * len(window)
    if no_reply and len(unsaid) == len(nuggets):
        raise no_reply
    return Importances(tuple(labels), tuple(unsaid), drafting_prompt("NuggetImportance").prompt_id)


def parse_importances(reply: str, count: int) -> list[Importance]:
    """Return the labels in a reply; empty unless there are exactly `count`."""
    last_list = reply[reply.rfind("[") + 1 :] if "[" in reply else reply
    labels = [Importance(label.lower()) for label in _LABEL.findall(last_list)]
    return labels if len(labels) == count else []


def _weigh_window(llm: TextModel, topic: Topic, window: Sequence[str]) -> list[Importance]:
    texts = {
        "query_text": topic.text,
        "nuggets": "\n".join(f"[{number}] {nugget}" for number, nugget in enumerate(window, 1)),
        "count": str(len(window)),
    }
    messages = [("user", drafting_prompt("NuggetImportance").render(texts))]
    for _ in range(TRIES):
        if labels := parse_importances(llm.complete(messages), len(window)):
            return labels
    return []
