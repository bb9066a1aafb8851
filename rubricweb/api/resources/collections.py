"""Collections."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.api.base import ListResource, Resource, limited_to
from rubricweb.corpus.models import Collection


class CollectionSerializer(serializers.Serializer[Collection]):
    id = serializers.IntegerField(source="pk")
    slug = serializers.SlugField()
    name = serializers.CharField()
    description = serializers.CharField()
    min_relevant = serializers.IntegerField(help_text="The lowest judgment that counts as relevant.")
    created_at = serializers.DateTimeField()


class Collections(ListResource):
    """The collections that you may read."""

    serializer_class = CollectionSerializer

    def rows(self) -> QuerySet[Any]:
        rows = Collection.objects.visible_to(self.person)
        only = limited_to(self.request)
        return rows.filter(pk=only) if only else rows


class CollectionResource(Resource):
    """One collection."""

    @extend_schema(responses=CollectionSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Get a collection."""
        return Response(CollectionSerializer(self.collection()).data)
