"""Flags, which keep a module of their own, and views of the grid that people name."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from rubricweb.corpus.models import Collection
from rubricweb.review.flags.models import Flag, FlagEvent

__all__ = ["Flag", "FlagEvent", "SavedView"]


class SavedView(models.Model):
    """A person's filters, order and source of a grid, named, for any topic of the collection."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    address = models.TextField(blank=True)
    """The query part of a grid's address."""

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("user", "collection", "name"), name="view_name_once_a_person_and_collection"
            ),
        )

    def __str__(self) -> str:
        return self.name
