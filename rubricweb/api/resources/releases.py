"""Releases: what a track publishes of a collection, as one zip. For organizers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse, Http404
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.api.base import AnyMedia, ListResource, Resource
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.problems import RequestProblem
from rubricweb.releases import access, actions, selectors
from rubricweb.releases.models import Release


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

    @extend_schema(request=NewRelease, responses={202: ReleaseDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Make a release."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(NewRelease)
        if refusal := selectors.preview(collection).refusal:
            raise PermissionDenied(refusal)
        release = Release(collection=collection, **{"title": collection.name, **fields})
        actions.start_release(release, by=self.person)
        place = reverse("api:release", args=[slug, release.pk])
        return Response(ReleaseDocument(release).data, HTTPStatus.ACCEPTED, headers={"Location": place})


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
            raise RequestProblem(HTTPStatus.CONFLICT, "A worker is writing this release.")
        actions.delete_release(release, by=self.person)
        return Response(status=HTTPStatus.NO_CONTENT)


class ReleaseFile(OfRelease):
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
