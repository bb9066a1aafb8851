"""Filters of items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import models

from grading.types import ItemKind

if TYPE_CHECKING:
    from rubricweb.banks.models import Item
    from rubricweb.corpus.models import Topic


class ItemQuerySet(models.QuerySet[Any]):
    def for_topic(self, topic: Topic) -> ItemQuerySet:
        return self.filter(topic=topic)

    def active(self) -> ItemQuerySet:
        return self.filter(retired_at__isnull=True)

    def retired(self) -> ItemQuerySet:
        return self.filter(retired_at__isnull=False)

    def fellows_of(self, item: Item) -> ItemQuerySet:
        """The active items listed together with `item`: same topic, kind and subtopic."""
        return self.active().filter(topic=item.topic_id, kind=item.kind, facet_id=item.facet_id)

    def with_answer_key(self) -> ItemQuerySet:
        """Those whose present wording has at least one accepted answer."""
        return self.filter(revision__answer_keys__isnull=False).distinct()

    def of_kinds(self, kinds: Iterable[ItemKind]) -> ItemQuerySet:
        return self.filter(kind__in=[str(kind) for kind in kinds])
