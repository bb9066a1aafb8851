"""Flags: what people want looked at, and the thread of each."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.api.base import IF_MATCH, ListResource, Resource, seen_version
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.corpus.models import Collection
from rubricweb.review import access
from rubricweb.review.flags import actions
from rubricweb.review.flags.selectors import STATES, State, members_who_answer
from rubricweb.review.flags.views import MAX_TEXT
from rubricweb.review.models import Flag, FlagEvent, Kind, Subject

WRITES = {"POST": Token.Scope.ASSESS}


class FlagSerializer(serializers.Serializer[Flag]):
    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=Flag.Kind.choices)
    bank = serializers.IntegerField(source="bank_id")
    topic = serializers.CharField(source="topic.query_id")
    item = serializers.IntegerField(source="item_id", allow_null=True, help_text="The id of an item.")
    uid = serializers.CharField(
        source="revision.uid", allow_null=True, default=None, help_text="The id of its wording at that time."
    )
    passage = serializers.IntegerField(source="passage_id", allow_null=True)
    doc_id = serializers.CharField(source="passage.doc_id", allow_null=True, default=None)
    by = serializers.CharField(source="by.username", allow_null=True, default=None)
    at = serializers.DateTimeField()
    assignee = serializers.CharField(source="assignee.username", allow_null=True, default=None)
    moved_at = serializers.DateTimeField(help_text="When the last event was added.")
    resolved_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField(help_text="The number of its last event.")


class FlagEventSerializer(serializers.Serializer[FlagEvent]):
    number = serializers.IntegerField()
    verb = serializers.ChoiceField(choices=FlagEvent.Verb.choices)
    text = serializers.CharField()
    by = serializers.CharField(source="by.username", allow_null=True, default=None)
    assignee = serializers.CharField(source="assignee.username", allow_null=True, default=None)
    at = serializers.DateTimeField()


class FlagDocument(FlagSerializer):
    events = FlagEventSerializer(many=True, source="events.all")


class NewFlag(serializers.Serializer[Any]):
    """A flag on an item, on a passage, or on both: a pair."""

    bank = serializers.IntegerField()
    topic = serializers.CharField(help_text="The topic's `query_id`.")
    item = serializers.IntegerField(required=False, help_text="The id of an item.")
    passage = serializers.IntegerField(required=False, help_text="The id of a passage of its pool.")
    kind = serializers.ChoiceField(choices=Flag.Kind.choices)
    text = serializers.CharField(default="", allow_blank=True, max_length=MAX_TEXT)
    event = serializers.UUIDField(required=False, help_text="Sent again with it, it is saved once.")


class NewFlagEvent(serializers.Serializer[Any]):
    """A reply, or a decision, which names the version of the flag that you have seen (`If-Match`)."""

    verb = serializers.ChoiceField(choices=("replied", "resolved", "reopened", "assigned"))
    text = serializers.CharField(default="", allow_blank=True, max_length=MAX_TEXT)
    assignee = serializers.CharField(
        required=False, allow_null=True, help_text="A member's user name, with `assigned`; null for nobody."
    )
    event = serializers.UUIDField(required=False, help_text="Sent again with it, it is saved once.")


NAMED = [
    OpenApiParameter("state", enum=State.values, description="`all` by default."),
    OpenApiParameter("kind", enum=Flag.Kind.values),
    OpenApiParameter("topic", description="Of one topic, by its `query_id`."),
]


@extend_schema_view(get=extend_schema(parameters=NAMED))
class Flags(ListResource):
    """The flags of a collection."""

    serializer_class = FlagSerializer
    scopes = WRITES

    def rows(self) -> QuerySet[Any]:
        named = self.request.query_params
        rows = Flag.objects.of(self.collection())
        if state := named.get("state", ""):
            if state not in State.values:
                raise ValidationError({"state": [f"One of {', '.join(State.values)}."]})
            rows = rows if state == State.ALL else rows.filter(STATES[State(state)])
        chosen = {"kind": named.get("kind", ""), "topic__query_id": named.get("topic", "")}
        return rows.filter(**{column: value for column, value in chosen.items() if value})

    @extend_schema(request=NewFlag, responses={201: FlagDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Flag a question, passage or grade."""
        collection, fields = self.collection(needed=roles.TO_ASSESS), self.fields(NewFlag)
        flag = actions.open_flag(
            _subject(self.person, collection, fields),
            kind=Kind(fields["kind"]),
            text=fields["text"],
            by=self.person,
            uid=fields.get("event"),
        )
        place = reverse("api:flag", args=[slug, flag.pk])
        return _answer(self.person, slug, flag.pk, HTTPStatus.CREATED, Location=place)


class FlagResource(Resource):
    """One flag, with its thread. Its `ETag` is its version."""

    @extend_schema(responses=FlagDocument)
    def get(self, request: Request, slug: str, flag_id: int) -> Response:
        """Get a flag and its thread."""
        return _answer(self.person, self.collection().slug, flag_id)


class FlagEvents(Resource):
    """Reply to a flag, resolve it, open it again, or assign it."""

    scopes = WRITES

    @extend_schema(
        request=NewFlagEvent,
        responses={201: FlagDocument},
        parameters=[IF_MATCH, KEY],
        operation_id="flags_events_create",
    )
    @done_once
    def post(self, request: Request, slug: str, flag_id: int) -> Response:
        """Reply to a flag, resolve, reopen or assign it."""
        collection, fields = self.collection(needed=roles.TO_ASSESS), self.fields(NewFlagEvent)
        flag = access.flag_for(self.person, slug, flag_id, needed=roles.TO_ASSESS)
        text, verb, uid = fields["text"], fields["verb"], fields.get("event")
        if verb == "replied":
            actions.reply(flag, text=text, by=self.person, uid=uid)
            return _answer(self.person, slug, flag_id, HTTPStatus.CREATED)
        access.require_decider(self.person, flag)
        seen = seen_version(request)
        if verb == "assigned":
            to = _member(collection, fields.get("assignee"))
            actions.assign(flag, to=to, seen=seen, by=self.person, uid=uid)
        else:
            decide = actions.resolve if verb == "resolved" else actions.reopen
            decide(flag, seen=seen, text=text, by=self.person, uid=uid)
        return _answer(self.person, slug, flag_id, HTTPStatus.CREATED)


def _subject(person: User, collection: Collection, fields: dict[str, Any]) -> Subject:
    bank = get_object_or_404(collection.banks, pk=fields["bank"])
    topic = get_object_or_404(collection.topics, query_id=fields["topic"])
    named = {name: str(fields.get(name, "")) for name in ("item", "passage")}
    return access.subject_for(person, (bank.pk, topic.pk), **named, needed=roles.TO_ASSESS)


def _member(collection: Collection, username: str | None) -> User | None:
    if username is None:
        return None
    member: User | None = members_who_answer(collection).filter(username=username).first()
    if member is None:
        raise ValidationError({"assignee": ["No member who may answer flags has this name."]})
    return member


def _answer(
    person: User, slug: str, flag_id: int, status: HTTPStatus = HTTPStatus.OK, **headers: str
) -> Response:
    flag = access.flag_for(person, slug, flag_id)
    return Response(FlagDocument(flag).data, status, headers={"ETag": f'"{flag.version}"', **headers})
