"""Topics, and the passages in the pool of each."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.api.base import ListResource, Resource
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Passage, Pooled, Topic
from rubricweb.corpus.pools import collection_pool


class TopicSerializer(serializers.Serializer[Topic]):
    id = serializers.IntegerField(source="pk")
    query_id = serializers.CharField(help_text="The topic's id in runs and qrels.")
    text = serializers.CharField(help_text="The query, or the title.")
    description = serializers.CharField()
    narrative = serializers.CharField()
    background = serializers.CharField()
    attributes = serializers.JSONField()
    position = serializers.IntegerField()


class Topics(ListResource):
    """The topics of a collection."""

    serializer_class = TopicSerializer

    def rows(self) -> QuerySet[Any]:
        return self.collection().topics.all()


class TopicResource(Resource):
    """One topic."""

    @extend_schema(responses=TopicSerializer)
    def get(self, request: Request, slug: str, topic_id: int) -> Response:
        """Get a topic."""
        return Response(TopicSerializer(get_object_or_404(self.collection().topics, pk=topic_id)).data)


class PooledSerializer(serializers.Serializer[Pooled]):
    id = serializers.IntegerField(source="pk")
    passage = serializers.IntegerField(source="passage_id")
    doc_id = serializers.CharField(source="passage.doc_id")
    position = serializers.IntegerField()


class Pool(ListResource):
    """The passages in the pool of a topic. Those that only withdrawn runs bring are left out."""

    serializer_class = PooledSerializer

    def rows(self) -> QuerySet[Any]:
        collection = self.collection()
        topic = get_object_or_404(collection.topics, pk=self.kwargs["topic_id"])
        left_out = collection_pool(collection).left_out.get(topic.pk, frozenset())
        return Pooled.objects.filter(topic=topic).exclude(passage__in=left_out)


class PassageDocument(serializers.Serializer[Passage]):
    id = serializers.IntegerField(source="pk")
    doc_id = serializers.CharField()
    title = serializers.CharField()
    url = serializers.CharField()
    headings = serializers.CharField(help_text="One a line.")
    text = serializers.CharField()


class PooledPassage(Resource):
    """One passage of the pool of a topic, with its text."""

    @extend_schema(responses=PassageDocument)
    def get(self, request: Request, slug: str, topic_id: int, passage_id: int) -> Response:
        """Get a pooled passage with its text."""
        return Response(PassageDocument(pooled_passage(self.collection(), topic_id, passage_id)).data)
