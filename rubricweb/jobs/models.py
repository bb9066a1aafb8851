"""What every kind of background work stores. All abstract: each room has tables of its own."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from rubricweb.core.secrets import MessageField


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
    """By workers, since a person asked for it."""
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
    """Work that stands for itself: one call of a model that a person waits for."""

    error = MessageField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Job(models.Model):
    """Work that is cut into chunks, which its subclass's `Chunk` holds as `chunks`."""

    class State(models.TextChoices):
        WAITING = "waiting"
        """For another job."""
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        CANCELLING = "cancelling"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Priority(models.TextChoices):
        """In the order in which workers look for work."""

        HIGH = "high", "high"
        """A person waits for it."""
        DEFAULT = "default", "normal"
        LOW = "low", "low"
        """Nobody asked for it in person."""

    WORKED_ON = (State.QUEUED, State.RUNNING)
    """Only in these states may a worker take a chunk."""
    ENDED = (State.DONE, State.FAILED, State.CANCELLED)

    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    priority = models.CharField(max_length=20, choices=Priority, default=Priority.DEFAULT)
    total = models.PositiveIntegerField()
    """Units of work, while it waits for another job at most; how many are done its chunks say."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    error = MessageField(blank=True)
    """The first of its chunks' errors."""
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
    """A job that asks a language model, as often and for as much as somebody allowed: see `limited.py`."""

    calls = models.PositiveIntegerField(default=0)
    """Of the model, so far."""
    most_calls = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    """The job pauses before it asks more often."""
    tokens = models.PositiveBigIntegerField(default=0)
    """Read and written by the model so far, estimated."""
    dollars = models.FloatField(default=0)
    """Spent so far by estimate: 0 where no price is known."""
    most_dollars = models.FloatField(null=True)
    """The job pauses before it spends more; None for no limit."""

    class Meta:
        abstract = True


class Chunk(LeasedWork):
    """A part of a job that one worker does at a time; `job` is the subclass's."""

    number = models.PositiveIntegerField()
    """Its place in the job."""
    size = models.PositiveIntegerField()
    """Units of work, of which `done` are done."""
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    """Of the done ones."""
    seconds = models.FloatField(default=0)
    """Time that workers spent on it, for the measured rate."""

    class Meta:
        abstract = True
