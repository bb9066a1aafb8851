"""Filters in the words of the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import F, Q

if TYPE_CHECKING:
    from rubricweb.accounts.models import User
    from rubricweb.banks.models import Bank, Item
    from rubricweb.corpus.models import Collection, Passage, Topic


class FlagQuerySet(models.QuerySet[Any]):
    def of(self, collection: Collection) -> FlagQuerySet:
        return self.filter(bank__collection=collection)

    def open(self) -> FlagQuerySet:
        return self.filter(resolved_at__isnull=True)

    def about(self, bank: Bank, topic: Topic, item: Item | None, passage: Passage | None) -> FlagQuerySet:
        """Exactly this subject: a cell's flags are not its item's."""
        return self.filter(bank=bank, topic=topic, item=item, passage=passage)

    def standing(self, by: User) -> FlagQuerySet:
        """Open flags of `by` on the present wording, at most one of each kind; comments are left out."""
        present = Q(item__isnull=True) | Q(revision=F("item__revision"))
        return self.open().filter(present, by=by).exclude(kind="comment")

    def ready(self) -> FlagQuerySet:
        """With everything that a thread shows, except the passage's text."""
        related = ("bank__collection", "topic", "item__revision", "revision", "passage", "by", "assignee")
        flags = self.select_related(*related).defer("passage__text")
        return flags.prefetch_related("events__by", "events__assignee")
