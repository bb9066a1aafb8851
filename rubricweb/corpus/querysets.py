"""Filters of collections, topics and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from rubricweb.accounts.roles import TO_VIEW, Role

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


class CollectionQuerySet(models.QuerySet[Any]):
    def visible_to(self, user: User) -> CollectionQuerySet:
        """Return the collections whose pages `user` may read: all for a superuser, none as a participant."""
        if user.is_superuser:
            return self
        readers = [role for role in Role if role.includes(TO_VIEW)]
        return self.filter(memberships__user=user, memberships__role__in=readers)


class PresentManager(models.Manager[Any]):
    """Leaves out collections that are deleted, whose rows a worker still removes."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(is_gone=False)


CollectionManager = PresentManager.from_queryset(CollectionQuerySet)


class TopicQuerySet(models.QuerySet[Any]):
    def by_query_id(self, query_ids: list[str]) -> TopicQuerySet:
        return self.filter(query_id__in=query_ids)

    def attribute_values(self) -> dict[str, dict[str, object]]:
        """Return the attributes of each topic by its query id, as `grading.topic_attributes` takes them."""
        return dict(self.order_by("position").values_list("query_id", "attributes"))

    def attribute_values_with_model(self) -> dict[str, dict[str, object]]:
        """Return the same, and what a model says where neither a file nor a person says anything."""
        rows = self.order_by("position").values_list("query_id", "attributes", "attribute_sources")
        return {
            query_id: {name: row["model"] for name, row in sources.items() if "model" in row} | attributes
            for query_id, attributes, sources in rows
        }


class RunQuerySet(models.QuerySet[Any]):
    def accepted(self) -> RunQuerySet:
        """Return the runs that count: on boards, in pools, figures and files."""
        return self.filter(state=self.model.State.ACCEPTED)

    def not_accepted(self) -> RunQuerySet:
        """Return the runs that wait to be accepted, are rejected or withdrawn."""
        return self.exclude(state=self.model.State.ACCEPTED)
