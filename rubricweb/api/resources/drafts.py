"""Drafts by a model for a whole rubric: what they take, the jobs that draft, and their steering."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.errors import UnknownGrader
from grading.generation.models import drafting_backend
from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, Row, made
from rubricweb.api.resources.jobs import (
    JobLimits,
    LimitedJobSerializer,
    PriceDocument,
    ProgressDocument,
    limits_of,
    steered,
    with_progress,
)
from rubricweb.banks import access, draft_jobs
from rubricweb.banks.changes import CannotDraft
from rubricweb.banks.draft_jobs import measured_rate
from rubricweb.banks.draft_models import KINDS, DraftJob
from rubricweb.banks.drafting import DraftOptions
from rubricweb.banks.models import Bank
from rubricweb.jobs.limits import change_limits


class DraftScope(serializers.Serializer[Any]):
    """Draft for each topic or subtopic without items: of the topics that are named, or of all."""

    kind = serializers.ChoiceField(choices=KINDS, default="question")
    backend = serializers.CharField(help_text="Such as `openai_compatible`.")
    llm = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=200, help_text="The back-end's by default."
    )
    topics = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Their `query_id`s; all by default."
    )


class NewDrafts(DraftScope, JobLimits):
    """What to draft, and the limits at which the job pauses."""


class DraftPlanDocument(serializers.Serializer[Any]):
    """What drafting would take."""

    places = serializers.IntegerField(help_text="Topics and subtopics to draft for, a call each or more.")
    without_items = serializers.IntegerField(
        help_text="Topics and subtopics without items, also those with waiting drafts or without a text."
    )
    price = PriceDocument()


class DraftJobSerializer(LimitedJobSerializer):
    kind = serializers.ChoiceField(choices=KINDS)
    total = serializers.IntegerField(help_text="Topics and subtopics.")


class DraftJobDocument(DraftJobSerializer):
    progress = ProgressDocument()


class DraftPlan(Resource):
    """What drafts for all that lacks items would take. Nothing is started."""

    @extend_schema(request=DraftScope, responses=DraftPlanDocument)
    def post(self, request: Request, slug: str, bank_id: int) -> Response:
        """Preview what drafting would take."""
        bank, fields = _bank(self), self.fields(DraftScope)
        rest = draft_jobs.lacking(bank.collection, bank, among=_topics(bank, fields))
        plan = {
            "places": len(rest.places),
            "without_items": rest.without_items,
            "price": draft_jobs.price(_options(fields), rest.places),
        }
        return Response(DraftPlanDocument(plan).data)


class DraftJobs(ListResource):
    """The jobs that draft for a rubric. A POST starts one: 202. Its drafts wait for a person's decision."""

    serializer_class = DraftJobSerializer
    scopes = {"POST": Token.Scope.GRADE}

    def rows(self) -> QuerySet[Any]:
        return _bank(self).draft_jobs.all()

    @extend_schema(request=NewDrafts, responses={202: DraftJobDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str, bank_id: int) -> Response:
        """Draft for each topic without items."""
        bank, fields = _bank(self), self.fields(NewDrafts)
        limits = limits_of(fields)
        try:
            job = draft_jobs.start(
                bank, _options(fields), limits=limits, by=self.person, among=_topics(bank, fields)
            )
        except CannotDraft as refusal:
            raise serializers.ValidationError({"detail": [str(refusal)]}) from refusal
        return made(_document(job), HTTPStatus.ACCEPTED, "draft-job", slug, bank_id, job.pk)


class DraftJobResource(Resource):
    """One job that drafts. A PATCH changes its limits; one that stopped at a limit goes on."""

    scopes = {"PATCH": Token.Scope.GRADE}

    @extend_schema(responses=DraftJobDocument)
    def get(self, request: Request, slug: str, bank_id: int, draft_job_id: int) -> Response:
        """Get a drafting job and its progress."""
        return Response(_document(_job(self)))

    @extend_schema(request=JobLimits, responses=DraftJobDocument)
    def patch(self, request: Request, slug: str, bank_id: int, draft_job_id: int) -> Response:
        """Change the limits of a drafting job."""
        job, fields = _job(self), self.fields(JobLimits)
        return Response(_document(change_limits(job, limits_of(fields), by=self.person)))


class DraftSteering(Resource):
    """Pause, resume or cancel a job that drafts. `cancel` keeps what workers are at."""

    scopes = {"POST": Token.Scope.GRADE}

    @extend_schema(request=None, responses=DraftJobDocument, operation_id="draft_jobs_steer")
    def post(self, request: Request, slug: str, bank_id: int, draft_job_id: int, steer: str) -> Response:
        """Pause, resume or cancel a drafting job."""
        return Response(_document(steered(_job(self), steer, by=self.person)))


def _bank(resource: Resource) -> Bank:
    """Return the rubric of the address; 403 for those who may not have drafts made."""
    collection = resource.collection(needed=roles.TO_EDIT_BANK)
    bank: Bank | None = collection.banks.filter(pk=resource.kwargs["bank_id"]).first()
    if bank is None:
        raise Http404("No such rubric.")
    return bank


def _job(resource: Resource) -> DraftJob:
    bank = _bank(resource)
    return access.draft_job_for(
        resource.person, bank.pk, resource.kwargs["draft_job_id"], needed=roles.TO_EDIT_BANK
    )


def _options(fields: Row) -> DraftOptions:
    try:
        backend = drafting_backend(fields["backend"])
    except UnknownGrader as error:
        raise serializers.ValidationError({"backend": [str(error)]}) from error
    return DraftOptions(ItemKind(fields["kind"]), backend.name, fields["llm"] or backend.default_llm)


def _topics(bank: Bank, fields: Row) -> set[int] | None:
    """Return the keys of the topics that are named, or None for all. Raises ValidationError."""
    if (named := fields.get("topics")) is None:
        return None
    topics = dict(bank.collection.topics.filter(query_id__in=named).values_list("query_id", "pk"))
    if missing := [query_id for query_id in named if query_id not in topics]:
        raise serializers.ValidationError({"topics": [f"No topic {query_id}." for query_id in missing]})
    return set(topics.values())


def _document(job: DraftJob) -> Row:
    return with_progress(DraftJobSerializer, job, measured_rate)
