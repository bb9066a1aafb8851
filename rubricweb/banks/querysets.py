"""Filters in the words of the field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import models

from grading.types import ItemKind

if TYPE_CHECKING:
    from rubricweb.corpus.models import Topic


class ItemQuerySet(models.QuerySet[Any]):
    def for_topic(self, topic: Topic) -> ItemQuerySet:
        return self.filter(topic=topic)

    def active(self) -> ItemQuerySet:
        return self.filter(retired_at__isnull=True)

    def of_kinds(self, kinds: Iterable[ItemKind]) -> ItemQuerySet:
        return self.filter(kind__in=[str(kind) for kind in kinds])
