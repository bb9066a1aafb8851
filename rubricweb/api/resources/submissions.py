"""Calls for submissions, the files that teams sent in, and what was found in them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.accounts.models import TEAM_CHARS
from rubricweb.api.idempotency import KEY, Upload, uploaded_once
from rubricweb.api.models import Token
from rubricweb.api.requests import NAME, PARSERS, bodies, described, files_of
from rubricweb.api.resources import AnyMedia, ListResource, Resource, documents, made
from rubricweb.corpus.models import Run
from rubricweb.submissions import access, actions, files, submit
from rubricweb.submissions.models import Call, Submission

WRITES = {"POST": Token.Scope.SUBMIT}
STEERS = ("withdraw", "accept", "reject", "undo-rejection", "let-in")


class CallSerializer(serializers.Serializer[Call]):
    id = serializers.IntegerField(source="pk")
    task = serializers.CharField()
    takes = serializers.ChoiceField(choices=Call.Takes.choices)
    opens_at = serializers.DateTimeField()
    deadline = serializers.DateTimeField(help_text="Files are in time until this second.")
    time_zone = serializers.CharField()
    runs_per_team = serializers.IntegerField(allow_null=True, help_text="Null for any number.")
    asks_priority = serializers.BooleanField()
    text = serializers.CharField()
    rules = serializers.JSONField()
    version = serializers.IntegerField()


class SubmissionSerializer(serializers.Serializer[Submission]):
    id = serializers.IntegerField(source="pk")
    call = serializers.IntegerField(source="call_id")
    team = serializers.CharField()
    name = serializers.CharField(help_text="Of the file, as sent.")
    size = serializers.IntegerField(help_text="Bytes.")
    digest = serializers.CharField(help_text="SHA-256, in hexadecimal.")
    received_at = serializers.DateTimeField()
    state = serializers.ChoiceField(
        choices=Submission.State.choices, help_text="Of its check: live while `queued` or `leased`."
    )
    outcome = serializers.ChoiceField(choices=Submission.Outcome.choices, allow_blank=True)
    run_tag = serializers.CharField(help_text="As read in the file.")
    run_state = serializers.ChoiceField(
        choices=Run.State.choices,
        allow_blank=True,
        help_text="Of the run that it is; empty where it is none.",
    )
    reason = serializers.CharField(
        allow_blank=True, help_text="Why organizers rejected it, also before another file replaced it."
    )
    errors = serializers.IntegerField()  # type: ignore[assignment]  # the metaclass takes fields away
    warnings = serializers.IntegerField()


class PlaceDocument(serializers.Serializer[Any]):
    problem = serializers.CharField()
    expected = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    query_id = serializers.CharField()
    sentence = serializers.IntegerField(allow_null=True)


class FindingDocument(serializers.Serializer[Any]):
    """All findings of one category."""

    category = serializers.CharField()
    severity = serializers.CharField()
    meaning = serializers.CharField()
    number = serializers.IntegerField()
    places = PlaceDocument(many=True, help_text="The first of them.")


class SubmissionDocument(SubmissionSerializer):
    findings = FindingDocument(many=True)


class NewSubmission(serializers.Serializer[Any]):
    """What a team says of the run that it sends in."""

    team = serializers.CharField(required=False, max_length=TEAM_CHARS, help_text="For organizers only.")
    type = serializers.ChoiceField(choices=Run.Type.choices, required=False, allow_blank=True)
    priority = serializers.IntegerField(required=False, min_value=1, max_value=1_000)
    description = serializers.CharField(required=False, allow_blank=True, max_length=5_000)
    replaces = serializers.IntegerField(required=False, min_value=1, help_text="A refused submission.")


class Rejection(serializers.Serializer[Any]):
    """For `reject`."""

    reason = serializers.CharField(
        required=True, max_length=submit.REASON_CHARS, help_text="The team reads it."
    )


class SubmissionForm(NewSubmission):
    file = serializers.FileField(help_text="One run: plain, gzip or zip.")


class OfDesk(Resource):
    """For participants, who reach their team's submissions, and organizers, who reach all."""

    def desk(self) -> access.Desk:
        return access.desk_for(self.person, self.collection(needed=roles.TO_SUBMIT).slug)


class Calls(OfDesk, ListResource):
    """The calls for submissions of a collection."""

    serializer_class = CallSerializer

    def rows(self) -> QuerySet[Any]:
        return self.desk().collection.calls.all()


class Submissions(OfDesk, ListResource):
    """The files that were sent in: those of your team, or for organizers all."""

    serializer_class = SubmissionSerializer

    def rows(self) -> QuerySet[Any]:
        desk = self.desk()
        rows = Submission.objects.filter(call__collection=desk.collection).with_decisions()
        return rows if desk.is_organizer else rows.filter(team=desk.team)


