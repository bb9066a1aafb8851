"""What was found of a grader beside people, at one time and for the items of that time."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from rubricweb.banks.models import Bank
from rubricweb.grades.models import GraderConfig


class CalibrationCard(models.Model):
    """How far a grader's ratings of a bank's items are those of people. It never changes."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="calibration_cards")
    config = models.ForeignKey(GraderConfig, on_delete=models.PROTECT, related_name="+")
    items = models.JSONField()
    """[query id, id of the wording] of each item that the card is of."""
    found = models.JSONField()
    """What `documents.found` returns."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"calibration card {self.pk} of {self.config}"
