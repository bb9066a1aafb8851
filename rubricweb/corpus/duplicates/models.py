"""Searches for near-duplicates, and the groups that the latest one marked. No passage is ever merged."""

from django.db import models

from grading.near_duplicates import THRESHOLD
from rubricweb.jobs.models import Task


class DuplicateSearch(Task):
    """One search among all passages of a collection."""

    collection = models.ForeignKey(
        "corpus.Collection", on_delete=models.CASCADE, related_name="duplicate_searches"
    )
    threshold = models.FloatField(default=THRESHOLD)
    """The Jaccard similarity of shingles from which on two passages are near-duplicates."""
    passages = models.PositiveIntegerField(default=0)
    """How many passages there were."""
    groups = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        verbose_name_plural = "duplicate searches"

    def __str__(self) -> str:
        return f"near-duplicates from {self.threshold:g} on"


class NearDuplicate(models.Model):
    """A passage that has near-duplicates: those with the same group number."""

    search = models.ForeignKey(DuplicateSearch, on_delete=models.CASCADE, related_name="members")
    passage = models.ForeignKey("corpus.Passage", on_delete=models.CASCADE, related_name="near_duplicates")
    group = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("search", "passage"), name="passage_in_one_group_a_search"),
        )
        indexes = (models.Index(fields=("search", "group"), name="near_duplicates_by_group"),)

    def __str__(self) -> str:
        return f"passage {self.passage_id} in group {self.group}"
