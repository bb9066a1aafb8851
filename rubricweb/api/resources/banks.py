"""Banks with their questions and nuggets, and what a change of one would do."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from grading.types import Importance, ItemKind
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import IF_MATCH, ListResource, Resource, require_valid, seen_version
from rubricweb.banks import access, actions, versions
from rubricweb.banks.models import Bank, BankVersion, Item, ItemChange
from rubricweb.editor import impact
from rubricweb.editor.forms import MAX_WORDING, FiguresForm, rating_graders
from rubricweb.editor.what_if import LabelChange, RunMove, WhatIf, what_if

EDITS = dict.fromkeys(("POST", "PATCH"), Token.Scope.EDIT)

NAMED = [
    OpenApiParameter("grader", int, description="The id of a grader; the collection's by default."),
    OpenApiParameter("min_grade", int, description="The threshold; the grader's by default."),
]


class BankSerializer(serializers.Serializer[Bank]):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()


class Banks(ListResource):
    """The test banks of a collection."""

    serializer_class = BankSerializer

    def rows(self) -> QuerySet[Any]:
        return self.collection().banks.all()


class ItemSerializer(serializers.Serializer[Item]):
    id = serializers.IntegerField(source="pk")
    topic = serializers.CharField(source="topic.query_id")
    kind = serializers.ChoiceField(choices=Item.Kind.choices)
    facet_id = serializers.CharField(help_text="The subtopic; empty for the whole topic.")
    uid = serializers.CharField(
        source="revision.uid", help_text="The id of its wording, under which it is graded."
    )
    text = serializers.CharField(source="revision.text")
    importance = serializers.ChoiceField(choices=Item.Weight.choices)
    weight = serializers.FloatField()
    position = serializers.IntegerField()
    version = serializers.IntegerField()
    retired_at = serializers.DateTimeField(allow_null=True)


class NewItem(serializers.Serializer[Any]):
    topic = serializers.CharField(help_text="The topic's `query_id`.")
    kind = serializers.ChoiceField(choices=Item.Kind.choices)
    text = serializers.CharField(max_length=4_000)
    facet_id = serializers.CharField(default="", allow_blank=True, max_length=200)


class ItemEdit(serializers.Serializer[Any]):
    """One of wording, importance (with or without weight), or state."""

    text = serializers.CharField(required=False, max_length=4_000)
    importance = serializers.ChoiceField(choices=Item.Weight.choices, required=False)
    weight = serializers.FloatField(required=False)
    retired = serializers.BooleanField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        named = {*attrs} - {"weight"}
        if len(named) != 1 or ("weight" in attrs and "importance" not in attrs):
            raise serializers.ValidationError(
                "Send one of text, importance (weight may go with it), retired."
            )
        return attrs


class OfBank(Resource):
    """A resource of a bank of the address's collection."""

    def bank(self) -> Bank:
        bank: Bank = get_object_or_404(self.collection().banks, pk=self.kwargs["bank_id"])
        return bank

    def bank_to_edit(self) -> Bank:
        """Return the bank, or raise 403 for those who may not edit it."""
        bank = self.bank()
        roles.require(self.person, bank.collection, roles.role_to_edit(bank.collection))
        return bank


class Items(OfBank, ListResource):
    """The questions and nuggets of a bank; `?topic=` limits them to one topic, by its `query_id`."""

    serializer_class = ItemSerializer
    scopes = EDITS

    def rows(self) -> QuerySet[Any]:
        rows = self.bank().items.all()
        topic = self.request.query_params.get("topic", "")
        return rows.filter(topic__query_id=topic) if topic else rows

    @extend_schema(request=NewItem, responses={201: ItemSerializer}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str, bank_id: int) -> Response:
        """Add a question or nugget."""
        bank, fields = self.bank_to_edit(), self.fields(NewItem)
        topic = get_object_or_404(bank.collection.topics, query_id=fields["topic"])
        item = actions.add_item(
            bank,
            topic,
            kind=ItemKind(fields["kind"]),
            text=fields["text"],
            facet_id=fields["facet_id"],
            by=self.person,
        )
        place = reverse("api:item", args=[slug, bank.pk, item.pk])
        return _answer(item, HTTPStatus.CREATED, Location=place)


class ItemResource(OfBank):
    """One item. Its `ETag` is its version, which a change names in `If-Match`."""

    scopes = EDITS

    @extend_schema(responses=ItemSerializer)
    def get(self, request: Request, slug: str, bank_id: int, item_id: int) -> Response:
        """Get a question or nugget."""
        return _answer(access.item_for(self.person, self.bank().pk, item_id))

    @extend_schema(request=ItemEdit, responses=ItemSerializer, parameters=[IF_MATCH, KEY])
    @done_once
    def patch(self, request: Request, slug: str, bank_id: int, item_id: int) -> Response:
        """Reword, weigh, retire or restore an item."""
        item = access.item_for_editor(self.person, self.bank().pk, item_id)
        fields, seen = self.fields(ItemEdit), seen_version(request)
        if "text" in fields:
            actions.revise_item(item, text=fields["text"], seen=seen, by=self.person)
        elif "importance" in fields:
            importance, weight = Importance(fields["importance"]), fields.get("weight")
            actions.weigh_item(item, importance=importance, weight=weight, seen=seen, by=self.person)
        elif fields["retired"]:
            actions.retire_item(item, seen=seen, by=self.person)
        else:
            actions.restore_item(item, seen=seen, by=self.person)
        return _answer(item)


class ChangeSerializer(serializers.Serializer[ItemChange]):
    id = serializers.IntegerField(source="pk")
    version = serializers.IntegerField(source="number")
    verb = serializers.CharField()
    text = serializers.CharField(source="revision.text")
    detail = serializers.CharField()
    at = serializers.DateTimeField()


