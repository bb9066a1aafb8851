"""Work of assessors: campaigns of cells to rate, and flags with their threads."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from grading.types import MAX_RATING
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import (
    IF_MATCH,
    ListResource,
    Resource,
    Row,
    documents,
    made,
    require_valid,
    seen_version,
)
from rubricweb.banks.models import Item
from rubricweb.campaigns import access as campaign_access, actions as campaign_actions, new_campaign
from rubricweb.campaigns.forms import MOST_ASSESSORS, CampaignForm, UnknownNames, members_who_rate, named_form
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.progress import CampaignProgress, CampaignRow, campaign_rows, progress
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import KINDS
from rubricweb.review import access as flag_access
from rubricweb.review.flags import STATES, State, actions as flag_actions, members_who_answer, views
from rubricweb.review.models import Flag, FlagEvent, Kind

CAMPAIGN_WRITES = {"POST": Token.Scope.ORGANIZE}
STEERS = {"close": campaign_actions.close_campaign, "reopen": campaign_actions.reopen_campaign}
SHORTEST_SECONDS, LONGEST_SECONDS, DEEPEST = 1, 3_600, 1_000


class CampaignSerializer(serializers.Serializer[Campaign]):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    bank = serializers.IntegerField(source="bank_id")
    mode = serializers.ChoiceField(choices=Campaign.Mode.choices)
    cells = serializers.ChoiceField(source="cells_taken", choices=Campaign.Cells.choices)
    order = serializers.ChoiceField(choices=Campaign.Order.choices)
    assessors = serializers.IntegerField(help_text="Independent assessors per passage-question pair.")
    seed = serializers.IntegerField(help_text="Of every draw.")
    at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class CountsDocument(serializers.Serializer[CampaignRow]):
    """Ratings of a campaign."""

    total = serializers.IntegerField(help_text="That are wanted.")
    done = serializers.IntegerField()
    leased = serializers.IntegerField(help_text="That somebody is at.")
    skipped = serializers.IntegerField()


class CampaignListRow(CampaignSerializer):
    counts = CountsDocument(source="pk")


class PersonDocument(serializers.Serializer[Any]):
    person = serializers.CharField(source="person.username")
    done = serializers.IntegerField()
    skipped = serializers.IntegerField()
    holds = serializers.IntegerField()
    seconds = serializers.FloatField(source="pace", allow_null=True, help_text="Per rating.")
    last_at = serializers.DateTimeField(allow_null=True)


class CampaignDocument(CampaignSerializer):
    counts = CountsDocument()
    by_assessor = PersonDocument(many=True)
    random = serializers.IntegerField(help_text="Pairs drawn at random, on which estimates are based.")
    random_done = serializers.IntegerField()


class NewCampaign(serializers.Serializer[Any]):
    """Which passage-question pairs people rate, and how: what the form of a new campaign has."""

    name = serializers.CharField(max_length=120)
    bank = serializers.IntegerField(help_text="The id of a rubric.")
    grader = serializers.IntegerField(help_text="The id of a grader with grades of this rubric.")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=Item.Kind.choices),
        default=[str(kind) for kind in KINDS],
    )
    topics = serializers.ListField(
        child=serializers.CharField(), default=[], help_text="By `query_id`; none for all."
    )
    cells = serializers.ChoiceField(choices=Campaign.Cells.choices, default=Campaign.Cells.ALL)
    min_grade = serializers.IntegerField(required=False, min_value=1, max_value=MAX_RATING)
    cutoff = serializers.IntegerField(default=20, min_value=1, max_value=DEEPEST)
    size = serializers.IntegerField(required=False, min_value=1, help_text="The most pairs to rate.")
    order = serializers.ChoiceField(choices=Campaign.Order.choices, default=Campaign.DEFAULT_ORDER)
    passage_order = serializers.ChoiceField(
        choices=Campaign.PassageOrder.choices, default=Campaign.PassageOrder.TOPIC
    )
    random_percent = serializers.IntegerField(default=20, min_value=0, max_value=100)
    assessors = serializers.IntegerField(default=1, min_value=1, max_value=MOST_ASSESSORS)
    mode = serializers.ChoiceField(choices=Campaign.Mode.choices, default=Campaign.Mode.BLIND)
    assignees = serializers.ListField(
        child=serializers.CharField(), default=[], help_text="By user name; none for every assessor."
    )
    seconds = serializers.FloatField(
        required=False,
        min_value=SHORTEST_SECONDS,
        max_value=LONGEST_SECONDS,
        help_text="Per rating, for the preview; measured by default.",
    )


class CampaignPreview(serializers.Serializer[new_campaign.PlanPreview]):
    """What the campaign would ask of people."""

    cells = serializers.IntegerField()
    population = serializers.IntegerField(help_text="Pairs that match the choice.")
    textless = serializers.IntegerField(help_text="Pairs left out: their passages have no text.")
    passages = serializers.IntegerField()
    items = serializers.IntegerField()
    ratings = serializers.IntegerField()
    raters = serializers.IntegerField(help_text="Who may rate.")
    seconds = serializers.FloatField(help_text="Per rating.")
    is_measured = serializers.BooleanField(help_text="That is the pace of people who rated here.")
    hours = serializers.FloatField(help_text="Of everybody together.")
    close_pairs = serializers.SerializerMethodField(
        help_text="Neighbouring runs that errors of the grader could swap."
    )
    settled_pairs = serializers.IntegerField(
        source="likely",
        help_text="Of these: whose order the leaderboard will probably call clear, with these ratings.",
    )
    half_width = serializers.FloatField(
        allow_null=True,
        help_text="Of the interval of most runs' estimates, about; null where it is not known before.",
    )

    def get_close_pairs(self, plan: new_campaign.PlanPreview) -> int:
        return len(plan.pairs)


class Campaigns(ListResource):
    """The campaigns of a collection, with their progress. A POST opens one."""

    serializer_class = CampaignListRow
    scopes = CAMPAIGN_WRITES

    def rows(self) -> QuerySet[Any]:
        return self.collection().campaigns.all()

    def adjusted(self, rows: list[Row]) -> list[Row]:
        counts = {row.campaign.pk: row for row in campaign_rows(self.collection(), self.person)}
        return [{**row, "counts": CountsDocument(counts[row["id"]]).data} for row in rows]

    @extend_schema(request=NewCampaign, responses={201: CampaignDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Open a campaign."""
        form = _form(self.collection(needed=roles.TO_ORGANIZE), self.fields(NewCampaign))
        campaign = campaign_actions.open_campaign(form.choice, form.plan, by=self.person)
        document = _document(progress(campaign, self.person))
        return made(document, HTTPStatus.CREATED, "campaign", slug, campaign.pk)


