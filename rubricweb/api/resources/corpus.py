"""Collections with their topics, runs, responses and live events."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.api.resources import AnyMedia, ListResource, Resource, Row, limited_to
from rubricweb.core import http, streams
from rubricweb.corpus import access, models, pseudonyms, settings
from rubricweb.corpus.models import Collection, Passage, Pooled, Run, Topic
from rubricweb.corpus.pools import collection_pool

NAMED = [
    OpenApiParameter("run", int, description="Of one run, by its id."),
    OpenApiParameter("topic", description="Of one topic, by its `query_id`."),
]
SINCE = OpenApiParameter(
    "since",
    float,
    description="Unix time: without an event since then, the stream does not begin with `missed`.",
)


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


class TopicSerializer(serializers.Serializer[Topic]):
    id = serializers.IntegerField(source="pk")
    query_id = serializers.CharField(help_text="The topic's id in runs and qrels.")
    text = serializers.CharField(help_text="The query, or the title.")
    description = serializers.CharField()
    narrative = serializers.CharField()
    background = serializers.CharField()
    attributes = serializers.JSONField()
    attribute_sources = serializers.JSONField(
        help_text="By attribute what a model says (model, llm, prompt_id), and by: person where one decided."
    )
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
    start_char = serializers.IntegerField(
        allow_null=True, help_text="The first character of a segment in its document, from 0."
    )
    end_char = serializers.IntegerField(allow_null=True, help_text="The character after its last.")
    text = serializers.CharField()


class PooledPassage(Resource):
    """One passage of the pool of a topic, with its text."""

    @extend_schema(responses=PassageDocument)
    def get(self, request: Request, slug: str, topic_id: int, passage_id: int) -> Response:
        """Get a pooled passage with its text."""
        return Response(PassageDocument(access.pooled_passage(self.collection(), topic_id, passage_id)).data)


class RunSerializer(serializers.Serializer[Run]):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField(
        source="run_tag",
        help_text="A pseudonym for assessors and viewers, unless the collection shows names.",
    )
    type = serializers.ChoiceField(choices=Run.Type.choices)
    is_closed_book = serializers.BooleanField()
    is_made_here = serializers.BooleanField()


class Runs(ListResource):
    """The accepted runs of a collection."""

    serializer_class = RunSerializer

    def rows(self) -> QuerySet[Any]:
        return self.collection().runs.accepted()

    def adjusted(self, rows: list[Row]) -> list[Row]:
        names = pseudonyms.shown_names(self.collection().pk, tuple(row["name"] for row in rows))
        return [{**row, "name": name} for row, name in zip(rows, names, strict=True)]


class CitationDocument(serializers.Serializer[Any]):
    doc_id = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="Null where the file gave none.")


class SentenceDocument(serializers.Serializer[Any]):
    text = serializers.CharField()
    citations = CitationDocument(many=True, allow_null=True, help_text="Null where the file did not say.")


class ResponseSerializer(serializers.Serializer[models.Response]):
    id = serializers.IntegerField(source="pk")
    run_id = serializers.IntegerField()
    run = serializers.CharField(
        source="run.run_tag", help_text="A pseudonym for assessors and viewers, unless names are shown."
    )
    topic = serializers.CharField(source="topic.query_id")
    sentences = SentenceDocument(many=True)
    references = serializers.ListField(child=serializers.CharField(), allow_null=True)
    passages_of = serializers.ChoiceField(
        choices=models.Response.PassagesOf.choices, help_text="What of it is graded as a passage."
    )


@extend_schema_view(get=extend_schema(parameters=NAMED))
class Responses(ListResource):
    """The responses of accepted runs."""

    serializer_class = ResponseSerializer

    def rows(self) -> QuerySet[Any]:
        collection, named = self.collection(), self.request.query_params
        runs = collection.runs.accepted()
        if run := named.get("run", ""):
            runs = runs.filter(pk=get_object_or_404(runs, pk=http.parse_id(run)).pk)
        rows = models.Response.objects.filter(run__in=runs)
        if query_id := named.get("topic", ""):
            rows = rows.filter(topic=get_object_or_404(collection.topics, query_id=query_id))
        return rows

    def adjusted(self, rows: list[Row]) -> list[Row]:
        names = pseudonyms.shown_names(self.collection().pk, tuple(row["run"] for row in rows))
        return [
            {**row, "run": name, "sentences": [_sentence(**sentence) for sentence in row["sentences"]]}
            for row, name in zip(rows, names, strict=True)
        ]


def _sentence(text: str, citations: list[tuple[str, float | None]] | None) -> Row:
    if citations is None:
        return {"text": text, "citations": None}
    return {"text": text, "citations": [{"doc_id": doc_id, "score": score} for doc_id, score in citations]}


class Events(Resource):
    """Server-sent events of the collection, until you close the connection.

    Their names: `items`, `grades`, `progress` (of a job), `runs`, `flags`, `ratings`, `campaigns`, `votes`,
    and `missed`, where there may have been others before. They carry no data: ask for what you want to know.
    """

    renderer_classes = (AnyMedia,)

    @extend_schema(parameters=[SINCE], responses={(200, "text/event-stream"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Follow what changes in a collection."""
        since = settings.seconds(request.query_params.get("since", ""))
        return streams.stream(self.collection().channel, since=since)
