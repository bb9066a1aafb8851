"""Responses: what runs answered to topics. `submissions` takes new ones, `imports` whole files."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers

from rubricweb.api.base import ListResource, Row
from rubricweb.core.http import parse_id
from rubricweb.corpus.models import Response
from rubricweb.corpus.pseudonyms import shown_names


class CitationDocument(serializers.Serializer[Any]):
    doc_id = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="Null where the file gave none.")


class SentenceDocument(serializers.Serializer[Any]):
    text = serializers.CharField()
    citations = CitationDocument(many=True, allow_null=True, help_text="Null where the file did not say.")


class ResponseSerializer(serializers.Serializer[Response]):
    id = serializers.IntegerField(source="pk")
    run_id = serializers.IntegerField()
    run = serializers.CharField(
        source="run.run_tag", help_text="A pseudonym for assessors and viewers, unless names are shown."
    )
    topic = serializers.CharField(source="topic.query_id")
    sentences = SentenceDocument(many=True)
    references = serializers.ListField(child=serializers.CharField(), allow_null=True)
    passages_of = serializers.ChoiceField(
        choices=Response.PassagesOf.choices, help_text="What of it is graded as a passage."
    )


NAMED = [
    OpenApiParameter("run", int, description="Of one run, by its id."),
    OpenApiParameter("topic", description="Of one topic, by its `query_id`."),
]


@extend_schema_view(get=extend_schema(parameters=NAMED))
class Responses(ListResource):
    """The responses of accepted runs."""

    serializer_class = ResponseSerializer

    def rows(self) -> QuerySet[Any]:
        collection, named = self.collection(), self.request.query_params
        runs = collection.runs.accepted()
        if run := named.get("run", ""):
            runs = runs.filter(pk=get_object_or_404(runs, pk=parse_id(run)).pk)
        rows = Response.objects.filter(run__in=runs)
        if query_id := named.get("topic", ""):
            rows = rows.filter(topic=get_object_or_404(collection.topics, query_id=query_id))
        return rows

    def shown(self, rows: list[Row]) -> list[Row]:
        names = shown_names(self.collection().pk, tuple(row["run"] for row in rows))
        return [
            {**row, "run": name, "sentences": [_sentence(**one) for one in row["sentences"]]}
            for row, name in zip(rows, names, strict=True)
        ]


def _sentence(text: str, citations: list[tuple[str, float | None]] | None) -> Row:
    if citations is None:
        return {"text": text, "citations": None}
    return {"text": text, "citations": [{"doc_id": doc_id, "score": score} for doc_id, score in citations]}
