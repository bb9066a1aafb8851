"""A named view belongs to one person and one collection."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from rubricweb.corpus.models import Collection

NAME_CHARS = 80


class SavedView(models.Model):
    """How somebody likes to look at grids: filters, orders and source, by a name."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=NAME_CHARS)
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
