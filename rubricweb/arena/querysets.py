"""Filters of votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Exists, OuterRef

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection


class VoteQuerySet(models.QuerySet[Any]):
    def holding(self, collection: Collection) -> VoteQuerySet:
        """The last event of each battle, unless it takes a vote back; between runs that count."""
        accepted = collection.runs.accepted()
        held = self._last(collection)
        return held.filter(battle__left__in=accepted, battle__right__in=accepted)

    def on_fresh_answers(self, collection: Collection) -> VoteQuerySet:
        """Likewise, of battles whose answers were made for a question."""
        return self._last(collection).filter(battle__question__isnull=False)

    def _last(self, collection: Collection) -> VoteQuerySet:
        later = self.model.objects.filter(battle=OuterRef("battle"), number__gt=OuterRef("number"))
        return self.filter(~Exists(later), battle__collection=collection, is_withdrawn=False)
