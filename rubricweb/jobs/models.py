"""Abstract models of background work; each room has tables of its own."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from rubricweb.core.redaction import MessageField


class LeasedWork(models.Model):
    """A piece of work that one worker at a time has a lease on."""

    class State(models.TextChoices):
        QUEUED = "queued"
        LEASED = "leased"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    LIVE = (State.QUEUED, State.LEASED)

    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    """Attempts by workers since a person requested it."""
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    queued_at = models.DateTimeField(default=timezone.now)
    """When it was last put into the queue."""

    class Meta:
        abstract = True

    @property
    def is_live(self) -> bool:
        return self.state in self.LIVE


class Task(LeasedWork):
    """Work that belongs to no job: one call of a model that a person waits for."""

    error = MessageField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Job(models.Model):
    """Work that is cut into chunks, held as `chunks` by its subclass's `Chunk`."""

    class State(models.TextChoices):
        WAITING = "waiting"
        """Waiting for another job."""
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        CANCELLING = "cancelling"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Priority(models.TextChoices):
        """Priorities in the order in which workers look for work."""

        HIGH = "high", "high"
        """For work that a person waits for."""
        DEFAULT = "default", "normal"
        LOW = "low", "low"
        """For work that nobody requested in person."""

    WORKED_ON = (State.QUEUED, State.RUNNING)
    """States in which workers may take chunks."""
    ENDED = (State.DONE, State.FAILED, State.CANCELLED)

    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    priority = models.CharField(max_length=20, choices=Priority, default=Priority.DEFAULT)
    total = models.PositiveIntegerField()
    """Units of work, an upper bound while it waits for another job; chunks count the units done."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    error = MessageField(blank=True)
    """First error of its chunks."""
    pause_reason = MessageField(blank=True)
    """Why the job paused itself; empty where a person paused it."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def has_ended(self) -> bool:
        return self.state in self.ENDED

    @property
    def is_waiting(self) -> bool:
        return self.state == self.State.WAITING

    @property
    def is_paused(self) -> bool:
        return self.state == self.State.PAUSED

    @property
    def is_cancelling(self) -> bool:
        return self.state == self.State.CANCELLING


class LimitedJob(Job):
    """A job that calls a language model within limits: see `limits.py`."""

    calls = models.PositiveIntegerField(default=0)
    """Calls of the model so far."""
    most_calls = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    """Limit on calls, at which the job pauses."""
    tokens = models.PositiveBigIntegerField(default=0)
    """Estimated tokens read and written by the model so far."""
    dollars = models.FloatField(default=0)
    """Estimated dollars spent so far: 0 where no price is known."""
    most_dollars = models.FloatField(null=True)
    """Limit on dollars, at which the job pauses; None for no limit."""

    class Meta:
        abstract = True


class Chunk(LeasedWork):
    """A part of a job that one worker does at a time; the subclass defines `job`."""

    number = models.PositiveIntegerField()
    """Position in the job."""
    size = models.PositiveIntegerField()
    """Units of work, of which `done` are done."""
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    """Failed units among the done ones."""
    seconds = models.FloatField(default=0)
    """Time that workers spent on it, for the measured rate."""

    class Meta:
        abstract = True


class AskingChunk(Chunk):
    """A chunk of a LimitedJob, with the replies that its model gave so far."""

    replies = models.JSONField(default=dict, blank=True)
    """Prompt digest -> replies in their order: what was paid for is not asked again."""

    class Meta:
        abstract = True

    @property
    def limited_job(self) -> LimitedJob:
        job: LimitedJob = self.job  # type: ignore[attr-defined]  # the subclass's
        return job
