"""Results: leaderboards and qrels with every option of their pages, and releases as one zip."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import FileResponse, Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from grading.errors import BadFormat
from grading.formats.trec import qrels_lines
from rubricweb.accounts import roles
from rubricweb.api import idempotency, requests
from rubricweb.api.models import Token
from rubricweb.api.resources import AnyMedia, ListResource, Resource, made, require_valid
from rubricweb.exports import boards
from rubricweb.exports.workbench import graded_response
from rubricweb.leaderboards.board import BoardSpec, certainty, selectors
from rubricweb.leaderboards.board.columns import COLUMNS, Place, at
from rubricweb.leaderboards.board.document import board_document
from rubricweb.leaderboards.comparison import UnknownRun, compare, document, page
from rubricweb.leaderboards.forms import BoardForm, LabelForm
from rubricweb.releases import access, actions, share
from rubricweb.releases.models import Release

SHOWN_ONLY = ("sort", "paused")
"""Controls of the page that change no number."""
WHOLE = (forms.IntegerField, forms.ModelChoiceField)
"""Fields of whole numbers."""


def parameters(form: type[LabelForm]) -> list[OpenApiParameter]:
    """Return the form's controls as the parameters of an address."""
    return [
        OpenApiParameter(
            name,
            OpenApiTypes.INT if isinstance(field, WHOLE) else OpenApiTypes.STR,
            description=f"{field.label or name.replace('_', ' ')}.",
        )
        for name, field in form.base_fields.items()
        if name not in SHOWN_ONLY
    ]


def spec_of(form: LabelForm) -> BoardSpec:
    """Return what the form asks for. Raises ValidationError."""
    if not form.graders:
        raise serializers.ValidationError({"grader": ["This collection has no grades yet."]})
    require_valid(form)
    return form.spec


FIELDS: dict[type, type[serializers.Field[Any, Any, Any, Any]]] = {
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    str: serializers.CharField,
    dict: serializers.DictField,
}


class RankedRunDocument(serializers.Serializer[Any]):
    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        by_token = serializers.DictField(help_text="By token: `score`, `stderr` and `n_topics`.")
        fields = {
            column.name: FIELDS[column.kind](allow_null=column.is_nullable, help_text=column.help or None)
            for column in at(COLUMNS, Place.JSON)
        }
        return fields | {"columns": by_token}


class CorrelationDocument(serializers.Serializer[Any]):
    against = serializers.CharField()
    measure = serializers.CharField()
    origin = serializers.CharField(
        help_text="Where the numbers of an official board are from; empty for others."
    )
    spearman = serializers.DictField(help_text="`value`, `runs`, and the `reason` where there is no value.")
    kendall = serializers.DictField()
    tau_gap = serializers.DictField(
        help_text="tau-GAP: of the order here, with the gaps between scores on the other board."
    )
    pearson = serializers.DictField(help_text="Of the scores; of an official board of ranks, with its ranks.")
    approximate_ranks = serializers.ListField(
        child=serializers.DictField(),
        help_text="Runs that an official board lacks: `run_tag`, and the `rank` that each would have there, "
        "with the ranks from `low` to `high` that the topics leave open.",
    )


