"""Leaderboards and qrels, with every option of their pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.errors import BadFormat
from grading.formats.trec import qrels_lines
from rubricweb.api.base import AnyMedia, Resource, require_valid
from rubricweb.exports import selectors as exports
from rubricweb.leaderboards.board import files
from rubricweb.leaderboards.board.scored import scored_board
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.comparison.forms import ComparisonForm
from rubricweb.leaderboards.comparison.selectors import UnknownRun, compare
from rubricweb.leaderboards.comparison.sentences import document
from rubricweb.leaderboards.forms import BoardForm, LabelForm

SHOWN_ONLY = ("sort", "paused")
"""Controls of the page that change no number."""


def parameters(form: type[LabelForm]) -> list[OpenApiParameter]:
    """Return the form's controls as the parameters of an address."""
    return [
        OpenApiParameter(name, _type(field), description=f"{field.label or name.replace('_', ' ')}.")
        for name, field in form.base_fields.items()
        if name not in SHOWN_ONLY
    ]


def _type(field: forms.Field) -> Any:
    whole = isinstance(field, forms.IntegerField | forms.ModelChoiceField)
    return OpenApiTypes.INT if whole else OpenApiTypes.STR


def spec_of(form: LabelForm) -> BoardSpec:
    """Return what the form asks for. Raises ValidationError."""
    if not form.graders:
        raise serializers.ValidationError({"grader": ["This collection has no grades yet."]})
    require_valid(form)
    return form.spec


class Leaderboard(Resource):
    """The leaderboard, as the page and its JSON file have it."""

    @extend_schema(parameters=parameters(BoardForm), responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str) -> Response:
        collection = self.collection()
        spec = spec_of(BoardForm(request.query_params, collection=collection))
        return Response(files.document(board(spec)))


class ComparisonOfRuns(Resource):
    """What can be said of two runs: their difference with its interval, and a sentence for a paper."""

    @extend_schema(parameters=parameters(ComparisonForm), responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str) -> Response:
        collection = self.collection()
        form = ComparisonForm(request.query_params, collection=collection)
        scored = scored_board(spec_of(form))
        try:
            found = compare(scored, form.cleaned_data["first"], form.cleaned_data["second"])
        except UnknownRun as error:
            raise serializers.ValidationError({"first": [str(error)]}) from error
        return Response(document(found))


class Qrels(Resource):
    """Rubric-Qrels, in the format of trec_eval."""

    renderer_classes = (AnyMedia,)

    @extend_schema(parameters=parameters(LabelForm), responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        collection = self.collection()
        spec = spec_of(LabelForm(request.query_params, collection=collection))
        try:
            lines: Iterable[str] = list(qrels_lines(exports.qrels(spec)))
        except BadFormat as error:
            raise serializers.ValidationError({"qrels": [error.problem]}) from error
        return StreamingHttpResponse(
            (f"{line}\n" for line in lines), content_type="text/plain; charset=utf-8"
        )
