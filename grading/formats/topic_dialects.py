"""The JSON objects that tracks write for a topic, and what of them is modelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grading.errors import BadFormat
from grading.formats.json_lines import whole

_MIRRORS = ("topic_id", "narrative_id")
"""Further names that AutoJudge requests may have for their id."""
_NUMBERS = ("limit_words", "limit_characters")
_IDS = ("query_id",)
_OF_ANOTHER_CONTENT = frozenset(
    {"text", "segment", "contents", "answer", "responses", "nuggets", "candidates"}
)


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic as a file has it. What the file does not say is empty or None."""

    query_id: str
    title: str = ""
    """The query; where a track has only one text, that one."""
    description: str = ""
    narrative: str = ""
    background: str = ""
    """Who asks, and what for."""
    limit_words: int | None = None
    """The longest response, in words; `limit_characters` in characters."""
    limit_characters: int | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    """Categories and scores of the topic by their names (TREC RAG 2024, 5)."""
    foreign: Mapping[str, object] | None = None
    """The JSON object exactly as read; None where the topic is not from one."""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TopicDialect:
    """One track's JSON object for a topic."""

    name: str
    label: str
    keys: Mapping[str, str]
    """Field of `TopicEntry` -> key of the object."""
    needed: frozenset[str]
    """Keys by which the objects are recognised."""
    source: str

    def begins(self, raw: Mapping[str, object]) -> bool:
        """Return whether a file that begins with this object is one of topics in this dialect."""
        return dialect_of(raw) is self and not raw.keys() & _OF_ANOTHER_CONTENT


AUTOJUDGE_KEYS = {
    "query_id": "request_id",
    "title": "title",
    "narrative": "problem_statement",
    "background": "background",
    "limit_words": "word_limit",
    "limit_characters": "limit",
    "attributes": "attributes",
}
DIALECTS = (
    TopicDialect(
        "autojudge-requests",
        "AutoJudge requests",
        AUTOJUDGE_KEYS,
        frozenset({"request_id"}),
        "TREC AutoJudge, autojudge-base 1.0.0",
    ),
    TopicDialect(
        "biogen-topics",
        "BioGen topics",
        {
            "query_id": "topic_id",
            "title": "title",
            "description": "question",
            "narrative": "narrative",
            "attributes": "attributes",
        },
        frozenset({"topic_id", "question"}),
        "TREC BioGen 2024",
    ),
    TopicDialect(
        "ragtime26-topics",
        "RAGTIME topics",
        {**AUTOJUDGE_KEYS, "query_id": "topic_id"},
        frozenset({"topic_id", "title"}),
        "TREC RAGTIME 2026",
    ),
    TopicDialect(
        "rag25-topics",
        "RAG'25 topics",
        {"query_id": "id", "title": "title", "attributes": "attributes"},
        frozenset({"id", "title"}),
        "TREC RAG 2025",
    ),
)
"""An object is of the first whose keys it has."""


def dialect_of(raw: Mapping[str, object]) -> TopicDialect | None:
    """Return the dialect of a topic's JSON object, by its keys; AutoJudge's also without its id."""
    match = next((dialect for dialect in DIALECTS if raw.keys() >= dialect.needed), None)
    return DIALECTS[0] if match is None and raw.keys() >= {"title", "problem_statement"} else match


def entry_of(raw: Mapping[str, Any], dialect: TopicDialect, line: int) -> TopicEntry:
    """Return the topic of an object. Raises `BadFormat`, without a place, for a field of another type."""
    fields: dict[str, Any] = {name: _value(raw, name, key) for name, key in dialect.keys.items()}
    query_id = fields["query_id"]
    if dialect is DIALECTS[0]:
        for mirror in _MIRRORS:
            stated = _identifier(raw, mirror) if raw.get(mirror) is not None else query_id
            if stated != query_id:
                raise BadFormat(f"{mirror} is {stated}, expected that of request_id, {query_id}")
    return TopicEntry(**fields, foreign=dict(raw), line=line)


def object_of(topic: TopicEntry, dialect: TopicDialect) -> dict[str, object]:
    """Return the topic's object: as read where it is of this dialect, with what has changed since."""
    foreign = topic.foreign or {}
    is_own = dialect_of(foreign) is dialect
    raw: dict[str, object] = dict(foreign) if is_own else {}
    for name, key in dialect.keys.items():
        value = getattr(topic, name)
        if key in raw and _value(raw, name, key) == value:
            continue
        if key in raw or value not in ("", None, {}):
            raw[key] = value
    return raw


def topic_losses(topic: TopicEntry, dialect: TopicDialect | None) -> list[str]:
    """Name what a file of the dialect cannot say of the topic; None stands for id and text only.

    >>> topic_losses(TopicEntry("t1", "bees", narrative="All about bees."), None)
    ['topic t1: narrative']
    """
    fields = ("description", "narrative", "background", "limit_words", "limit_characters", "attributes")
    kept = set(dialect.keys) if dialect else set()
    lost = [name for name in fields if name not in kept and getattr(topic, name) not in ("", None, {})]
    foreign = topic.foreign or {}
    own = dialect_of(foreign)
    if own is not None and own is not dialect:
        lost += [key for key in foreign if key not in own.keys.values()]
    return [f"topic {topic.query_id}: {name}" for name in lost]


def _value(raw: Mapping[str, Any], name: str, key: str) -> object:
    if name in _IDS:
        return _identifier(raw, key)
    value = raw.get(key)
    if name in _NUMBERS:
        return None if value is None else _limit(value, key)
    if name == "attributes":
        if value is not None and not isinstance(value, dict):
            raise BadFormat(f"{key} is {type(value).__name__}, expected a dictionary of names and values")
        return value or {}
    if value is not None and not isinstance(value, str):
        raise BadFormat(f"{key} is {type(value).__name__}, expected text")
    return (value or "").strip()


def _identifier(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadFormat(f"{key} is {'missing' if value is None else type(value).__name__}, expected an id")
    return str(value).strip()


def _limit(value: Any, key: str) -> int:
    limit = whole(value, what=key)
    if limit < 0:
        raise BadFormat(f"{key} is {limit}, expected 0 or more")
    return limit
