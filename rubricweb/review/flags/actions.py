"""Open, answer, resolve and assign flags."""

from __future__ import annotations

from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.core import audit, events
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
    if to and not roles.holds(to, flag.bank.collection, roles.TO_ASSESS):
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
