"""Organizers call for submissions and let late ones in; teams send runs in and withdraw them.

Small files are checked by the request, others by a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from grading.submissions import Rules, rules_as_json
from rubricweb.accounts.actions import same_team, team_names
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.corpus import actions as run_actions
from rubricweb.corpus.models import Collection, Run
from rubricweb.jobs import kinds, leases, queue, worker
from rubricweb.submissions import files
from rubricweb.submissions.models import Call, Submission
from rubricweb.webhooks import actions as webhooks
from rubricweb.webhooks.models import EventType

IN_REQUEST_BYTES = 200_000
"""Plain files up to this size are checked while their sender waits; larger or packed ones by a worker."""
MOST_LATE = 10
"""Late files of a team for a call that are kept for the organizers' decision."""
_PACKED = (b"PK", b"\x1f\x8b")


@dataclass(frozen=True, slots=True)
class CallTerms:
    """What an organizer decides of a call, besides its rules."""

    task: str
    takes: str
    opens_at: datetime
    deadline: datetime
    time_zone: str
    runs_per_team: int | None
    asks_priority: bool
    checks_documents: bool
    passages_of: str
    text: str
    shows_scores: bool = False


class CallConflict(Exception):
    """Somebody else changed the call since the writer saw it; `call` is its present state."""

    def __init__(self, call: Call) -> None:
        self.call = call
        super().__init__("Somebody else changed this call while you were editing it.")


@dataclass(frozen=True, slots=True)
class Described:
    """What a team says of the run that it sends in."""

    type: str = Run.Type.UNKNOWN
    priority: int | None = None
    description: str = ""


class NotTaken(Exception):
    """The file, or the change, comes at the wrong time; the text says so to the team."""


@transaction.atomic
def open_call(collection: Collection, terms: CallTerms, rules: Rules, *, by: User | None) -> Call:
    call: Call = collection.calls.create(**asdict(terms), rules=rules_as_json(rules))
    audit.record("call for submissions made", call, by=by, detail=f"{call.task}: {rules.label}")
    return call


@transaction.atomic
def change_call(call: Call, terms: CallTerms, rules: Rules, *, seen: int, by: User | None) -> Call:
    """Change the call where `seen` is its version. New rules hold for what comes from now on.

    Raises CallConflict.
    """
    now = asdict(terms) | {"rules": rules_as_json(rules)}
    changed = {name: value for name, value in now.items() if value != getattr(call, name)}
    rows = Call.objects.filter(pk=call.pk, version=seen)
    written = rows.update(version=F("version") + 1, **changed)
    call.refresh_from_db()
    if not written:
        raise CallConflict(call)
    what = ", ".join(changed) or "nothing new"
    audit.record("call for submissions changed", call, by=by, detail=f"{call.task}: {what}")
    return call


@transaction.atomic
def move_deadline(call: Call, deadline: datetime, *, by: User | None) -> Call:
    """Extend the call, or close it: files are in time until `deadline`."""
    zone = call.zone
    detail = f"{call.task}: {call.deadline.astimezone(zone):%F %T} to {deadline.astimezone(zone):%F %T %Z}"
    Call.objects.filter(pk=call.pk).update(deadline=deadline, version=F("version") + 1)
    call.refresh_from_db()
    audit.record("deadline moved", call, by=by, detail=detail)
    return call


@dataclass(frozen=True, slots=True)
class Sent:
    """A file as it comes in."""

    name: str
    chunks: Iterable[bytes]
    on_kept: Callable[[Submission], object] = lambda submission: None
    """Called in the transaction in which the file becomes a submission."""


