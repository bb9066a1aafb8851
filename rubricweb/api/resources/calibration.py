"""Calibration cards: how far a grader's ratings are those of people."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.api.base import ListResource, Resource
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.corpus.pseudonyms import sees_names
from rubricweb.graders.calibration import card_document, card_for, pairs
from rubricweb.graders.calibration_cards import TooFewCells, make_card
from rubricweb.graders.models import CalibrationCard


class CardSerializer(serializers.Serializer[CalibrationCard]):
    id = serializers.IntegerField(source="pk")
    bank = serializers.IntegerField(source="bank_id")
    grader = serializers.CharField(source="config.fingerprint", help_text="Its fingerprint.")
    made = serializers.DateTimeField(source="at")


class NewCard(serializers.Serializer[Any]):
    bank = serializers.IntegerField(help_text="The id of a rubric.")
    grader = serializers.CharField(help_text="The fingerprint of a grader with grades of its items.")


class EstimateDocument(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class RatingRowDocument(serializers.Serializer[Any]):
    rating = serializers.IntegerField()
    cells = serializers.IntegerField()
    people = EstimateDocument(help_text="The mean rating of people.")
    reached = EstimateDocument(help_text="The share that people rate at the threshold or above.")


class BiasDocument(serializers.Serializer[Any]):
    name = serializers.CharField()
    cells = serializers.IntegerField()
    bias = EstimateDocument(help_text="The grader's rating less that of people.")
    beyond_others = EstimateDocument()
    p = serializers.FloatField(allow_null=True)
    is_clear = serializers.BooleanField()


class CalibrationDocument(serializers.Serializer[Any]):
    id = serializers.IntegerField(required=False, help_text="Of a card that was just made.")
    collection = serializers.CharField()
    bank = serializers.CharField()
    items = serializers.IntegerField()
    grader = serializers.DictField(child=serializers.CharField(allow_blank=True))
    made = serializers.DateTimeField()
    is_current = serializers.BooleanField()
    items_changed = serializers.IntegerField()
    sample = serializers.DictField(help_text="Pairs, topics and people, and when they rated.")
    level = serializers.FloatField(help_text="Of all intervals: 0.95.")
    min_grade = serializers.IntegerField()
    kappa = EstimateDocument()
    same = EstimateDocument(help_text="The share of pairs with the same rating.")
    near = EstimateDocument(help_text="The share with a rating at most 1 apart.")
    bias = EstimateDocument()
    by_rating = RatingRowDocument(many=True)
    groups = serializers.DictField(help_text="How many groups were compared, and by which rule.")
    by_length = BiasDocument(many=True)
    by_runs = BiasDocument(many=True, required=False, help_text="For those who see the names of runs.")


class Cards(ListResource):
    """The calibration cards of a collection, also stale ones. POST compares a grader with people, now."""

    serializer_class = CardSerializer
    scopes = {"POST": Token.Scope.EDIT}

    def rows(self) -> QuerySet[Any]:
        """Return those of the collection."""
        return CalibrationCard.objects.filter(bank__collection=self.collection())

    @extend_schema(request=NewCard, parameters=[KEY], responses={201: CalibrationDocument})
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Compare a grader with people."""
        collection = self.collection(needed=roles.TO_EDIT_BANK)
        fields = self.fields(NewCard)
        requested = (fields["bank"], fields["grader"])
        pair = next(
            (
                offered
                for offered in pairs(collection)
                if (offered[0].pk, offered[1].fingerprint) == requested
            ),
            None,
        )
        if pair is None:
            raise serializers.ValidationError({"grader": ["This grader has not graded that rubric."]})
        try:
            card = make_card(*pair, by=self.person)
        except TooFewCells as error:
            raise serializers.ValidationError({"grader": [str(error)]}) from error
        where = {"Location": reverse("api:calibration-card", args=[slug, card.pk])}
        document = card_document(card, with_runs=sees_names(self.person, collection))
        return Response({"id": card.pk, **document}, status=HTTPStatus.CREATED, headers=where)


class CardResource(Resource):
    """One card, and whether it is current."""

    @extend_schema(responses=CalibrationDocument)
    def get(self, request: Request, slug: str, card_id: int) -> Response:
        """Get a calibration card."""
        collection = self.collection()
        card = card_for(self.person, slug, card_id)
        document = card_document(card, with_runs=sees_names(self.person, collection))
        return Response({"id": card.pk, **document})
