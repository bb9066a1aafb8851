"""What organizers set: members of a collection, links by which people join, and webhooks."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import invitations, roles
from rubricweb.accounts.actions import remove_member
from rubricweb.accounts.models import TEAM_CHARS, Invitation, Membership
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, require_valid
from rubricweb.corpus.people import MOST_DAYS, MOST_USES, LinkForm, MemberForm
from rubricweb.webhooks import actions, views
from rubricweb.webhooks.models import ADDRESS_CHARS, CHOSEN, Delivery, Endpoint, EventType

WRITES = dict.fromkeys(("POST", "PATCH", "DELETE"), Token.Scope.ORGANIZE)


class MemberSerializer(serializers.Serializer[Membership]):
    id = serializers.IntegerField(source="pk")
    user = serializers.IntegerField(source="user_id")
    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=roles.Role.choices)
    team = serializers.CharField(help_text="Of participants; empty for everybody else.")


class NewMember(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150, help_text="Of a member, or of whom to invite.")
    role = serializers.ChoiceField(choices=roles.Role.choices)
    team = serializers.CharField(default="", allow_blank=True, max_length=TEAM_CHARS)


class InvitationSerializer(serializers.Serializer[Invitation]):
    id = serializers.IntegerField(source="pk")
    username = serializers.CharField(help_text="Of the account that is invited; empty for a link.")
    role = serializers.ChoiceField(choices=roles.Role.choices)
    team = serializers.CharField()
    at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    max_uses = serializers.IntegerField()
    uses = serializers.IntegerField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class InvitationDocument(InvitationSerializer):
    link = serializers.CharField(help_text="Shown this once.")


class NewInvitation(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=roles.Role.choices)
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
            role=roles.Role(fields["role"]),
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


class NewWebhook(serializers.Serializer[Any]):
    address = serializers.CharField(max_length=ADDRESS_CHARS, validators=[views.check_address])
    events = serializers.ListField(
        child=serializers.ChoiceField(CHOSEN), min_length=1, max_length=len(CHOSEN)
    )
    note = serializers.CharField(max_length=120, required=False, allow_blank=True, default="")


class WebhookChange(NewWebhook):
    """What is not sent stays."""

    address = serializers.CharField(
        max_length=ADDRESS_CHARS, validators=[views.check_address], required=False
    )
    events = serializers.ListField(
        child=serializers.ChoiceField(CHOSEN), min_length=1, max_length=len(CHOSEN), required=False
    )
    note = serializers.CharField(max_length=120, required=False, allow_blank=True)


class WebhookSerializer(serializers.Serializer[Endpoint]):
    id = serializers.IntegerField(source="pk")
    address = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(CHOSEN))
    note = serializers.CharField()
    state = serializers.ChoiceField(Endpoint.State.choices)
    failing_since = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class WebhookDocument(WebhookSerializer):
    secret = serializers.CharField(help_text="Shown this once: `whsec_…`.")


class WebhookMessageSerializer(serializers.Serializer[Delivery]):
    id = serializers.IntegerField(source="pk")
    message = serializers.CharField(source="message.uid", help_text="The header `webhook-id`.")
    event = serializers.ChoiceField(EventType.choices, source="message.event")
    at = serializers.DateTimeField(source="message.at")
    state = serializers.ChoiceField(Delivery.State.choices)
    tries = serializers.IntegerField(help_text="Failed ones since it was last asked for.")
    not_before = serializers.DateTimeField(help_text="When it is tried next, while it is queued.")
    error = serializers.CharField()


class Since(serializers.Serializer[Any]):
    since = serializers.DateTimeField(help_text="Of the messages.")


class SentAgain(serializers.Serializer[Any]):
    messages = serializers.IntegerField(help_text="How many are sent again.")


class Webhooks(ListResource):
    """The webhooks of the collection. A POST adds one, and shows its secret this once."""

    serializer_class = WebhookSerializer
    scopes = WRITES

    def rows(self) -> QuerySet[Any]:
        return cast("QuerySet[Any]", self.collection(needed=roles.TO_ORGANIZE).webhooks.all())

    @extend_schema(request=NewWebhook, responses={201: WebhookDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Add a webhook."""
        collection = self.collection(needed=roles.TO_ORGANIZE)
        fields = actions.WebhookFields(**self.fields(NewWebhook))
        endpoint = actions.add_webhook(collection, fields, by=self.person)
        headers = {"Location": reverse("api:webhook", args=[slug, endpoint.pk]), "Cache-Control": "no-store"}
        return Response(WebhookDocument(endpoint).data, HTTPStatus.CREATED, headers=headers)


class OneWebhook(Resource):
    """What the resources of one webhook share."""

    scopes = WRITES

    def webhook(self) -> Endpoint:
        slug = self.collection(needed=roles.TO_ORGANIZE).slug
        return views.webhook_for(self.person, slug, self.kwargs["webhook_id"])


class WebhookResource(OneWebhook):
    """One webhook; its log goes with it when it is deleted."""

    @extend_schema(responses=WebhookSerializer)
    def get(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Get a webhook."""
        return Response(WebhookSerializer(self.webhook()).data)

    @extend_schema(request=WebhookChange, responses=WebhookSerializer)
    def patch(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Change a webhook."""
        endpoint = self.webhook()
        current = {"address": endpoint.address, "events": endpoint.events, "note": endpoint.note}
        fields = actions.WebhookFields(**(current | self.fields(WebhookChange)))
        return Response(WebhookSerializer(actions.change_webhook(endpoint, fields, by=self.person)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Remove a webhook."""
        actions.remove_webhook(self.webhook(), by=self.person)
        return Response(status=HTTPStatus.NO_CONTENT)


class WebhookSecret(OneWebhook):
    """A new secret. The earlier one stays valid for a day."""

    @extend_schema(request=None, responses=WebhookDocument)
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Replace the secret of a webhook."""
        endpoint = actions.rotate_secret(self.webhook(), by=self.person)
        return Response(WebhookDocument(endpoint).data, headers={"Cache-Control": "no-store"})


class WebhookReplay(OneWebhook):
    """Send again what failed of the messages since a time."""

    @extend_schema(request=Since, responses=SentAgain)
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Send failed messages again."""
        endpoint = self.webhook()
        since = self.fields(Since)["since"]
        count = actions.replay_failed(endpoint, since=since, by=self.person)
        return Response({"messages": count})


class WebhookAct(OneWebhook):
    """Send a test (`test`), or turn the webhook on or off (`on`, `off`)."""

    @extend_schema(request=None, responses=WebhookSerializer, operation_id="webhooks_act")
    def post(self, request: Request, slug: str, webhook_id: int, act: str) -> Response:
        """Test a webhook, or turn it on or off."""
        if act not in views.ACTS:
            raise Http404(f"Use one of {', '.join(views.ACTS)}.")
        endpoint, (do, _) = self.webhook(), views.ACTS[act]
        do(endpoint, by=self.person)
        return Response(WebhookSerializer(endpoint).data)


class WebhookMessages(OneWebhook, ListResource):
    """What was sent to a webhook within 30 days, and what is still to be."""

    serializer_class = WebhookMessageSerializer

    def rows(self) -> QuerySet[Any]:
        return cast("QuerySet[Any]", self.webhook().deliveries.all())