class PlannedCampaign(Resource):
    """What a campaign would ask of people, and settle. Nothing is opened."""

    @extend_schema(request=NewCampaign, responses=CampaignPreview, operation_id="campaigns_plan")
    def post(self, request: Request, slug: str) -> Response:
        """Preview a campaign."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(NewCampaign)
        form = _form(collection, fields)
        everybody = members_who_rate(collection).count()
        plan = new_campaign.preview_of(
            form.choice, form.plan, everybody=everybody, seconds=fields.get("seconds")
        )
        return Response(CampaignPreview(plan).data)


class CampaignResource(Resource):
    """One campaign: its progress, and each person's part in it. For organizers."""

    @extend_schema(responses=CampaignDocument)
    def get(self, request: Request, slug: str, campaign_id: int) -> Response:
        """Get a campaign and its progress."""
        campaign = campaign_access.campaign_for(
            self.person, self.collection().slug, campaign_id, needed=roles.TO_ORGANIZE
        )
        return Response(_document(progress(campaign, self.person)))


class CampaignState(Resource):
    """Close a campaign, or reopen it."""

    scopes = CAMPAIGN_WRITES

    @extend_schema(request=None, responses=CampaignDocument, operation_id="campaigns_steer")
    def post(self, request: Request, slug: str, campaign_id: int, steer: str) -> Response:
        """Close or reopen a campaign."""
        if steer not in STEERS:
            raise Http404(f"A campaign takes one of {', '.join(STEERS)}.")
        slug = self.collection().slug
        campaign = campaign_access.campaign_for(self.person, slug, campaign_id, needed=roles.TO_ORGANIZE)
        if campaign.is_open == (steer == "close"):
            STEERS[steer](campaign, by=self.person)
        return Response(_document(progress(campaign, self.person)))


