"""Calls for submissions, and the files that teams sent in."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from rubricweb.accounts.models import TEAM_CHARS
from rubricweb.corpus.models import Collection, Response, Run
from rubricweb.imports import staging
from rubricweb.jobs.models import Task

if TYPE_CHECKING:
    from grading.submissions import Rules

NAME_CHARS = 300
COUNTED = (Run.State.SUBMITTED, Run.State.ACCEPTED)
"""Runs that count towards the limit of their team."""


class Call(models.Model):
    """A task of a collection for which participants send in runs, until a deadline, by its rules."""

    class Takes(models.TextChoices):
        RESPONSES = "responses", "generated answers"
        RUN = "run", "TREC runs"

    class Phase(models.TextChoices):
        EARLY = "early", "not open yet"
        OPEN = "open", "open"
        CLOSED = "closed", "closed"

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="calls")
    task = models.CharField(max_length=100)
    takes = models.CharField(max_length=20, choices=Takes, default=Takes.RESPONSES)
    rules = models.JSONField()
    """Written by `grading.submissions.rules_as_json`."""
    opens_at = models.DateTimeField()
    deadline = models.DateTimeField()
    """Files are accepted until this second."""
    time_zone = models.CharField(max_length=60, default="UTC")
    """In which people write and read the times; they are stored in UTC."""
    runs_per_team = models.PositiveSmallIntegerField(null=True, blank=True)
    """None for any number."""
    asks_priority = models.BooleanField(default=False)
    checks_documents = models.BooleanField(default=False)
    """Whether document ids must be those of the collection's passages."""
    passages_of = models.CharField(
        max_length=20, choices=Response.PassagesOf, default=Response.PassagesOf.SENTENCE
    )
    """What of a response becomes a passage."""
    text = models.TextField(blank=True)
    """What participants read."""
    shows_scores = models.BooleanField(default=False, db_default=False)
    """Whether teams see the scores of their own runs before a board is published."""
    version = models.PositiveIntegerField(default=1)
    """Counts the edits, so that a writer does not overwrite what they have not seen."""

    class Meta:
        ordering = ("deadline", "task")
        constraints = (
            models.UniqueConstraint(fields=("collection", "task"), name="one_call_per_task"),
            models.CheckConstraint(
                condition=models.Q(opens_at__lt=models.F("deadline")), name="calls_open_before_their_deadline"
            ),
        )

    def __str__(self) -> str:
        return self.task

    @property
    def parsed_rules(self) -> Rules:
        from grading.submissions import rules_from_json

        return rules_from_json(self.rules)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @property
    def phase(self) -> Call.Phase:
        return self.phase_at(timezone.now())

    @property
    def is_open(self) -> bool:
        return self.phase is self.Phase.OPEN

    @property
    def has_opened(self) -> bool:
        return self.phase is not self.Phase.EARLY

    def phase_at(self, moment: datetime) -> Call.Phase:
        """Return the whole last second is in time."""
        if moment < self.opens_at:
            return self.Phase.EARLY
        is_over = moment.replace(microsecond=0) > self.deadline
        return self.Phase.CLOSED if is_over else self.Phase.OPEN


class SubmissionQuerySet(models.QuerySet[Any]):
    def taken(self) -> SubmissionQuerySet:
        """Return the files that became runs, without those that another file replaced."""
        return self.filter(outcome=Submission.Outcome.TAKEN)

    def counted(self) -> SubmissionQuerySet:
        """Return those of `taken` whose runs are submitted or accepted."""
        return self.taken().filter(run__state__in=COUNTED)

    def waiting(self) -> SubmissionQuerySet:
        """Return those of `taken` whose runs organizers have not accepted yet."""
        return self.taken().filter(run__state=Run.State.SUBMITTED)

    def with_decisions(self) -> SubmissionQuerySet:
        """Annotate rows with `run_state` and `reason`."""
        is_run = models.Q(outcome=Submission.Outcome.TAKEN, run__isnull=False)
        rows: SubmissionQuerySet = self.annotate(
            run_state=models.Case(models.When(is_run, then="run__state"), default=models.Value("")),
            reason=models.Case(models.When(is_run, then="run__rejection"), default="rejection"),
        )
        return rows


