"""Filters of grades."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    from rubricweb.corpus.models import Topic
    from rubricweb.grades.models import GraderConfig


class GradeQuerySet(models.QuerySet[Any]):
    def by(self, config: GraderConfig) -> GradeQuerySet:
        return self.filter(config=config)

    def for_topic(self, topic: Topic) -> GradeQuerySet:
        return self.filter(topic=topic)

    def for_topics(self, topics: Iterable[int]) -> GradeQuerySet:
        return self.filter(topic__in=list(topics))