def _form(collection: Collection, fields: dict[str, Any]) -> CampaignForm:
    """Return the valid form of the page, filled with what was sent. Raises ValidationError."""
    ids = {name: str(fields[name]) for name in ("bank", "grader")}
    try:
        form = named_form(collection, {**fields, **ids})
    except UnknownNames as error:
        raise ValidationError({error.field: [str(error)]}) from error
    require_valid(form)
    return form


def _document(now: CampaignProgress) -> Row:
    campaign = CampaignSerializer(now.row.campaign).data
    parts = {
        "counts": CountsDocument(now.row).data,
        "by_assessor": documents(PersonDocument, now.by_assessor),
    }
    return {**campaign, **parts, "random": now.random, "random_done": now.random_done}


FLAG_WRITES = {"POST": Token.Scope.ASSESS}


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
    text = serializers.CharField(default="", allow_blank=True, max_length=views.MAX_TEXT)
    event = serializers.UUIDField(required=False, help_text="Sent again with it, it is saved once.")


class NewFlagEvent(serializers.Serializer[Any]):
    """A reply, or a decision, which names the version of the flag that you have seen (`If-Match`)."""

    verb = serializers.ChoiceField(choices=("replied", "resolved", "reopened", "assigned"))
    text = serializers.CharField(default="", allow_blank=True, max_length=views.MAX_TEXT)
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
    scopes = FLAG_WRITES

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
        collection, fields = self.collection(needed=roles.TO_COMMENT), self.fields(NewFlag)
        bank = get_object_or_404(collection.banks, pk=fields["bank"])
        topic = get_object_or_404(collection.topics, query_id=fields["topic"])
        named = {name: str(fields.get(name, "")) for name in ("item", "passage")}
        subject = flag_access.subject_for(self.person, (bank.pk, topic.pk), **named, needed=roles.TO_COMMENT)
        flag = flag_actions.open_flag(
            subject,
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

    scopes = FLAG_WRITES

    @extend_schema(
        request=NewFlagEvent,
        responses={201: FlagDocument},
        parameters=[IF_MATCH, KEY],
        operation_id="flags_events_create",
    )
    @done_once
    def post(self, request: Request, slug: str, flag_id: int) -> Response:
        """Reply to a flag, resolve, reopen or assign it."""
        collection, fields = self.collection(needed=roles.TO_COMMENT), self.fields(NewFlagEvent)
        flag = flag_access.flag_for(self.person, slug, flag_id, needed=roles.TO_COMMENT)
        text, verb, uid = fields["text"], fields["verb"], fields.get("event")
        if verb == "replied":
            flag_actions.reply(flag, text=text, by=self.person, uid=uid)
            return _answer(self.person, slug, flag_id, HTTPStatus.CREATED)
        flag_access.require_decider(self.person, flag)
        seen = seen_version(request)
        if verb == "assigned":
            to = _member(collection, fields.get("assignee"))
            flag_actions.assign(flag, to=to, seen=seen, by=self.person, uid=uid)
        else:
            decide = flag_actions.resolve if verb == "resolved" else flag_actions.reopen
            decide(flag, seen=seen, text=text, by=self.person, uid=uid)
        return _answer(self.person, slug, flag_id, HTTPStatus.CREATED)


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
    flag = flag_access.flag_for(person, slug, flag_id)
    return Response(FlagDocument(flag).data, status, headers={"ETag": f'"{flag.version}"', **headers})
