"""Decisions of adjudicators, and the ratings that each was made between."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from grading.types import MAX_RATING, MIN_RATING
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Passage, Topic
from rubricweb.grades.human_models import HumanGrade


class Decision(models.Model):
    """What an adjudicator decided of a cell; of several that stand, the last holds.

    `number` counts the cell's decisions, so that of two adjudicators who saw the same number one is refused.
    """

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="decisions")
    revision = models.ForeignKey(ItemRevision, on_delete=models.CASCADE, related_name="decisions")
    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="decisions")
    number = models.PositiveIntegerField()
    rating = models.SmallIntegerField()
    reason = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions")
    at = models.DateTimeField(auto_now_add=True)
    grade = models.OneToOneField(HumanGrade, on_delete=models.PROTECT, related_name="decision")
    """The human rating that carries the decision."""
    uid = models.UUIDField(unique=True, default=uuid.uuid4)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("revision", "passage", "number"), name="decisions_in_turn"),
            models.CheckConstraint(
                condition=Q(rating__gte=MIN_RATING, rating__lte=MAX_RATING),
                name="decided_rating_within_scale",
            ),
        )
        indexes = (models.Index(fields=("topic", "revision", "passage"), name="decisions_by_cell"),)

    def __str__(self) -> str:
        return f"decision {self.number}: {self.rating}"


class DecidedRating(models.Model):
    """A rating that a decision was made between, as it was at that time."""

    decision = models.ForeignKey(Decision, on_delete=models.CASCADE, related_name="between")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="decided_ratings"
    )
    rating = models.SmallIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("decision", "person"), name="one_rating_per_decision_and_person"),
        )

    def __str__(self) -> str:
        return f"{self.rating} before decision {self.decision_id}"