def receive(
    call: Call,
    upload: Sent,
    *,
    team: str,
    by: User | None,
    described: Described,
    replaces: Submission | None = None,
) -> Submission:
    """Keep a file that a team sends in, and have it checked. A late one waits for an organizer.

    Raises NotTaken before the call opens, and where too many late files wait. The file is written before
    there is a row, so that nobody who writes waits for it, and no row is without its file.
    """
    now, team = timezone.now(), team_named(call, team)
    is_late = _check_open(call, team, now)
    fields = asdict(described) | {"team": team, "by": by, "received_at": now, "replaces": replaces}
    with files.incoming(upload.name, upload.chunks) as file, transaction.atomic():
        submission: Submission = call.submissions.create(
            name=file.name,
            size=file.size,
            digest=file.digest,
            state=Submission.State.DONE if is_late else Submission.State.QUEUED,
            outcome=Submission.Outcome.LATE if is_late else Submission.Outcome.UNCHECKED,
            **fields,
        )
        files.keep(submission, file)
        named = {
            "id": submission.pk,
            "team": submission.team,
            "task": submission.call.task,
            "is_late": is_late,
        }
        collection = submission.call.collection
        api = webhooks.api_address("submission", collection.slug, submission.pk)
        details = {"submission": named, "page": submission.get_absolute_url(), "api": api}
        webhooks.write(collection, EventType.SUBMISSION_RECEIVED, details)
        if is_late:
            _record("late submission received", submission, by=by)
        upload.on_kept(submission)
    if is_late:
        return submission
    if replaces is not None:
        # The refused file makes room for this one; its findings stay in the history.
        rows = Submission.objects.filter(pk=replaces.pk, outcome=Submission.Outcome.REFUSED, is_kept=True)
        if rows.update(is_kept=False):
            files.remove(replaces)
    return _begin_check(submission)


def team_named(call: Call, team: str) -> str:
    """Return the team as the collection spells it: "ciir" and "CIIR" are one."""
    rows = Submission.objects.filter(call__collection=call.collection).order_by("pk")
    return same_team(team, chain(team_names(call.collection), rows.values_list("team", flat=True)))


def _check_open(call: Call, team: str, moment: datetime) -> bool:
    """Return whether the file is late. Raises NotTaken before the opening and beyond MOST_LATE."""
    phase = call.phase_at(moment)
    if phase is Call.Phase.EARLY:
        raise NotTaken("The call is not open yet, so the file was not kept.")
    late = call.submissions.filter(team=team, outcome=Submission.Outcome.LATE)
    if phase is Call.Phase.CLOSED and late.count() >= MOST_LATE:
        waiting = f"{MOST_LATE} late files of your team wait for an organizer"
        raise NotTaken(f"The deadline has passed, and {waiting}.")
    return phase is Call.Phase.CLOSED


def start_check(submission: Submission) -> Submission:
    """Check the file now where it is small and plain; else a worker does."""
    rows = Submission.objects.filter(pk=submission.pk).exclude(state__in=Submission.LIVE)
    queued = {"state": Submission.State.QUEUED, "attempts": 0, "queued_at": timezone.now(), "error": ""}
    if rows.update(**queued, outcome=Submission.Outcome.UNCHECKED):
        submission.refresh_from_db()
        _begin_check(submission)
    submission.refresh_from_db()
    return submission


def _begin_check(submission: Submission) -> Submission:
    if _is_small(submission):
        worker.work_on("submission", submission.pk)
    else:
        queue.enqueue([submission])
    submission.refresh_from_db()
    return submission


def _is_small(submission: Submission) -> bool:
    if submission.size > IN_REQUEST_BYTES:
        return False
    with submission.path.open("rb") as stream:
        return not stream.read(2).startswith(_PACKED)


def let_in(submission: Submission, *, by: User | None) -> Submission:
    """Check a late file as if it had come in time. Doing it twice changes nothing."""
    rows = Submission.objects.filter(pk=submission.pk, outcome=Submission.Outcome.LATE, let_in_at=None)
    with transaction.atomic():
        if not rows.update(let_in_by=by, let_in_at=timezone.now()):
            return submission
        _record("late submission let in", submission, by=by)
    return start_check(submission)


@transaction.atomic
def withdraw(submission: Submission, *, by: User) -> Submission:
    """Withdraw the run of the submission before the deadline. Raises NotTaken."""
    if not submission.call.is_open:
        raise NotTaken("The deadline has passed. Ask an organizer to withdraw the run.")
    return take_back(submission, by=by)


def take_back(submission: Submission, *, by: User) -> Submission:
    """Withdraw the run of the submission at any time, as organizers may. Raises NotTaken.

    A rejected run stays rejected, so that its reason stays.
    """
    run = _run_of(submission)
    if submission.is_rejected:
        raise NotTaken("The run is rejected. Only what is submitted or accepted can be withdrawn.")
    run_actions.withdraw_run(run, by=by)
    return submission


def accept(submission: Submission, *, by: User) -> Submission:
    """Let the run of the submission count. Raises NotTaken."""
    run_actions.accept_run(_run_of(submission), by=by)
    return submission


