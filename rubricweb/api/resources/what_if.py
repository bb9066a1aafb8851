"""What a change would do, before anybody makes it: of retiring an item, and of writing one."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from grading.types import ItemKind
from rubricweb.api.base import require_valid
from rubricweb.api.resources.banks import OfBank
from rubricweb.banks import access
from rubricweb.banks.models import Item
from rubricweb.editor.figures import FiguresForm, rating_graders
from rubricweb.editor.impact import Impact, UnsavedItem, impact_of
from rubricweb.editor.item_forms import MAX_WORDING
from rubricweb.editor.what_if import LabelChange, RunMove, WhatIf, what_if


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


class ImpactDocument(serializers.Serializer[Impact]):
    passages = serializers.IntegerField()
    known = serializers.IntegerField(help_text="Graded for this wording already.")
    to_grade = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True, help_text="Null without a measured rate.")
    dollars = serializers.FloatField(allow_null=True, help_text="Null without a price.")
    runs = serializers.IntegerField()
    could_move = serializers.ListField(
        child=serializers.CharField(), help_text="Runs whose rank some outcome of the grading changes."
    )
    is_twin = serializers.BooleanField(help_text="The rubric has this item already.")


NAMED = [
    OpenApiParameter("grader", int, description="The id of a grader; the collection's by default."),
    OpenApiParameter("min_grade", int, description="The threshold; the grader's by default."),
]


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
        bank, sent = self.bank_to_edit(), self.fields(UnsavedDocument)
        topic = get_object_or_404(bank.collection.topics, query_id=sent["topic"])
        item: Item | None = None
        if "item" in sent:
            item = get_object_or_404(bank.items.for_topic(topic).select_related("revision"), pk=sent["item"])
        kind = ItemKind(item.kind if item else sent["kind"])
        facet_id = item.facet_id if item else sent["facet_id"]
        unsaved = UnsavedItem(bank, topic, kind, sent["text"], facet_id, item)
        return Response(ImpactDocument(impact_of(unsaved)).data)
