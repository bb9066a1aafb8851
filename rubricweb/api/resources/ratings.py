"""What people said of cells: read all, and add one's own."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.types import MAX_RATING, MIN_RATING
from rubricweb.accounts import roles
from rubricweb.api.base import ListResource, Row
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.banks.models import Item
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.visibility import visible_human_grades


class RatingSerializer(serializers.Serializer[HumanGrade]):
    id = serializers.IntegerField(source="pk")
    event = serializers.UUIDField(source="uid")
    assessor = serializers.CharField(source="by_id", help_text="A pseudonym.")
    topic = serializers.CharField(source="topic.query_id")
    doc_id = serializers.CharField(source="passage.doc_id")
    item = serializers.CharField(source="revision.uid", help_text="The id of the wording.")
    number = serializers.IntegerField(
        help_text="Counts this assessor's events for this pair; the highest counts."
    )
    rating = serializers.IntegerField(allow_null=True)
    verdict = serializers.CharField()
    how = serializers.ChoiceField(choices=HumanGrade.How.choices)
    is_withdrawn = serializers.BooleanField()
    at = serializers.DateTimeField()


class NewRating(serializers.Serializer[Any]):
    topic = serializers.CharField(help_text="The topic's `query_id`.")
    passage = serializers.IntegerField(help_text="The id of a passage of its pool.")
    item = serializers.IntegerField(help_text="The id of an item.")
    rating = serializers.IntegerField(min_value=MIN_RATING, max_value=MAX_RATING)
    seen = serializers.IntegerField(
        min_value=0, help_text="The `number` of your latest event for this pair; 0 for none."
    )
    event = serializers.UUIDField(required=False, help_text="Sent again with it, it is saved once.")


class Ratings(ListResource):
    """People's ratings, event by event. Cells to rate blind are left out until you rated them."""

    serializer_class = RatingSerializer
    scopes = {"POST": Token.Scope.ASSESS}

    def rows(self) -> QuerySet[Any]:
        collection = self.collection()
        rows = HumanGrade.objects.filter(topic__collection=collection)
        return visible_human_grades(rows, collection.pk)

    def shown(self, rows: list[Row]) -> list[Row]:
        collection = self.collection()
        return [{**row, "assessor": assessor_pseudonym(collection, row["assessor"])} for row in rows]

    @extend_schema(request=NewRating, responses={201: RatingSerializer}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Rate a passage for a question."""
        collection = self.collection(needed=roles.TO_ASSESS)
        sent = self.fields(NewRating)
        event = rate_cell(
            _cell(collection, sent),
            rating=sent["rating"],
            by=self.person,
            seen=sent["seen"],
            uid=sent.get("event"),
        )
        return Response(_document(collection, event), HTTPStatus.CREATED)


def _cell(collection: Collection, sent: Row) -> Cell:
    topic = get_object_or_404(collection.topics, query_id=sent["topic"])
    item = get_object_or_404(Item.objects.active(), pk=sent["item"], bank__collection=collection, topic=topic)
    return Cell.of(item, pooled_passage(collection, topic.pk, sent["passage"]))


def _document(collection: Collection, event: HumanGrade) -> Row:
    return {**RatingSerializer(event).data, "assessor": assessor_pseudonym(collection, event.by_id)}
