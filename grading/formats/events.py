"""What people did in RubricWeb, as Export writes it: ratings, flags, votes and labels of support, by event.

Events have ids or times that stay the same from one download to the next, by which an import knows them.
People are named by their user names, or by pseudonyms that hold for one collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import records
from grading.formats.reading import write_lines
from grading.types import CONTRADICTS, MAX_RATING, MIN_RATING

Text = Annotated[str, Meta(min_length=1)]
Number = Annotated[int, Meta(ge=1)]
Rating = Annotated[int, Meta(ge=CONTRADICTS, le=MAX_RATING)]
"""From 0 to 5, or CONTRADICTS; `_check_rating` refuses what lies between."""
Label = Annotated[int, Meta(ge=CONTRADICTS, le=2)]
"""From 0 to 2, or CONTRADICTS; `_check_label` refuses what lies between."""


class How(StrEnum):
    """The work in which a rating was given, and so what the person had seen."""

    GRID = "grid"
    BLIND = "blind"
    ASSISTED = "assisted"
    VERIFIED = "verified"
    ADJUDICATED = "adjudicated"
    IMPORTED = "imported"


class GraderVerdict(StrEnum):
    """A person's verdict on a grader's rating that was shown."""

    NONE = ""
    RIGHT = "right"
    WRONG = "wrong"


class Verb(StrEnum):
    """What became of a flag."""

    OPENED = "opened"
    REPLIED = "replied"
    ASSIGNED = "assigned"
    RESOLVED = "resolved"
    REOPENED = "reopened"


class Verdict(StrEnum):
    """The better of two answers, or of two answers' citations."""

    NONE = ""
    LEFT = "left"
    TIE = "tie"
    RIGHT = "right"
    BOTH_BAD = "both_bad"


class RatingEvent(Struct, frozen=True, kw_only=True):
    """A rating, change, undo or decision. `number` counts the assessor's events of the cell, from 1."""

    event: Text
    query_id: Text
    item_id: Text
    passage_id: Text
    assessor: Text
    number: Number
    rating: Rating | None
    """None where the grader was only found wrong, or the rating is taken back."""
    verdict: GraderVerdict
    how: How
    withdrawn: bool
    grader: str
    """Whose rating the person had seen, in words."""
    grader_rating: int | None
    campaign: str
    comment: str
    reason: str
    """The reason of a decision."""
    at: Text
    line: int = 0


class ThreadEvent(Struct, frozen=True, kw_only=True):
    """One event of a thread; `number` counts them from 1."""

    event_id: Text
    number: Number
    verb: Verb
    by: str
    """Empty for nobody that is known."""
    at: Text
    assignee: str
    text: str


class FlagThread(Struct, frozen=True, kw_only=True):
    """A flag or comment on an item, a passage, or an item on a passage, with its events in order."""

    flag_id: Text
    kind: Text
    state: Literal["open", "resolved"]
    bank: Text
    query_id: Text
    item_id: str
    doc_id: str
    by: str
    at: Text
    assignee: str
    events: Annotated[list[ThreadEvent], Meta(min_length=1)]
    line: int = 0


class Reason(Struct, frozen=True, kw_only=True):
    """Why somebody voted so; the last one holds."""

    event: Text
    tags: list[str]
    text: str
    at: Text


class VoteEvent(Struct, frozen=True, kw_only=True):
    """A vote on two answers to a topic, or that it was taken back.

    `number` counts the events of the person's battle, from 1. The digests are those of the answers that the
    voter saw.
    """

    event: Text
    query_id: Text
    left: Text
    right: Text
    left_digest: Text
    right_digest: Text
    voter: str
    number: Number
    answer: Verdict
    evidence: Verdict
    withdrawn: bool
    blind: bool
    drawn: Text
    at: Text
    reasons: list[Reason]
    line: int = 0


class ModelLabel(Struct, frozen=True, kw_only=True, tag_field="by", tag="model"):
    """What a model said of whether a sentence is supported by a document that it cites: 0, 1 or 2."""

    topic_id: Text
    sentence_md5: Text
    doc_id: Text
    sentence: str | None
    label: Label | None
    """None where its reply names none."""
    backend: Text
    llm: Text
    prompt_id: Text
    reply: str
    line: int = 0


class PersonLabel(Struct, frozen=True, kw_only=True, tag_field="by", tag="person"):
    """What a person said of it, or that they took it back."""

    topic_id: Text
    sentence_md5: Text
    doc_id: Text
    sentence: str | None
    label: Label | None
    person: Text
    is_withdrawn: bool
    seen_label: Label | None
    seen_llm: str | None
    at: Text
    line: int = 0


Event = RatingEvent | FlagThread | VoteEvent | ModelLabel | PersonLabel
"""`line` is that of the file, 0 where there is none; files do not have it."""


def event_line(event: Event) -> str:
    """Return the event as a line of JSON, without a line break."""
    fields = msgspec.to_builtins(event)
    del fields["line"]
    return msgspec.json.encode(fields).decode()


