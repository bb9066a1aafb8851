"""Webhooks: their addresses, events, secrets and log, for organizers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.api.base import ListResource, Resource
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.webhooks import access, actions
from rubricweb.webhooks.actions import WebhookFields
from rubricweb.webhooks.models import ADDRESS_CHARS, CHOSEN, Delivery, Endpoint, EventType
from rubricweb.webhooks.views import check_address

WRITES = dict.fromkeys(("POST", "PATCH", "DELETE"), Token.Scope.ORGANIZE)
ACTS = {"test": actions.send_test, "on": actions.turn_on, "off": actions.turn_off}


class NewWebhook(serializers.Serializer[Any]):
    address = serializers.CharField(max_length=ADDRESS_CHARS, validators=[check_address])
    events = serializers.ListField(
        child=serializers.ChoiceField(CHOSEN), min_length=1, max_length=len(CHOSEN)
    )
    note = serializers.CharField(max_length=120, required=False, allow_blank=True, default="")


class WebhookChange(NewWebhook):
    """What is not sent stays."""

    address = serializers.CharField(max_length=ADDRESS_CHARS, validators=[check_address], required=False)
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
        fields = WebhookFields(**self.fields(NewWebhook))
        endpoint = actions.add_webhook(collection, fields, by=self.person)
        headers = {"Location": reverse("api:webhook", args=[slug, endpoint.pk]), "Cache-Control": "no-store"}
        return Response(WebhookDocument(endpoint).data, HTTPStatus.CREATED, headers=headers)


class OneWebhook(Resource):
    """What the resources of one webhook share."""

    scopes = WRITES

    def webhook(self) -> Endpoint:
        slug = self.collection(needed=roles.TO_ORGANIZE).slug
        return access.webhook_for(self.person, slug, self.kwargs["webhook_id"])


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
        fields = WebhookFields(**(current | self.fields(WebhookChange)))
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
        if act not in ACTS:
            raise Http404(f"Use one of {', '.join(ACTS)}.")
        endpoint = self.webhook()
        ACTS[act](endpoint, by=self.person)
        return Response(WebhookSerializer(endpoint).data)


class WebhookMessages(ListResource):
    """What was sent to a webhook within 30 days, and what is still to be."""

    serializer_class = WebhookMessageSerializer

    def rows(self) -> QuerySet[Any]:
        slug = self.collection(needed=roles.TO_ORGANIZE).slug
        endpoint = access.webhook_for(self.person, slug, self.kwargs["webhook_id"])
        return cast("QuerySet[Any]", endpoint.deliveries.all())