def reject(submission: Submission, *, reason: str, by: User) -> Submission:
    """Keep the run, or the late file, out, and tell the team why. Raises NotTaken."""
    if not submission.may_be_rejected:
        raise NotTaken("Only a run that is submitted or accepted, or a late file, can be rejected.")
    if submission.outcome == Submission.Outcome.LATE:
        return _decide_on_late(submission, Submission.Outcome.REJECTED, reason=reason, by=by)
    run_actions.reject_run(_run_of(submission), reason=reason, by=by)
    return submission


def undo_rejection(submission: Submission, *, by: User) -> Submission:
    """Let the run wait to be accepted again, or the late file to be let in. Raises NotTaken."""
    if not submission.is_rejected:
        raise NotTaken("This submission is not rejected.")
    if submission.outcome == Submission.Outcome.REJECTED:
        return _decide_on_late(submission, Submission.Outcome.LATE, reason="", by=by)
    run_actions.undo_rejection(_run_of(submission), by=by)
    return submission


@transaction.atomic
def _decide_on_late(submission: Submission, outcome: str, *, reason: str, by: User) -> Submission:
    """Reject the file, or let it wait again. Nothing changes where somebody was faster."""
    rows = Submission.objects.filter(pk=submission.pk, outcome=submission.outcome)
    if rows.exclude(state__in=Submission.LIVE).update(outcome=outcome, rejection=reason):
        rejected = outcome == Submission.Outcome.REJECTED
        verb = "late submission rejected" if rejected else "rejection of late submission undone"
        _record(verb, submission, by=by, reason=reason)
    submission.refresh_from_db()
    return submission


def accept_all(collection: Collection, submission_ids: Iterable[int], *, by: User) -> int:
    """Let the runs of these submissions count that wait for it, and return how many."""
    waiting = Submission.objects.waiting().filter(call__collection=collection, pk__in=submission_ids)
    runs = {row.run.pk: row.run for row in waiting.select_related("run") if row.run}
    return run_actions.accept_runs(list(runs.values()), by=by)


def forget_refused(deadline_before: datetime) -> int:
    """Delete files of calls that are long over: refused and rejected ones, and late ones that nobody let in.

    Their reports stay. Return how many went.
    """
    outcomes = (Submission.Outcome.REFUSED, Submission.Outcome.LATE, Submission.Outcome.REJECTED)
    rows = Submission.objects.filter(outcome__in=outcomes, is_kept=True, call__deadline__lt=deadline_before)
    forgotten = 0
    for submission in rows.exclude(state__in=Submission.LIVE):
        files.remove(submission)
        forgotten += Submission.objects.filter(pk=submission.pk).update(is_kept=False)
    return forgotten


def _run_of(submission: Submission) -> Run:
    if submission.run is None or submission.outcome != Submission.Outcome.TAKEN:
        raise NotTaken("This file is not a run, or another file has replaced it.")
    return submission.run


def _record(verb: str, submission: Submission, *, by: User | None, reason: str = "") -> None:
    at = f"{submission.received_at:%F %T} UTC"
    detail = f"{submission.team} for {submission.call.task}: {submission.name} at {at}"
    detail = f"{detail}: {reason}" if reason else detail
    audit.record(verb, submission, by=by, detail=detail, collection=submission.call.collection)


class SubmissionKind(kinds.TaskKind[Submission]):
    name = "submission"
    collection = "call.collection_id"
    model = Submission
    related = ("call__collection", "by")
    is_retried = True

    def run(self, lease: leases.Lease[Submission]) -> None:
        """Check the file; what the rules refuse is a result, other errors are tried again."""
        from rubricweb.submissions import checking  # readers, rules and imports: for workers only

        if not lease.work.has_file:
            raise kinds.CannotRun(
                "The submitted file is not on the worker's machine: "
                "give it the RUBRIC_DATA_DIR of the web process, or start a worker there."
            )
        checking.check(lease)

    def need(self, work: Submission) -> kinds.Need:
        return kinds.Need("submitted files", "the check of a submitted file")

    def label(self, work: Submission) -> str:
        return f"submission {work.pk}"

    def changed(self, work: Submission) -> None:
        events.publish_on_commit(work.call.collection.channel, "runs")
