"""Flags as the screens list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

from django.db.models import Count, Q, QuerySet, TextChoices

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.corpus.models import Collection, Topic
from rubricweb.review.access import may_decide
from rubricweb.review.models import Flag, FlagEvent, FlagQuerySet, Subject, subject_of


class State(TextChoices):
    OPEN = "open", "open"
    RESOLVED = "resolved", "resolved"
    ALL = "all", "open and resolved"


class Who(TextChoices):
    ANYBODY = "", "anybody"
    ASSIGNED = "assigned", "assigned to me"
    MINE = "mine", "opened by me"
    UNASSIGNED = "unassigned", "unassigned"


STATES = {State.OPEN: Q(resolved_at__isnull=True), State.RESOLVED: Q(resolved_at__isnull=False)}


@dataclass(frozen=True, slots=True)
class OpenCounts:
    """Open flags of a bank and topic: by item, by passage, and by cell (item, passage)."""

    items: dict[int, int] = field(default_factory=dict)
    passages: dict[int, int] = field(default_factory=dict)
    cells: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(sum(counts.values()) for counts in (self.items, self.passages, self.cells))


@dataclass(frozen=True, slots=True)
class Thread:
    """A flag with its events, oldest first."""

    flag: Flag
    subject: Subject
    events: tuple[FlagEvent, ...]
    may_decide: bool
    """Whether the reader may resolve, reopen and assign it."""
    uid: UUID = field(default_factory=uuid4)
    """The id of the next event that the reader sends."""

    @property
    def first(self) -> FlagEvent | None:
        return self.events[0] if self.events else None

    @property
    def last(self) -> FlagEvent | None:
        return self.events[-1] if self.events else None

    @property
    def replies(self) -> int:
        return sum(event.verb == FlagEvent.Verb.REPLIED for event in self.events)


@dataclass(frozen=True, slots=True)
class Nearby:
    """A part of a cell, and its open flags."""

    subject: Subject
    count: int


@dataclass(frozen=True, slots=True)
class InboxQuery:
    """The filters of the list of flags; every field is in the address."""

    state: str = State.OPEN
    who: str = ""
    kind: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class InboxCounts:
    """Counts over the whole collection; all but `resolved` are of open flags."""

    open: int
    assigned: int
    mine: int
    unassigned: int
    resolved: int


def thread(flag: Flag, user: User) -> Thread:
    """Return `flag`, fetched by `ready`, as `user` may see it."""
    return Thread(flag, subject_of(flag), tuple(flag.events.all()), may_decide(user, flag))


def threads(subject: Subject, user: User) -> list[Thread]:
    """Return all flags on the subject, open ones first."""
    flags = Flag.objects.about(subject.bank, subject.topic, subject.item, subject.passage).ready()
    in_order = sorted(flags, key=lambda flag: (not flag.is_open, flag.pk))
    return [thread(flag, user) for flag in in_order]


def own_kinds(threads: Iterable[Thread], user: User) -> set[str]:
    """Return the kinds as which `user` has flagged the subject already; comments are not counted."""
    pks = [thread.flag.pk for thread in threads]
    return set(Flag.objects.filter(pk__in=pks).standing(user).values_list("kind", flat=True))


def own_flags(bank_id: int, user: User) -> list[tuple[str, int | None, int | None]]:
    """Return (kind, item, passage) of what `user` has flagged in the bank, but for cells and comments."""
    flags = (
        Flag.objects.filter(bank=bank_id).standing(user).exclude(item__isnull=False, passage__isnull=False)
    )
    return list(flags.order_by("pk").values_list("kind", "item", "passage"))


def nearby(subject: Subject) -> list[Nearby]:
    """Return the open flags of a cell's item and of its passage."""
    if not (subject.item and subject.passage):
        return []
    counts = open_counts(subject.bank, subject.topic.pk)
    parts = (
        (replace(subject, passage=None), counts.items.get(subject.item.pk, 0)),
        (replace(subject, item=None), counts.passages.get(subject.passage.pk, 0)),
    )
    return [Nearby(part, count) for part, count in parts]


def open_counts(bank: Bank, topic_id: int) -> OpenCounts:
    counts = OpenCounts()
    for item, passage, number in _open_counts(bank.collection_id, bank.pk, topic_id):
        if item and passage:
            counts.cells[item, passage] = number
        elif item:
            counts.items[item] = number
        else:
            counts.passages[passage] = number
    return counts


@compiled_readable
def _open_counts(bank_id: int, topic_id: int) -> QuerySet[Flag, Any]:
    rows: QuerySet[Flag] = FlagQuerySet(Flag).open().filter(bank=bank_id, topic=topic_id).order_by()
    return rows.values_list("item", "passage").annotate(Count("pk"))


def open_by_topic(bank: Bank) -> dict[int, int]:
    """Count open flags by topic id."""
    rows = Flag.objects.open().filter(bank=bank).order_by()
    return dict(rows.values_list("topic").annotate(Count("pk")))


def listed(collection: Collection, query: InboxQuery, user: User) -> QuerySet[Flag]:
    """Return the flags that match `query`, latest event first."""
    flags = Flag.objects.of(collection).ready().filter(STATES.get(State(query.state), Q()))
    if query.who:
        flags = flags.filter(_whose(user)[Who(query.who)])
    if query.kind:
        flags = flags.filter(kind=query.kind)
    return flags.filter(topic=query.topic) if query.topic else flags


def inbox_counts(collection: Collection, user: User) -> InboxCounts:
    whose, is_open = _whose(user), STATES[State.OPEN]
    return InboxCounts(
        **Flag.objects.of(collection).aggregate(
            open=Count("pk", filter=is_open),
            assigned=Count("pk", filter=is_open & whose[Who.ASSIGNED]),
            mine=Count("pk", filter=is_open & whose[Who.MINE]),
            unassigned=Count("pk", filter=is_open & whose[Who.UNASSIGNED]),
            resolved=Count("pk", filter=STATES[State.RESOLVED]),
        )
    )


def flagged_topics(collection: Collection) -> list[Topic]:
    """Return the topics with flags, open or resolved."""
    return list(collection.topics.filter(flags__isnull=False).distinct())


def members_who_answer(collection: Collection) -> QuerySet[User]:
    able = [role for role in roles.Role if role.includes(roles.TO_COMMENT)]
    return User.objects.filter(
        memberships__collection=collection, memberships__role__in=able, is_active=True
    ).order_by("first_name", "username")


def _whose(user: User) -> dict[Who, Q]:
    return {Who.ASSIGNED: Q(assignee=user), Who.MINE: Q(by=user), Who.UNASSIGNED: Q(assignee__isnull=True)}


def flagged_cells(
    topic_id: int, revisions: Iterable[int], passages: Iterable[int]
) -> Iterable[tuple[int, int]]:
    """Return those of the cells (wording, passage) that somebody flagged, secret items too."""
    flags = Flag._base_manager.filter(
        topic=topic_id, revision__in=list(revisions), passage__in=list(passages)
    )
    return flags.order_by().values_list("revision_id", "passage_id").distinct()
