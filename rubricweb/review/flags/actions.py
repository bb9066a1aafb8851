"""Open, answer, resolve and assign flags, and import them as Export wrote them: threads with their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from grading.formats import events as flag_files
from grading.formats.events import FlagThread, moment
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item, ItemChange, ItemRevision
from rubricweb.core import audit, events
from rubricweb.corpus.import_base import FilePosition
from rubricweb.corpus.models import Passage
from rubricweb.grades.import_ratings import Kinds, WorkOfPeople
from rubricweb.review.models import Flag, FlagEvent, Kind, Subject


class FlagError(Exception):
    """Root of the refusals; its text is for the person who writes."""


class EmptyComment(FlagError):
    """A comment without text."""


class UnfitKind(FlagError):
    """The kind does not fit: only an item can be spurious, and only a passage uncovered."""


class UnfitAssignee(FlagError):
    """Somebody who may not answer flags here."""


class MovedMeanwhile(FlagError):
    """The flag changed since the writer saw it; `flag` is its present state, `since` the new events."""

    def __init__(self, flag: Flag, since: list[FlagEvent]) -> None:
        self.flag, self.since = flag, since
        super().__init__("Somebody else changed this flag while you were writing.")


Verb = FlagEvent.Verb


@transaction.atomic
def open_flag(
    subject: Subject, *, kind: Kind, by: User | None, text: str = "", uid: UUID | None = None
) -> Flag:
    """Open a flag; a plain comment needs text. `uid` makes sending it twice harmless.

    Where `by` has an open flag of this kind on the subject as it is worded now, that flag is returned, with
    the text as a reply. Each comment is a flag of its own.
    """
    if kind not in subject.kinds:
        raise UnfitKind(f"A {subject.what} cannot be flagged as {kind.label}.")
    if kind == Kind.COMMENT:
        _require_text(text)
    Bank.objects.select_for_update().get(pk=subject.bank.pk)  # sent twice at once, the second finds the first
    if uid is not None and (earlier := _saved_before(uid, by)):
        return earlier
    if by and (own := _standing(subject, kind, by)):
        return reply(own, text=text, by=by, uid=uid) if text.strip() else own
    flag = Flag.objects.create(
        bank=subject.bank,
        topic=subject.topic,
        item=subject.item,
        passage=subject.passage,
        revision=subject.item.revision if subject.item else None,
        kind=kind,
        by=by,
        moved_at=timezone.now(),
    )
    return _remember(flag, Verb.OPENED, by, text=text, uid=uid)


def _standing(subject: Subject, kind: Kind, by: User) -> Flag | None:
    about = Flag.objects.about(subject.bank, subject.topic, subject.item, subject.passage)
    flag: Flag | None = about.standing(by).filter(kind=kind).first()
    return flag


def reply(flag: Flag, *, text: str, by: User, uid: UUID | None = None) -> Flag:
    """Add a comment to the thread, whatever others wrote meanwhile."""
    _require_text(text)
    return _append(flag, Verb.REPLIED, by, seen=None, text=text, uid=uid)


def resolve(flag: Flag, *, seen: int, by: User, text: str = "", uid: UUID | None = None) -> Flag:
    """Close the flag, if `seen` is still its version. Raises MovedMeanwhile."""
    return _append(flag, Verb.RESOLVED, by, seen=seen, text=text, uid=uid)


def reopen(flag: Flag, *, seen: int, by: User, text: str = "", uid: UUID | None = None) -> Flag:
    """Open a resolved flag again, if `seen` is still its version. Raises MovedMeanwhile."""
    return _append(flag, Verb.REOPENED, by, seen=seen, text=text, uid=uid)


def assign(flag: Flag, *, to: User | None, seen: int, by: User, uid: UUID | None = None) -> Flag:
    """Give the flag to a member who may answer it, or to nobody. Raises MovedMeanwhile or UnfitAssignee."""
    if to and not roles.holds(to, flag.bank.collection, roles.TO_COMMENT):
        raise UnfitAssignee(f"{to} may not answer flags here.")
    return _append(flag, Verb.ASSIGNED, by, seen=seen, assignee=to, uid=uid)


@transaction.atomic
def _append(
    flag: Flag,
    verb: Verb,
    by: User,
    *,
    seen: int | None,
    text: str = "",
    assignee: User | None = None,
    uid: UUID | None = None,
) -> Flag:
    now: Flag = Flag.objects.select_for_update(of=("self",)).get(pk=flag.pk)
    if uid is not None and (earlier := _saved_before(uid, by)):
        return earlier
    if seen is not None and now.version != seen:
        since = now.events.filter(number__gt=seen).select_related("by", "assignee")
        raise MovedMeanwhile(flag, list(since))
    if verb == Verb.RESOLVED:
        now.resolved_at = timezone.now()
    elif verb == Verb.REOPENED:
        now.resolved_at = None
    elif verb == Verb.ASSIGNED:
        now.assignee = assignee
    now.version += 1
    now.moved_at = timezone.now()
    now.save(update_fields=["resolved_at", "assignee", "version", "moved_at"])
    return _remember(now, verb, by, text=text, uid=uid)


def _remember(flag: Flag, verb: Verb, by: User | None, *, text: str, uid: UUID | None) -> Flag:
    assignee = flag.assignee if verb == Verb.ASSIGNED else None
    flag.events.create(
        number=flag.version, verb=verb, text=text.strip(), assignee=assignee, by=by, uid=uid or uuid4()
    )
    audit.record(f"flag {verb}", flag, by=by, detail=f"event {flag.version}")
    events.publish_on_commit(flag.bank.collection.channel, "flags")
    return flag


def _saved_before(uid: UUID, by: User | None) -> Flag | None:
    """Return the flag that the event with this uid was saved for, if any."""
    event = FlagEvent.objects.filter(uid=uid, by=by).select_related("flag").first()
    return event.flag if event else None


def _require_text(text: str) -> None:
    if not text.strip():
        raise EmptyComment("Write a comment first.")


LACKING = "flags of rubrics, items or passages that the collection lacks"
UNFIT = "flags of a kind that does not fit what they are about"
SINCE = "events of threads that went on here otherwise"
CREDIT = "events of flags"
Ids = Mapping[str, tuple[UUID, bool]]
"""The id of the row here and whether the row exists, by the id in the file."""


class FlagImporter:
    """Add threads that the collection lacks, and to others what the file has after their last event."""

    kinds: ClassVar[Kinds] = {
        "flag_events": (FlagEvent, "flag__bank__collection"),
        "flags": (Flag, "bank__collection"),
    }

    def __init__(self, work: WorkOfPeople) -> None:
        self._work = work
        self._banks: dict[str, Bank] = {bank.name: bank for bank in work.collection.banks.all()}

    def read(self, path: Path, threads: Iterable[FlagThread]) -> None:
        """Import all threads of a file. Raises BadFormat for a kind that no flag has."""
        listed = list(threads)
        passages = self._work.passages(thread.doc_id for thread in listed if thread.doc_id)
        uids = (event.event_id for thread in listed for event in thread.events)
        ids = self._work.identify(FlagEvent, "flag__bank__collection", uids)
        lacking: dict[str, Counter[str]] = {name: Counter() for name in (LACKING, UNFIT, SINCE)}
        for thread in listed:
            if thread.kind not in Flag.Kind.values:
                expected = ", ".join(Flag.Kind.values)
                raise FilePosition(path, thread.line).error(
                    f"the kind is {thread.kind!r}, expected {expected}"
                )
            here = [ids[event.event_id][0] for event in thread.events if ids[event.event_id][1]]
            began = Q(verb=Verb.OPENED, at=moment(thread.events[0].at), flag__kind=thread.kind)
            began &= Q(flag__topic__query_id=thread.query_id, flag__bank__name=thread.bank)
            of_collection = FlagEvent.objects.filter(flag__bank__collection=self._work.collection)
            row = of_collection.filter(Q(uid__in=here) | began).select_related("flag").first()
            if row is not None:
                self._work.tally.of("flags").unchanged += 1
            flag = (row.flag if row else None) or self._new(thread, passages, lacking)
            if flag is not None:
                self._continue(flag, thread, ids, lacking)
        self._work.leave_out(path, lacking)
        events.publish_on_commit(self._work.collection.channel, "flags")

    def _new(
        self, thread: FlagThread, passages: Mapping[str, int], lacking: dict[str, Counter[str]]
    ) -> Flag | None:
        """Create the thread without its events; return None where the collection lacks its subject."""
        bank, topic = self._banks.get(thread.bank), self._work.topics.by_query_id.get(thread.query_id)
        item = self._item(bank, thread.item_id) if bank else None
        is_lacking = bool(thread.item_id) != bool(item) or (thread.doc_id and thread.doc_id not in passages)
        if bank is None or topic is None or is_lacking:
            lacking[LACKING][thread.item_id or thread.doc_id] += 1
            return None
        subject = Subject(bank, topic, item, Passage(pk=passages[thread.doc_id]) if thread.doc_id else None)
        if Flag.Kind(thread.kind) not in subject.kinds:
            lacking[UNFIT][thread.kind] += 1
            return None
        wording = ItemRevision.including_secret.get(topic=topic, uid=thread.item_id) if item else None
        flag = Flag(bank=bank, topic=topic, item=item, revision=wording, kind=thread.kind, version=0)
        flag.passage_id = passages.get(thread.doc_id)
        flag.by, flag.moved_at = self._work.accounts.of(thread.by), moment(thread.at)
        flag.save()
        Flag._base_manager.filter(pk=flag.pk).update(at=moment(thread.at))
        self._work.tally.of("flags").new += 1
        return flag

    def _item(self, bank: Bank, uid: str) -> Item | None:
        """Return the item that has or had that wording."""
        changes = ItemChange.including_secret.filter(item__bank=bank, revision__uid=uid)
        change = changes.select_related("item").order_by("-item__retired_at", "-pk").first() if uid else None
        return change.item if change else None

    def _continue(self, flag: Flag, thread: FlagThread, ids: Ids, lacking: dict[str, Counter[str]]) -> None:
        """Add the events that the thread lacks, if they follow its last one."""
        at = dict(flag.events.values_list("number", "at"))
        fresh = [
            event
            for event in thread.events
            if not ids[event.event_id][1] and at.get(event.number) != moment(event.at)
        ]
        counts, is_new = self._work.tally.of("flag_events"), flag.version == 0
        counts.unchanged += len(thread.events) - len(fresh)
        if fresh and fresh[0].number != flag.version + 1:
            lacking[SINCE][thread.flag_id] += len(fresh)
            return
        for event in fresh:
            person, assignee = self._work.accounts.of(event.by), self._work.accounts.of(event.assignee)
            row = FlagEvent(flag=flag, number=event.number, verb=event.verb.value, text=event.text, by=person)
            row.uid, row.assignee = ids[event.event_id][0], assignee
            row.save()
            FlagEvent.objects.filter(pk=row.pk).update(at=moment(event.at))
            flag.version, flag.moved_at = event.number, moment(event.at)
            if event.verb is flag_files.Verb.ASSIGNED:
                flag.assignee = assignee
            elif event.verb in (flag_files.Verb.RESOLVED, flag_files.Verb.REOPENED):
                flag.resolved_at = flag.moved_at if event.verb is flag_files.Verb.RESOLVED else None
            if person is not None:
                self._work.credits[person, CREDIT] += 1
        counts.new += len(fresh)
        if fresh:
            flag.save(update_fields=["version", "moved_at", "assignee", "resolved_at"])
            self._work.tally.of("flags").changed += not is_new
