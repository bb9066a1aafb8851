"""What a language model was asked to draft for a bank, and each text that it wrote until somebody decided."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from grading.types import ItemKind
from rubricweb.corpus.models import Topic

KINDS = [(kind.value, kind.value) for kind in (ItemKind.QUESTION, ItemKind.NUGGET)]


class DraftRequest(models.Model):
    """One question to a model. Its reply stays word for word, so that a failure can be looked at."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        DISMISSED = "dismissed"
        """Failed, and somebody has seen it."""

    UNFINISHED = (State.QUEUED, State.RUNNING)

    bank = models.ForeignKey("banks.Bank", on_delete=models.CASCADE, related_name="draft_requests")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="draft_requests")
    facet_id = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=20, choices=KINDS)
    backend = models.CharField(max_length=40)
    llm = models.CharField(max_length=200)
    prompt_id = models.CharField(max_length=100)
    """`CLASS@version`: the exact words that were asked."""
    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    """Moves when a worker takes the request; only the worker of the last attempt may end it."""
    tries = models.PositiveSmallIntegerField(default=0)
    """By workers, since somebody asked."""
    worker = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)
    reply = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    """When it was last put into the queue."""
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("bank", "topic", "state"), name="draft_requests_by_place"),)

    def __str__(self) -> str:
        return f"{self.kind}s by {self.llm}"


class Draft(models.Model):
    """A text that a model wrote, as it wrote it; once accepted it is linked to its item for good."""

    class State(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    request = models.ForeignKey(DraftRequest, on_delete=models.CASCADE, related_name="drafts")
    text = models.TextField()
    state = models.CharField(max_length=20, choices=State, default=State.WAITING)
    item = models.OneToOneField(
        "banks.Item", null=True, blank=True, on_delete=models.SET_NULL, related_name="draft"
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at__isnull=True)
                | (~Q(state="waiting") & Q(decided_at__isnull=False)),
                name="draft_waits_until_decided",
            ),
        )

    def __str__(self) -> str:
        return self.text
