"""Runs."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from rubricweb.api.base import ListResource, Row
from rubricweb.corpus.models import Run
from rubricweb.corpus.pseudonyms import shown_names


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

    def shown(self, rows: list[Row]) -> list[Row]:
        names = shown_names(self.collection().pk, tuple(row["name"] for row in rows))
        return [{**row, "name": name} for row, name in zip(rows, names, strict=True)]
