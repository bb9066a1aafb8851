"""Graders, and the grades that they gave."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers

from rubricweb.api.base import ListResource
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.visibility import visible_grades


class GraderSerializer(serializers.Serializer[GraderConfig]):
    id = serializers.IntegerField(source="pk")
    fingerprint = serializers.CharField(help_text="Of model, prompt and options: the same for ever.")
    backend = serializers.CharField()
    llm = serializers.CharField()
    prompt_class = serializers.CharField()
    purpose = serializers.ChoiceField(choices=GraderConfig.Goal.choices)
    options = serializers.JSONField()


class Graders(ListResource):
    """The graders that have grades in a collection."""

    serializer_class = GraderSerializer

    def rows(self) -> QuerySet[Any]:
        return _graders(self.collection())


class GradeSerializer(serializers.Serializer[Grade]):
    id = serializers.IntegerField(source="pk")
    grader = serializers.CharField(source="config.fingerprint")
    topic = serializers.CharField(source="topic.query_id")
    doc_id = serializers.CharField(source="passage.doc_id")
    item = serializers.CharField(source="revision.uid", help_text="The id of the wording.")
    rating = serializers.IntegerField(
        allow_null=True, help_text="0 to 5; null for extracted answers and failures."
    )
    outcome = serializers.ChoiceField(choices=Grade.How.choices)
    answer = serializers.CharField()
    confidence = serializers.FloatField(allow_null=True)
    expectation = serializers.FloatField(allow_null=True)
    at = serializers.DateTimeField()


NAMED = [
    OpenApiParameter("grader", description="Of one grader, by its fingerprint."),
    OpenApiParameter("topic", description="Of one topic, by its `query_id`."),
]


@extend_schema_view(get=extend_schema(parameters=NAMED))
class Grades(ListResource):
    """Grades. Cells that you have to rate blind are left out until you rated them.

    With `Accept: application/x-ndjson` all come as lines; after a broken connection, `?cursor=` takes the
    `id` of the last line.
    """

    serializer_class = GradeSerializer

    def rows(self) -> QuerySet[Any]:
        collection, named = self.collection(), self.request.query_params
        rows = Grade.objects.filter(topic__collection=collection)
        if fingerprint := named.get("grader", ""):
            rows = rows.filter(config=get_object_or_404(_graders(collection), fingerprint=fingerprint))
        if query_id := named.get("topic", ""):
            rows = rows.filter(topic=get_object_or_404(collection.topics, query_id=query_id))
        away = {pk for passages in collection_pool(collection).left_out.values() for pk in passages}
        return visible_grades(rows.exclude(passage__in=away) if away else rows, collection.pk)


def _graders(collection: Collection) -> QuerySet[GraderConfig]:
    graded = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    return GraderConfig.objects.filter(pk__in=graded)
