"""Graders with their grades and reasons, and people's ratings."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.types import CONTRADICTS, MAX_RATING, MIN_RATING
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, Row
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades import human_ratings, visibility
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import raters
from rubricweb.support.rationales import CheckedRationales, checked_rationales

NAMED = [
    OpenApiParameter("grader", description="Of one grader, by its fingerprint."),
    OpenApiParameter("topic", description="Of one topic, by its `query_id`."),
]


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


class ShareDocument(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True, help_text="0 to 1; null where nothing is checked.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class RationalesDocument(serializers.Serializer[CheckedRationales]):
    grader = serializers.CharField(source="grader.fingerprint")
    backend = serializers.CharField(source="judge.backend", help_text="Of the model that checked.")
    llm = serializers.CharField(source="judge.llm")
    prompt = serializers.CharField(source="judge.prompt_id")
    sample = serializers.IntegerField(help_text="Rationales drawn at random.")
    asked_about = serializers.IntegerField(help_text="Those that do more than restate the question.")
    checked = serializers.IntegerField(help_text="Of these, those with all claims labelled.")
    unsupported = ShareDocument(
        source="unsupported.as_json", help_text="Of the checked ones: a claim is not in the passage."
    )
    in_part = ShareDocument(source="partial.as_json", help_text="Of the checked ones: a claim is so in part.")
    restates = ShareDocument(source="restates.as_json", help_text="Of the sample: restate the question.")


class Rationales(Resource):
    """How often passages do not hold what graders say of them, by grader and by the model that checked."""

    @extend_schema(responses=RationalesDocument(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Get the outcomes of checked rationales."""
        rows = checked_rationales(self.collection(needed=roles.TO_ORGANIZE))
        return Response([RationalesDocument(row).data for row in rows])


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
    call_items = serializers.IntegerField(
        allow_null=True, help_text="Items of its call; null where it asked one."
    )
    call_place = serializers.IntegerField(
        allow_null=True, help_text="Its place, from 1, among all items asked of the passage."
    )
    at = serializers.DateTimeField()


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
        return visibility.visible_grades(rows.exclude(passage__in=away) if away else rows, collection.pk)


def _graders(collection: Collection) -> QuerySet[GraderConfig]:
    graded = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    return GraderConfig.objects.filter(pk__in=graded)


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
    rating = serializers.IntegerField(
        max_value=MAX_RATING,
        help_text=f"0 to 5; {CONTRADICTS} for a contradiction, where a grader of the rubric knows these.",
    )
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
        return visibility.visible_human_grades(rows, collection.pk)

    def adjusted(self, rows: list[Row]) -> list[Row]:
        collection = self.collection()
        return [{**row, "assessor": assessor_pseudonym(collection, row["assessor"])} for row in rows]

    @extend_schema(request=NewRating, responses={201: RatingSerializer}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Rate a passage for a question."""
        collection = self.collection(needed=roles.TO_RATE)
        fields = self.fields(NewRating)
        topic = get_object_or_404(collection.topics, query_id=fields["topic"])
        item = get_object_or_404(
            Item.objects.active(), pk=fields["item"], bank__collection=collection, topic=topic
        )
        _check_rating(fields["rating"], item.bank)
        cell = human_ratings.Cell.of(item, pooled_passage(collection, topic.pk, fields["passage"]))
        event = human_ratings.rate_cell(
            cell,
            rating=fields["rating"],
            by=self.person,
            seen=fields["seen"],
            uid=fields.get("event"),
        )
        assessor = assessor_pseudonym(collection, event.by_id)
        return Response({**RatingSerializer(event).data, "assessor": assessor}, HTTPStatus.CREATED)


def _check_rating(rating: int, bank: Bank) -> None:
    """Raise ValidationError below the scale, but for a contradiction where a grader knows these."""
    if rating >= MIN_RATING:
        return
    knows = any(rater.knows_contradiction for rater in raters(bank))
    if rating != CONTRADICTS or not knows:
        other = f", or {CONTRADICTS} for contradicts" if knows else ""
        expected = f"{rating}, expected {MIN_RATING} to {MAX_RATING}{other}"
        raise serializers.ValidationError({"rating": [expected]})