class LeaderboardDocument(serializers.Serializer[Any]):
    """A board with what it stands on. Members that its kind of measure does not have are absent."""

    collection = serializers.CharField()
    measure = serializers.CharField()
    ir_measures = serializers.CharField(allow_null=True, help_text="Its name in ir_measures; null for none.")
    measure_label = serializers.CharField(help_text="Its name as it was asked for.")
    definition = serializers.CharField()
    grader = serializers.JSONField(help_text="The grader by its parts, or who rated.")
    ratings = serializers.CharField(help_text="Whose ratings: the grader's, people's, or both.")
    bank = serializers.CharField(allow_null=True)
    bank_version = serializers.IntegerField(allow_null=True, help_text="Null for the rubric as it is now.")
    kinds = serializers.ListField(child=serializers.CharField())
    min_grade = serializers.IntegerField()
    threshold = serializers.CharField()
    slice = serializers.DictField(allow_null=True, help_text="Topics by an attribute; null for all.")
    runs = serializers.DictField(allow_null=True, help_text="Those of a task or by name; null for all.")
    topic = serializers.CharField(allow_null=True)
    subtopic = serializers.CharField(allow_null=True)
    by_subtopic = serializers.BooleanField()
    missing = serializers.ChoiceField(
        choices=("skip", "zero"), help_text="What a topic without a result counts as."
    )
    mode = serializers.CharField(required=False, help_text="Of measures by labels: how a label is made.")
    min_answers = serializers.IntegerField(required=False)
    labels = serializers.CharField(required=False)
    level = serializers.IntegerField(required=False, allow_null=True)
    cutoff = serializers.IntegerField(required=False, allow_null=True)
    judged_only = serializers.BooleanField(
        required=False, help_text="Passages without a label are taken out of runs; absent where they stay."
    )
    trec_eval = serializers.CharField(required=False)
    items = serializers.IntegerField(help_text="Questions and nuggets that count.")
    items_stamp = serializers.CharField(allow_null=True)
    denominator = serializers.CharField(allow_null=True)
    topics = serializers.IntegerField()
    topics_left_out = serializers.IntegerField()
    topics_undefined = serializers.IntegerField()
    judged_at = serializers.IntegerField(allow_null=True)
    uncertainty = serializers.CharField(allow_null=True)
    test = serializers.CharField()
    monte_carlo_error = serializers.DictField(allow_null=True)
    headline = serializers.CharField(allow_null=True)
    top = serializers.DictField(allow_null=True, help_text="What the headline is based on.")
    marks = serializers.DictField(allow_null=True, help_text="Median and percentiles over the runs.")
    estimate = serializers.DictField(
        allow_null=True, help_text="What the estimates of the rows are based on."
    )
    verified_cells = serializers.IntegerField()
    cells = serializers.IntegerField(allow_null=True)
    version = serializers.CharField(help_text="Of RubricWeb.")
    made = serializers.CharField()
    columns = serializers.ListField(child=serializers.DictField())
    importance = serializers.CharField(allow_null=True)
    rows = RankedRunDocument(many=True)
    correlations = CorrelationDocument(many=True)


class ComparisonDocument(serializers.Serializer[Any]):
    verdict = serializers.CharField(allow_null=True, help_text="What the board says of its first runs.")
    first = serializers.CharField()
    second = serializers.CharField()
    difference = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    level = serializers.FloatField(help_text="Of the interval: 0.95.")
    topics = serializers.IntegerField(help_text="Those that count for both.")
    equal_topics = serializers.IntegerField(
        help_text="Those on which both score the same, to three decimals."
    )
    test = serializers.CharField()
    p = serializers.FloatField(allow_null=True, help_text="Adjusted for all pairs of the board.")
    is_clear = serializers.BooleanField()
    sentence = serializers.CharField()
    tex = serializers.CharField(help_text="The sentence for a paper.")


class Leaderboard(Resource):
    """The leaderboard, as the page and its JSON file have it."""

    @extend_schema(parameters=parameters(BoardForm), responses=LeaderboardDocument)
    def get(self, request: Request, slug: str) -> Response:
        """Get the leaderboard."""
        collection = self.collection()
        spec = spec_of(BoardForm(request.query_params, collection=collection))
        return Response(board_document(selectors.board(spec)))


class ComparisonOfRuns(Resource):
    """What can be said of two runs: their difference with its interval, and a sentence for a paper."""

    @extend_schema(parameters=parameters(page.ComparisonForm), responses=ComparisonDocument)
    def get(self, request: Request, slug: str) -> Response:
        """Compare two runs."""
        collection = self.collection()
        form = page.ComparisonForm(request.query_params, collection=collection)
        scored = certainty.scored_board(spec_of(form))
        try:
            comparison = compare(scored, form.cleaned_data["first"], form.cleaned_data["second"])
        except UnknownRun as error:
            raise serializers.ValidationError({"first": [str(error)]}) from error
        return Response(document(comparison))


