"""Who belongs to a collection, and links by which people join it. For organizers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import invitations, roles
from rubricweb.accounts.actions import remove_member
from rubricweb.accounts.models import TEAM_CHARS, Invitation, Membership
from rubricweb.accounts.roles import Role
from rubricweb.api.base import ListResource, Resource, require_valid
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.corpus.people import MOST_DAYS, MOST_USES, LinkForm, MemberForm

WRITES = dict.fromkeys(("POST", "DELETE"), Token.Scope.ORGANIZE)


class MemberSerializer(serializers.Serializer[Membership]):
    id = serializers.IntegerField(source="pk")
    user = serializers.IntegerField(source="user_id")
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=Role.choices)
    team = serializers.CharField(help_text="Of participants; empty for everybody else.")


class NewMember(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150, help_text="Of a member, or of whom to invite.")
    role = serializers.ChoiceField(choices=Role.choices)
    team = serializers.CharField(default="", allow_blank=True, max_length=TEAM_CHARS)


class InvitationSerializer(serializers.Serializer[Invitation]):
    id = serializers.IntegerField(source="pk")
    username = serializers.CharField(help_text="Of the account that is invited; empty for a link.")
    role = serializers.ChoiceField(choices=Role.choices)
    team = serializers.CharField()
    at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    max_uses = serializers.IntegerField()
    uses = serializers.IntegerField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class InvitationDocument(InvitationSerializer):
    link = serializers.CharField(help_text="Shown this once.")


class NewInvitation(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=Role.choices)
    team = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=TEAM_CHARS,
        help_text="Of participants. Empty: each names a new team.",
    )
    days = serializers.IntegerField(default=7, min_value=1, max_value=MOST_DAYS)
    max_uses = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_USES, help_text="1, or 40 where each names a team."
    )


class Members(ListResource):
    """The members of a collection.

    A POST gives a member another role (201), or invites an account (202): its person joins by accepting it.
    Whether there is such an account is not told.
    """

    serializer_class = MemberSerializer
    scopes = WRITES

    def rows(self) -> QuerySet[Any]:
        return self.collection(needed=roles.TO_ORGANIZE).memberships.all()

    @extend_schema(
        request=NewMember, responses={201: MemberSerializer, 202: InvitationSerializer}, parameters=[KEY]
    )
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Add a member or change a role."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        form = MemberForm(self.fields(NewMember))
        require_valid(form)
        fields = form.cleaned_data
        given = invitations.give_role(
            collection,
            fields["username"],
            role=Role(fields["role"]),
            team=fields["team"],
            by=self.person,
        )
        if isinstance(given, Invitation):
            return Response(InvitationSerializer(given).data, HTTPStatus.ACCEPTED)
        return Response(MemberSerializer(given).data, HTTPStatus.CREATED)


class Member(Resource):
    """A member, by the user's id. What removed people did stays."""

    scopes = WRITES

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, user_id: int) -> Response:
        """Remove a member."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        remove_member(get_object_or_404(collection.memberships, user=user_id), by=self.person)
        return Response(status=HTTPStatus.NO_CONTENT)


class Invitations(ListResource):
    """The invitations to a collection. A POST makes one, whose link is shown once."""

    serializer_class = InvitationSerializer
    scopes = WRITES

    def rows(self) -> QuerySet[Any]:
        return self.collection(needed=roles.TO_ORGANIZE).invitations.all()

    @extend_schema(request=NewInvitation, responses={201: InvitationDocument})
    def post(self, request: Request, slug: str) -> Response:
        """Invite by a link."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        form = LinkForm(self.fields(NewInvitation))
        require_valid(form)
        invitation, path = invitations.invite(collection, form.offer, by=self.person)
        document = {**InvitationSerializer(invitation).data, "link": request.build_absolute_uri(path)}
        return Response(document, HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


class InvitationResource(Resource):
    """An invitation. A DELETE revokes its link; who joined by it stays."""

    scopes = WRITES

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, invitation_id: int) -> Response:
        """Revoke an invitation."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        invitation = get_object_or_404(collection.invitations, pk=invitation_id)
        invitations.revoke(invitation, by=self.person)
        return Response(status=HTTPStatus.NO_CONTENT)