class History(OfBank, ListResource):
    """The changes of an item, oldest first."""

    serializer_class = ChangeSerializer

    def rows(self) -> QuerySet[Any]:
        return access.item_for(self.person, self.bank().pk, self.kwargs["item_id"]).changes.all()


class VersionSerializer(serializers.Serializer[BankVersion]):
    id = serializers.IntegerField(source="pk")
    number = serializers.IntegerField()
    name = serializers.CharField()
    note = serializers.CharField()
    at = serializers.DateTimeField()


class NewVersion(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=versions.NAME_CHARS)
    note = serializers.CharField(default="", allow_blank=True)


class Versions(OfBank, ListResource):
    """The named versions of a bank. A POST names its present state."""

    serializer_class = VersionSerializer
    scopes = EDITS

    def rows(self) -> QuerySet[Any]:
        return self.bank().versions.all()

    @extend_schema(request=NewVersion, responses={201: VersionSerializer}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str, bank_id: int) -> Response:
        """Name the present state of a bank."""
        bank = access.bank_for(self.person, self.bank().pk, needed=roles.TO_EDIT_BANK)
        version = versions.name_version(bank, **self.fields(NewVersion), by=self.person)
        return Response(VersionSerializer(version).data, HTTPStatus.CREATED)


def _answer(item: Item, status: HTTPStatus = HTTPStatus.OK, **headers: str) -> Response:
    return Response(ItemSerializer(item).data, status, headers={"ETag": f'"{item.version}"', **headers})


class LabelChangeDocument(serializers.Serializer[LabelChange]):
    doc_id = serializers.CharField()
    before = serializers.IntegerField(allow_null=True, help_text="The highest rating; null without any.")
    after = serializers.IntegerField(allow_null=True)
    was_covered = serializers.BooleanField()
    is_covered = serializers.BooleanField()


class RunMoveDocument(serializers.Serializer[RunMove]):
    run = serializers.CharField(source="run_tag")
    score_before = serializers.FloatField()
    score_after = serializers.FloatField()
    rank_before = serializers.IntegerField(source="before")
    rank_after = serializers.IntegerField(source="after")
    rank_interval = serializers.CharField(source="possible", help_text="Before the change.")
    is_beyond = serializers.BooleanField(help_text="The new rank lies outside of that interval.")


class WhatIfDocument(serializers.Serializer[WhatIf]):
    grader = serializers.CharField(source="config.fingerprint")
    min_grade = serializers.IntegerField(source="measure.min_grade")
    labels = LabelChangeDocument(many=True, help_text="Passages whose label changes.")
    runs = RunMoveDocument(source="runs.moves", many=True, help_text="Runs whose rank changes.")
    swapped_pairs = serializers.IntegerField(source="runs.swapped_pairs")
    rescored = serializers.IntegerField(source="runs.rescored", help_text="Runs whose score changes.")


class UnsavedDocument(serializers.Serializer[Any]):
    """The text of a new item, or with `item` the rewording of one."""

    topic = serializers.CharField(help_text="The topic's `query_id`.")
    kind = serializers.ChoiceField(choices=Item.Kind.choices, help_text="Of a rewording: that of the item.")
    text = serializers.CharField(max_length=MAX_WORDING)
    facet_id = serializers.CharField(default="", allow_blank=True, max_length=200)
    item = serializers.IntegerField(required=False)


class ImpactDocument(serializers.Serializer[impact.Impact]):
    passages = serializers.IntegerField()
    already_graded = serializers.IntegerField(help_text="Graded for this wording already.")
    to_grade = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True, help_text="Null without a measured rate.")
    dollars = serializers.FloatField(allow_null=True, help_text="Null without a price.")
    runs = serializers.IntegerField()
    could_move = serializers.ListField(
        child=serializers.CharField(), help_text="Runs whose rank some outcome of the grading changes."
    )
    is_twin = serializers.BooleanField(help_text="The rubric has this item already.")


class ItemWhatIf(OfBank):
    """What retiring the item would change, or restoring it where it is retired."""

    @extend_schema(parameters=NAMED, responses=WhatIfDocument)
    def get(self, request: Request, slug: str, bank_id: int, item_id: int) -> Response:
        """Preview retiring or restoring an item."""
        item = access.item_for_editor(self.person, self.bank().pk, item_id)
        figures = FiguresForm(request.query_params, rating_graders(item.bank))
        require_valid(figures)
        config = figures.graders.get(ItemKind(item.kind))
        if config is None:
            raise NotFound(f"No grader rates {item.kind}s here.")
        return Response(WhatIfDocument(what_if(item, config, figures.measure_by(config))).data)


class ItemImpact(OfBank):
    """What saving a text would cost, and which runs could move. Nothing is saved."""

    @extend_schema(request=UnsavedDocument, responses=ImpactDocument, operation_id="banks_impact")
    def post(self, request: Request, slug: str, bank_id: int) -> Response:
        """Preview saving a wording."""
        bank, fields = self.bank_to_edit(), self.fields(UnsavedDocument)
        topic = get_object_or_404(bank.collection.topics, query_id=fields["topic"])
        item: Item | None = None
        if "item" in fields:
            item = get_object_or_404(
                bank.items.for_topic(topic).select_related("revision"), pk=fields["item"]
            )
        kind = ItemKind(item.kind if item else fields["kind"])
        facet_id = item.facet_id if item else fields["facet_id"]
        unsaved = impact.UnsavedItem(bank, topic, kind, fields["text"], facet_id, item)
        return Response(ImpactDocument(impact.impact_of(unsaved)).data)