class CallSubmissions(OfDesk):
    """Send a file in for a call: as the body, or in a form. Small ones are checked at once.

    201 where the report is there, 202 while a worker still checks the file.
    """

    upload: Upload
    scopes = WRITES
    parser_classes = PARSERS

    @extend_schema(
        request=bodies(SubmissionForm),
        parameters=[KEY, NAME, NewSubmission],
        responses={201: SubmissionDocument, 202: SubmissionDocument},
        operation_id="calls_submit",
    )
    @uploaded_once
    def post(self, request: Request, slug: str, call_id: int) -> Response:
        """Submit a run."""
        desk, call = access.call_to_submit(self.person, self.desk().collection.slug, call_id)
        upload, described_as = files_of(request)[0], _description_of(request, desk, call)
        team = desk.team or actions.team_named(call, described_as["team"])
        replaces = described_as.get("replaces")
        row = actions.receive(
            call,
            actions.Sent(upload.name or "run", upload.chunks(), self.upload.make),
            team=team,
            by=self.person,
            described=actions.Described(
                described_as.get("type", ""),
                described_as.get("priority"),
                described_as.get("description", ""),
            ),
            replaces=get_object_or_404(call.submissions.filter(team=team), pk=replaces) if replaces else None,
        )
        return self._answer(row)

    def answer_made(self, key: int) -> Response:
        return self._answer(access.submission_for(self.person, self.kwargs["slug"], key)[1])

    def remove_begun(self, key: int) -> None:
        """Remove nothing: a submission is made at once, with its file."""

    def _answer(self, row: Submission) -> Response:
        status = HTTPStatus.ACCEPTED if row.is_live else HTTPStatus.CREATED
        return made(_document(row), status, "submission", self.kwargs["slug"], row.pk)


class SubmissionResource(OfDesk):
    """One submission, with the report of what was found in it."""

    @extend_schema(responses=SubmissionDocument)
    def get(self, request: Request, slug: str, submission_id: int) -> Response:
        """Get a submission and its report."""
        return Response(_document(_submission(self, submission_id)))


class SubmissionFile(OfDesk):
    """The file, byte for byte as it was sent."""

    renderer_classes = (AnyMedia,)

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, submission_id: int) -> HttpResponseBase:
        """Download a submitted file."""
        row = _submission(self, submission_id)
        if not row.is_kept or not files.is_here(row):
            raise Http404("The file is no longer stored.")
        path = files.path_of(row)
        return FileResponse(path.open("rb"), content_type="application/octet-stream", filename=path.name)


class SubmissionState(OfDesk):
    """Withdraw a submission, or decide it.

    For organizers also `accept` its run, `let-in` a late file, `reject` either with a reason, and
    `undo-rejection`.
    """

    scopes = WRITES

    @extend_schema(request=Rejection, responses=SubmissionDocument, operation_id="submissions_steer")
    def post(self, request: Request, slug: str, submission_id: int, steer: str) -> Response:
        """Withdraw, accept or reject a submission."""
        if steer not in STEERS:
            raise Http404(f"A submission takes one of {', '.join(STEERS)}.")
        desk, row = access.submission_for(self.person, self.desk().collection.slug, submission_id)
        if steer == "withdraw":
            (actions.take_back if desk.is_organizer else actions.withdraw)(row, by=self.person)
            return Response(_document(_submission(self, submission_id)))
        self._decide(access.submission_for_organizer(self.person, slug, submission_id), steer)
        return Response(_document(_submission(self, submission_id)))

    def _decide(self, row: Submission, steer: str) -> None:
        """Do to a submission what only organizers may do."""
        if steer == "accept":
            actions.accept(row, by=self.person)
        elif steer == "reject":
            actions.reject(row, reason=self.fields(Rejection)["reason"], by=self.person)
        elif steer == "undo-rejection":
            actions.undo_rejection(row, by=self.person)
        elif row.outcome != Submission.Outcome.LATE:
            raise PermissionDenied("This file is not late.")
        else:
            actions.let_in(row, by=self.person)


def _submission(view: OfDesk, submission_id: int) -> Submission:
    return access.submission_for(view.person, view.desk().collection.slug, submission_id)[1]


def _description_of(request: Request, desk: access.Desk, call: Call) -> dict[str, Any]:
    """Return what goes with the file. Raises ValidationError as the form of the page does."""
    given = NewSubmission(data=described(request))
    given.is_valid(raise_exception=True)
    described_as: dict[str, Any] = given.validated_data
    if desk.is_organizer and not described_as.get("team"):
        raise ValidationError({"team": ["Organizers act for a team: name it."]})
    if call.asks_priority and not described_as.get("priority"):
        raise ValidationError({"priority": ["This call asks for the priority of each run."]})
    return described_as


def _document(row: Submission) -> dict[str, Any]:
    findings = documents(FindingDocument, files.findings_from_json(row.findings))
    return {**SubmissionSerializer(row).data, "findings": findings}
