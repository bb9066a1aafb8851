"""Votes of models in the arena: what asking a model takes, the jobs that ask, and their steering."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.pairwise import LONGEST_REPLY
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, Row, require_valid
from rubricweb.api.resources.jobs import (
    JobLimits,
    LimitedJobSerializer,
    PriceDocument,
    ProgressDocument,
    limits_of,
    steered,
)
from rubricweb.arena import actions
from rubricweb.arena.judges.kind import LISTING, price
from rubricweb.arena.judges.views import JudgeForm
from rubricweb.arena.judges.votes import ORDERS
from rubricweb.arena.models import JudgeJob
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import MOST_REPLY_TOKENS
from rubricweb.jobs.limits import change_limits
from rubricweb.jobs.progress import progress_of


class JudgeScope(serializers.Serializer[Any]):
    """Ask a model which of two answers is better, each pair in both orders, where it has not judged."""

    backend = serializers.CharField(help_text="Such as `openai_compatible`.")
    llm = serializers.CharField(max_length=200)
    pairs = serializers.ChoiceField(choices=JudgeJob.Pairs.choices, default=JudgeJob.Pairs.VOTED)
    longest_reply = serializers.IntegerField(
        min_value=1, max_value=MOST_REPLY_TOKENS, default=LONGEST_REPLY, help_text="In tokens."
    )


class NewJudging(JudgeScope, JobLimits):
    """What to ask a model about, and the limits at which the job pauses."""


class JudgePlanDocument(serializers.Serializer[Any]):
    """What asking would take."""

    pairs = serializers.IntegerField(help_text="Pairs of answers, two calls each.")
    price = PriceDocument()


class JudgeJobSerializer(LimitedJobSerializer):
    prompt_id = serializers.CharField()
    pairs = serializers.ChoiceField(choices=JudgeJob.Pairs.choices)
    longest_reply = serializers.IntegerField(help_text="In tokens.")
    total = serializers.IntegerField(help_text="Pairs of answers.")


class JudgeJobDocument(JudgeJobSerializer):
    progress = ProgressDocument()


class JudgePlan(Resource):
    """What asking a model about all pairs that it has not judged would take. Nothing is started."""

    @extend_schema(request=JudgeScope, responses=JudgePlanDocument)
    def post(self, request: Request, slug: str) -> Response:
        """Preview what a model's votes would take."""
        collection = _collection(self)
        expected = price(collection, _asking(collection, self.fields(JudgeScope)))
        return Response(JudgePlanDocument({"pairs": expected.cells // ORDERS, "price": expected}).data)


class JudgeJobs(ListResource):
    """The jobs that ask models for votes. A POST starts one: 202."""

    serializer_class = JudgeJobSerializer
    scopes = {"POST": Token.Scope.GRADE}

    def rows(self) -> QuerySet[Any]:
        return _collection(self).judge_jobs.all()

    @extend_schema(request=NewJudging, responses={202: JudgeJobDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Ask a model for votes."""
        collection, fields = _collection(self), self.fields(NewJudging)
        asking = _asking(collection, fields)
        try:
            job = actions.start_judging(collection, asking, limits=limits_of(fields), by=self.person)
        except actions.NothingToJudge as refusal:
            raise serializers.ValidationError({"detail": [str(refusal)]}) from refusal
        address = reverse("api:judge-job", args=[slug, job.pk])
        return Response(_document(job), HTTPStatus.ACCEPTED, headers={"Location": address})


class JudgeJobResource(Resource):
    """One job that asks a model. A PATCH changes its limits; one that stopped at a limit goes on."""

    scopes = {"PATCH": Token.Scope.GRADE}

    @extend_schema(responses=JudgeJobDocument)
    def get(self, request: Request, slug: str, judge_job_id: int) -> Response:
        """Get a job that asks a model for votes, and its progress."""
        return Response(_document(_job(self)))

    @extend_schema(request=JobLimits, responses=JudgeJobDocument)
    def patch(self, request: Request, slug: str, judge_job_id: int) -> Response:
        """Change the limits of a job that asks a model for votes."""
        job, fields = _job(self), self.fields(JobLimits)
        return Response(_document(change_limits(job, limits_of(fields), by=self.person)))


class JudgeSteering(Resource):
    """Pause, resume or cancel a job that asks a model. `cancel` keeps what workers are at."""

    scopes = {"POST": Token.Scope.GRADE}

    @extend_schema(request=None, responses=JudgeJobDocument, operation_id="judge_jobs_steer")
    def post(self, request: Request, slug: str, judge_job_id: int, steer: str) -> Response:
        """Pause, resume or cancel a job that asks a model for votes."""
        return Response(_document(steered(_job(self), steer, by=self.person)))


def _collection(resource: Resource) -> Collection:
    return resource.collection(needed=roles.TO_ORGANIZE)


def _job(resource: Resource) -> JudgeJob:
    jobs = _collection(resource).judge_jobs.select_related("collection", "by")
    job: JudgeJob = get_object_or_404(jobs, pk=resource.kwargs["judge_job_id"])
    return job


def _asking(collection: Collection, fields: Row) -> actions.JudgeRequest:
    """Return what the page's form makes of these fields. Raises ValidationError."""
    form = JudgeForm(fields)
    form.offer(collection)
    require_valid(form)
    return form.asking


def _document(job: JudgeJob) -> Row:
    [progress] = progress_of([job], LISTING.rate)
    return {**JudgeJobSerializer(job).data, "progress": ProgressDocument(progress).data}
