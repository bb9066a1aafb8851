"""A flag is a thread: its subject, its state and its events in order."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.banks.secrecy import ReadableManager
from rubricweb.corpus.models import Passage, Topic
from rubricweb.review.flags.querysets import FlagQuerySet

FlagManager = ReadableManager.from_queryset(FlagQuerySet)


class Flag(models.Model):
    """A person wants an item, a passage or a cell (both) looked at."""

    class Kind(models.TextChoices):
        SPURIOUS = "spurious", "misleading"
        UNCOVERED = "uncovered", "not covered"
        WRONG_ANSWER = "wrong-answer", "wrong answer"
        UNCLEAR = "unclear", "unclear"
        DUPLICATE = "duplicate", "duplicate"
        COMMENT = "comment", "comment"

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="flags")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="flags")
    item = models.ForeignKey(Item, null=True, blank=True, on_delete=models.CASCADE, related_name="flags")
    passage = models.ForeignKey(
        Passage, null=True, blank=True, on_delete=models.CASCADE, related_name="flags"
    )
    revision = models.ForeignKey(
        ItemRevision, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    """The item's wording when it was flagged."""
    kind = models.CharField(max_length=20, choices=Kind)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="flags"
    )
    at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField()
    """When the last event was added."""
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="assigned_flags",
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    """The number of the last event; who decides names the one they saw."""

    objects = FlagManager()

    class Meta:
        ordering = ("-moved_at", "-pk")
        constraints = (
            models.CheckConstraint(
                condition=Q(item__isnull=False) | Q(passage__isnull=False), name="flag_is_about_something"
            ),
            models.CheckConstraint(
                condition=Q(item__isnull=True, revision__isnull=True)
                | Q(item__isnull=False, revision__isnull=False),
                name="flag_knows_the_words_of_its_item",
            ),
        )
        indexes = (models.Index(fields=("bank", "topic", "resolved_at"), name="flags_by_place"),)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.pk})"

    def get_absolute_url(self) -> str:
        return reverse("review:flag", args=[self.bank.collection.slug, self.pk])

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None

    @property
    def is_reworded(self) -> bool:
        """The item has been reworded since."""
        return self.item is not None and self.item.revision_id != self.revision_id


class FlagEvent(models.Model):
    """The thread, append-only: who wrote or did what, and when."""

    class Verb(models.TextChoices):
        OPENED = "opened"
        REPLIED = "replied"
        ASSIGNED = "assigned"
        RESOLVED = "resolved"
        REOPENED = "reopened"

    flag = models.ForeignKey(Flag, on_delete=models.CASCADE, related_name="events")
    number = models.PositiveIntegerField()
    verb = models.CharField(max_length=20, choices=Verb)
    text = models.TextField(blank=True)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    """To whom it was assigned; nobody if it was given back."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    uid = models.UUIDField(default=uuid4, unique=True)
    """Made in the page; an event sent twice is saved once."""

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("flag", "number"), name="one_event_per_flag_version"),)

    def __str__(self) -> str:
        return f"{self.verb} as event {self.number}"

    @property
    def anchor(self) -> str:
        return f"flag-{self.flag_id}-event-{self.number}"
