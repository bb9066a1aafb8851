"""Filters of collections, topics and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


class CollectionQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User) -> CollectionQuerySet:
        """The collections that `user` is a member of; a superuser sees all."""
        return self if user.is_superuser else self.filter(memberships__user=user)


class TopicQuerySet(models.QuerySet[Any]):
    def by_query_id(self, query_ids: list[str]) -> TopicQuerySet:
        return self.filter(query_id__in=query_ids)


class RunQuerySet(models.QuerySet[Any]):
    def accepted(self) -> RunQuerySet:
        """The runs that count: on boards, in pools, figures and files."""
        return self.filter(state=self.model.State.ACCEPTED)

    def not_accepted(self) -> RunQuerySet:
        """Submitted ones that wait to be accepted, and withdrawn ones."""
        return self.exclude(state=self.model.State.ACCEPTED)