class Submission(Task):
    """A file that a team sent in for a call, and what became of it. Later files of a run are other rows."""

    class Outcome(models.TextChoices):
        UNCHECKED = "", "being checked"
        REFUSED = "refused", "refused"
        LATE = "late", "late"
        REJECTED = "rejected", "rejected"
        TAKEN = "taken", "taken"
        REPLACED = "replaced", "replaced"

    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="submissions")
    team = models.CharField(max_length=TEAM_CHARS)
    type = models.CharField(max_length=20, choices=Run.Type, blank=True, default=Run.Type.UNKNOWN)
    priority = models.PositiveSmallIntegerField(null=True, blank=True)
    description = models.TextField(blank=True)
    name = models.CharField(max_length=NAME_CHARS)
    """Name of the file as sent."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes, as sent."""
    digest = models.CharField(max_length=64, blank=True)
    """SHA-256 of the bytes, in hexadecimal."""
    is_kept = models.BooleanField(default=True)
    """Whether the file was not deleted; that of a refused draft goes when the next one comes, or with
    `actions.forget_refused`.
    """
    received_at = models.DateTimeField()
    outcome = models.CharField(max_length=20, choices=Outcome, blank=True, default=Outcome.UNCHECKED)
    run_tag = models.CharField(max_length=200, blank=True)
    """The run tag as read in the file."""
    findings = models.JSONField(default=list, blank=True)
    """`findings.Group` as objects."""
    errors = models.PositiveIntegerField(default=0)
    warnings = models.PositiveIntegerField(default=0)
    topics = models.PositiveIntegerField(default=0)
    """Topics that the file has."""
    rules_version = models.PositiveIntegerField(default=0)
    """The version of the call by whose rules the file was checked."""
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="submissions")
    replaces = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="replaced_by"
    )
    """The draft, or the earlier file of the same run, in whose place it came."""
    let_in_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    """The organizer who let the file in after the deadline."""
    let_in_at = models.DateTimeField(null=True, blank=True)
    rejection = models.TextField(blank=True, default="", db_default="")
    """Why organizers rejected the late file, or its run before another file replaced it."""

    objects = SubmissionQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                condition=~models.Q(outcome="rejected") | ~models.Q(rejection=""),
                name="rejected_files_have_a_reason",
            ),
        )

    def __str__(self) -> str:
        return f"submission {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("submissions:submission", args=[self.call.collection.slug, self.pk])

    @property
    def path(self) -> Path:
        """Return where its file lies: a folder named by its key, so that no name leads anywhere."""
        return Path(settings.DATA_DIR) / "submissions" / str(self.pk) / staging.file_name(self.name)

    @property
    def has_file(self) -> bool:
        """Return whether this machine has the file; an archive, for one, has none."""
        return self.is_kept and self.path.is_file()

    @property
    def is_late(self) -> bool:
        return self.call.phase_at(self.received_at) is Call.Phase.CLOSED

    @property
    def counts(self) -> bool:
        """Return whether it is a run, neither rejected nor withdrawn: towards the limit of its team, too."""
        return self.run_state in COUNTED

    @property
    def may_be_withdrawn(self) -> bool:
        """Return whether it is a run that its team can still take back."""
        return self.counts and self.call.is_open

    @property
    def waits_to_be_accepted(self) -> bool:
        return self.run_state == Run.State.SUBMITTED

    @property
    def waits_to_be_let_in(self) -> bool:
        return self.outcome == self.Outcome.LATE and not self.is_live

    @property
    def may_be_rejected(self) -> bool:
        """Return whether it is a late file that nobody let in, or a run neither rejected nor withdrawn."""
        return self.waits_to_be_let_in or self.counts

    @property
    def is_rejected(self) -> bool:
        return self.outcome == self.Outcome.REJECTED or self.run_state == Run.State.REJECTED

    @property
    def asks_for_another(self) -> bool:
        """Return whether its team submits it again, mended: it is refused, or its run is rejected."""
        return self.outcome == self.Outcome.REFUSED or self.run_state == Run.State.REJECTED

    @property
    def reason(self) -> str:
        """Return why organizers rejected it, or did before another file replaced it."""
        return self.run.rejection if self.run and self.run_state else self.rejection

    @property
    def run_state(self) -> str:
        """Return the state of its run; empty if it is none, or no longer."""
        return self.run.state if self.run and self.outcome == self.Outcome.TAKEN else ""

    @property
    def state_words(self) -> str:
        """Return what became of the file and of its run, as a label."""
        if self.is_live:
            return "being checked"
        if self.state == self.State.FAILED:
            return "not checked"
        if self.outcome == self.Outcome.TAKEN:
            return self.run.get_state_display() if self.run else "run deleted"
        return str(self.Outcome(self.outcome).label)