class Qrels(Resource):
    """Rubric-Qrels, in the format of trec_eval."""

    renderer_classes = (AnyMedia,)

    @extend_schema(parameters=parameters(LabelForm), responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download qrels made of the grades."""
        collection = self.collection()
        spec = spec_of(LabelForm(request.query_params, collection=collection))
        try:
            lines: Iterable[str] = list(qrels_lines(boards.qrels(spec)))
        except BadFormat as error:
            raise serializers.ValidationError({"qrels": [error.problem]}) from error
        return StreamingHttpResponse(
            (f"{line}\n" for line in lines), content_type="text/plain; charset=utf-8"
        )


class Graded(Resource):
    """Passages with judgments and grades as the Workbench's graded file, for who sees the names of runs."""

    renderer_classes = (AnyMedia,)

    @extend_schema(
        parameters=[OpenApiParameter("rankings", bool, description="With the rankings of the runs.")],
        responses={(200, "application/jsonl"): OpenApiTypes.STR},
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download the graded passages, a topic a line."""
        collection = self.collection(needed=roles.TO_SEE_RUNS)
        has_rankings = request.query_params.get("rankings", "").casefold() in ("true", "1", "on")
        return graded_response(collection, has_rankings=has_rankings)


class ReleaseSerializer(serializers.Serializer[Release]):
    id = serializers.IntegerField(source="pk")
    title = serializers.CharField()
    license = serializers.CharField()
    citation = serializers.CharField()
    contact = serializers.CharField()
    has_runs = serializers.BooleanField(help_text="With the rankings and responses of the runs.")
    is_anonymous = serializers.BooleanField(help_text="Runs and teams have pseudonyms.")
    freezes_boards = serializers.BooleanField(help_text="Its boards are published, frozen.")
    created_at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=Release.State.choices)
    error = serializers.CharField()
    sha256 = serializers.CharField(help_text="Of the zip; empty until it is written.")
    size = serializers.IntegerField(help_text="Bytes of the zip.")


class ReleaseDocument(ReleaseSerializer):
    files = serializers.JSONField()
    left_out = serializers.ListField(child=serializers.CharField())


class NewRelease(serializers.Serializer[Any]):
    title = serializers.CharField(
        required=False, max_length=200, help_text="The collection's name by default."
    )
    license = serializers.CharField(default="", allow_blank=True, max_length=200)
    citation = serializers.CharField(default="", allow_blank=True)
    contact = serializers.CharField(default="", allow_blank=True, max_length=200)
    has_runs = serializers.BooleanField(default=False)
    is_anonymous = serializers.BooleanField(default=False)
    freezes_boards = serializers.BooleanField(default=False)


class Releases(ListResource):
    """The releases of a collection. A POST has a worker write one: 202."""

    serializer_class = ReleaseSerializer
    scopes = {"POST": Token.Scope.ORGANIZE}

    def rows(self) -> QuerySet[Any]:
        return self.collection(needed=roles.TO_ORGANIZE).releases.all()

    @extend_schema(request=NewRelease, responses={202: ReleaseDocument}, parameters=[idempotency.KEY])
    @idempotency.done_once
    def post(self, request: Request, slug: str) -> Response:
        """Make a release."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(NewRelease)
        if refusal := share.refusal_of(collection):
            raise PermissionDenied(refusal)
        release = Release(collection=collection, **{"title": collection.name, **fields})
        actions.start_release(release, by=self.person)
        return made(ReleaseDocument(release).data, HTTPStatus.ACCEPTED, "release", slug, release.pk)


class OfRelease(Resource):
    def release(self) -> Release:
        slug = self.collection(needed=roles.TO_ORGANIZE).slug
        return access.release_for(self.person, slug, self.kwargs["release_id"])


class ReleaseResource(OfRelease):
    """One release in any state. A DELETE removes it with its zip; the boards that it froze stay."""

    scopes = {"DELETE": Token.Scope.ORGANIZE}

    @extend_schema(responses=ReleaseDocument)
    def get(self, request: Request, slug: str, release_id: int) -> Response:
        """Get a release in any state."""
        return Response(ReleaseDocument(self.release()).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, release_id: int) -> Response:
        """Delete a release."""
        release = self.release()
        if release.is_live:
            raise requests.RequestProblem(HTTPStatus.CONFLICT, "A worker is writing this release.")
        actions.delete_release(release, by=self.person)
        return Response(status=HTTPStatus.NO_CONTENT)


class ReleaseZip(OfRelease):
    """The zip."""

    renderer_classes = (AnyMedia,)

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, release_id: int) -> HttpResponseBase:
        """Download a release."""
        release = self.release()
        if not release.sha256 or not release.path.is_file():
            raise Http404("The zip is not on this server.")
        return FileResponse(
            release.path.open("rb"),
            as_attachment=True,
            filename=release.file_name,
            content_type="application/zip",
        )