def moment(text: str) -> datetime:
    """Return a time with its zone, as ISO 8601 writes it. Raises `BadFormat` without a place.

    >>> moment("2026-03-01T10:00:00+01:00").isoformat()
    '2026-03-01T10:00:00+01:00'
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadFormat(f"at is {text!r}, expected a time such as 2026-03-01T10:00:00+00:00") from error
    if at.tzinfo is None:
        raise BadFormat(f"at is {text!r}, expected a time with its zone, such as +00:00")
    return at


def _uids(event: Event) -> list[str]:
    """Return the ids of the events that a line has; labels have none."""
    if isinstance(event, FlagThread):
        return [each.event_id for each in event.events]
    if isinstance(event, VoteEvent):
        return [event.event, *(reason.event for reason in event.reasons)]
    return [event.event] if isinstance(event, RatingEvent) else []


def _unique(text: str) -> None:
    try:
        UUID(text)
    except ValueError as error:
        raise BadFormat(f"the id of an event is {text!r}, expected a UUID") from error


def _check_rating(event: RatingEvent) -> None:
    if event.rating is not None and CONTRADICTS < event.rating < MIN_RATING:
        expected = f"{MIN_RATING} to {MAX_RATING}, or {CONTRADICTS} for contradicts"
        raise BadFormat(f"rating is {event.rating}, expected {expected}")
    _unique(event.event)
    moment(event.at)
    if event.withdrawn and (event.rating is not None or event.verdict):
        raise BadFormat("withdrawn with a rating or verdict, expected neither")
    if not event.withdrawn and event.rating is None and not event.verdict:
        raise BadFormat("neither a rating nor a verdict, expected one of them, or withdrawn")


def _check_flag(thread: FlagThread) -> None:
    moment(thread.at)
    for number, event in enumerate(thread.events, start=1):
        _unique(event.event_id)
        moment(event.at)
        if event.number != number or (event.verb is Verb.OPENED) != (number == 1):
            problem = f"event {event.number} ({event.verb}) in place {number}"
            raise BadFormat(f"{problem}, expected events in order, the first one opened")
    if not thread.item_id and not thread.doc_id:
        raise BadFormat("neither item_id nor doc_id, expected what the flag is about")


def _check_vote(event: VoteEvent) -> None:
    for uid, at in ((event.event, event.at), *((reason.event, reason.at) for reason in event.reasons)):
        _unique(uid)
        moment(at)
    if event.withdrawn != (not event.answer) or (event.withdrawn and event.evidence):
        raise BadFormat("expected an answer, or withdrawn without answer and evidence")
    if event.left == event.right:
        raise BadFormat(f"{event.left} against itself, expected two runs")


def _check_label(event: ModelLabel | PersonLabel) -> None:
    stated = [event.label, event.seen_label if isinstance(event, PersonLabel) else None]
    for label in stated:
        if label is not None and CONTRADICTS < label < 0:
            raise BadFormat(f"label {label}, expected 0 to 2, or {CONTRADICTS} for contradicts")
    if isinstance(event, PersonLabel):
        moment(event.at)
        if event.is_withdrawn != (event.label is None):
            raise BadFormat("expected a label, or is_withdrawn without one")


def _reader(
    kind: Any,  # Any: a type or a union of types
    check: Callable[[Any], None],
    shape: str,
) -> Callable[[Path], Iterator[Any]]:
    decoder = msgspec.json.Decoder(kind)

    def read(path: Path) -> Iterator[Any]:
        """Yield the events in the file's order. Raises `BadFormat` with file and line."""
        seen: set[str] = set()

        def placed(event: Any, line: int) -> Any:
            check(event)
            for uid in _uids(event):
                if uid in seen:
                    raise BadFormat(f"the event {uid} stands twice in the file, expected it once")
                seen.add(uid)
            return msgspec.structs.replace(event, line=line)

        return records(path, decoder, placed, shape=shape)

    return read


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Write JSON lines."""
    write_lines(path, (event_line(event).encode() for event in events))


def _has(sample: Sample, *, keys: frozenset[str]) -> bool:
    return keys <= sample.first_object.keys()


RATINGS, FLAGS, VOTES, LABELS = FORMATS = tuple(
    Format(
        f"rubricweb-{name}",
        f"RubricWeb {label}",
        content,
        partial(_has, keys=keys),
        _reader(kind, check, f"an object of {', '.join(sorted(keys))} and more"),
        write_events,
        is_lossless=True,
        source="RubricWeb: Export, JSON lines",
    )
    for name, label, content, kind, check, keys in (
        (
            "ratings",
            "ratings by people",
            Content.RATINGS,
            RatingEvent,
            _check_rating,
            frozenset({"event", "assessor", "item_id", "passage_id", "how"}),
        ),
        (
            "flags",
            "flags and comments",
            Content.FLAGS,
            FlagThread,
            _check_flag,
            frozenset({"flag_id", "kind", "bank", "events"}),
        ),
        (
            "votes",
            "votes",
            Content.VOTES,
            VoteEvent,
            _check_vote,
            frozenset({"event", "left", "right", "voter", "answer"}),
        ),
        (
            "labels",
            "labels of support",
            Content.SUPPORT,
            ModelLabel | PersonLabel,
            _check_label,
            frozenset({"topic_id", "sentence_md5", "doc_id", "by"}),
        ),
    )
)
