"""The price and the jobs of grading."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.requests import RequestProblem
from rubricweb.api.resources import ListResource, Resource, Row
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import access, actions
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine import monitor, progress
from rubricweb.grades.engine.gaps import doubt_by
from rubricweb.grades.engine.missing import Missing
from rubricweb.grades.engine.price import over_limit
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import steering
from rubricweb.jobs.limits import MOST_CALLS, Limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.progress import J, Price, progress_of

MOST_RUNS = 100
PAUSABLE = ("pause", "resume", "cancel")
"""What is done to jobs that stop at limits of their own."""


class CostLimits(serializers.Serializer[Any]):
    most_calls = serializers.IntegerField(
        required=False, min_value=0, help_text="Start nothing where it takes more calls of models: 422."
    )
    most_dollars = serializers.FloatField(
        required=False, min_value=0, help_text="Start nothing where it costs more, or nobody knows what: 422."
    )


class JobLimits(serializers.Serializer[Any]):
    """The limits at which the job pauses."""

    most_calls = serializers.IntegerField(min_value=1, max_value=MOST_CALLS)
    most_dollars = serializers.FloatField(
        min_value=0, required=False, allow_null=True, default=None, help_text="Null for no limit."
    )


def limits_of(fields: dict[str, Any]) -> Limits:
    return Limits(fields["most_calls"], fields["most_dollars"])


def with_progress(
    serializer: type[serializers.Serializer[Any]],
    job: J,
    rate: Callable[[J], float | None],
) -> Row:
    """Return the job with how far it is; `rate` measures its chunks a second."""
    [now] = progress_of([job], rate)
    return {**serializer(job).data, "progress": ProgressDocument(now).data}


def steered(job: steering.J, steer: str, *, by: User | None) -> steering.J:
    """Do one of PAUSABLE to the job; 404 for anything else."""
    if steer not in PAUSABLE:
        raise Http404(f"Steer a job with one of {', '.join(PAUSABLE)}.")
    return steering.steer(job, steer, by=by)


class LimitedWorkSerializer(serializers.Serializer[Any]):
    """What all work that asks a model within limits says of itself."""

    id = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=Job.State.choices)
    calls = serializers.IntegerField(help_text="Of the model so far.")
    most_calls = serializers.IntegerField(help_text="It pauses there.")
    dollars = serializers.FloatField(help_text="Estimated; 0 where no price is known.")
    most_dollars = serializers.FloatField(allow_null=True)
    error = serializers.CharField()
    pause_reason = serializers.CharField()


class LimitedJobSerializer(LimitedWorkSerializer):
    """What a job says of itself that asks one model."""

    backend = serializers.CharField()
    llm = serializers.CharField()
    tokens = serializers.IntegerField(help_text="Estimated.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class JobScope(CostLimits):
    """What to grade: a bank, a topic, both, or by default all of the collection.

    Of it, where `unsure` names a grader, only what that one is unsure of.
    """

    bank = serializers.IntegerField(required=False, help_text="The id of a rubric.")
    topic = serializers.CharField(required=False, help_text="The `query_id` of a topic.")
    unsure = serializers.IntegerField(
        required=False,
        help_text="The id of a grader: only pairs of which it is unsure; of a panel, on which its members "
        "disagree.",
    )
    below = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="With `unsure`: the confidence that is too low."
    )
    runs = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        allow_empty=False,
        max_length=MOST_RUNS,
        help_text="Names of runs: only passages of the pool that these rank.",
    )


class PriceDocument(serializers.Serializer[Price]):
    cells = serializers.IntegerField()
    calls = serializers.IntegerField(allow_null=True, help_text="Of models; null where none is asked.")
    tokens = serializers.IntegerField(allow_null=True, help_text="Estimated; null where no model reads.")
    seconds = serializers.ListField(
        child=serializers.FloatField(),
        source="measured_seconds",
        allow_null=True,
        help_text="At least and at most; null if unknown.",
    )
    dollars = serializers.FloatField(allow_null=True, help_text="Null where no price is known.")


class PlanPart(serializers.Serializer[Any]):
    grader = serializers.CharField(source="config.fingerprint")
    cells = serializers.IntegerField()


class PlanDocument(serializers.Serializer[Any]):
    """What a job of this scope would grade, and what it would cost."""

    cells = serializers.IntegerField(help_text="Pairs without a grade, and in no live job.")
    later = serializers.IntegerField(
        help_text="Of these: verified once their answers are extracted, at most."
    )
    failed = serializers.IntegerField(help_text="Pairs with a failed grade, which a retry would grade again.")
    by_grader = PlanPart(many=True)
    price = PriceDocument(allow_null=True)


class JobSerializer(serializers.Serializer[GradingJob]):
    id = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=GradingJob.State.choices)
    scope = serializers.CharField(help_text="In words.")
    grader = serializers.CharField(source="config.fingerprint")
    total = serializers.IntegerField(help_text="Pairs.")
    error = serializers.CharField()
    pause_reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ProgressDocument(serializers.Serializer[Any]):
    done = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Of the done pairs.")
    rate = serializers.FloatField(allow_null=True, help_text="Pairs a second, all workers together.")
    remaining = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Seconds, at least and at most."
    )


class JobDocument(JobSerializer):
    progress = ProgressDocument()


class Started(serializers.Serializer[Any]):
    jobs = JobSerializer(many=True)


class Plan(Resource):
    """What grading the missing pairs would take. Nothing is started."""

    @extend_schema(request=JobScope, responses=PlanDocument)
    def post(self, request: Request, slug: str) -> Response:
        """Preview what grading would take."""
        collection = self.collection()
        gap = monitor.gap(collection, _scope(collection, self.fields(JobScope)))
        plan = {
            "cells": gap.cells,
            "later": gap.later,
            "failed": gap.failed.cells if gap.failed else 0,
            "by_grader": gap.by_config,
            "price": gap.price,
        }
        return Response(PlanDocument(plan).data)


class Jobs(ListResource):
    """Grading jobs. A POST grades what is missing: 202, and one job a grader."""

    serializer_class = JobSerializer
    scopes = {"POST": Token.Scope.GRADE}

    def rows(self) -> QuerySet[Any]:
        return self.collection().jobs.all()

    @extend_schema(request=JobScope, responses={202: Started}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Grade what has no grade yet."""
        collection = access.collection_to_grade(self.person, self.collection().slug)
        fields = self.fields(JobScope)
        scope = _scope(collection, fields)
        find = partial(monitor.to_start, collection, scope)
        check_price(self.person, collection, find, fields)
        plan = monitor.planned(collection, scope, active_configs(collection))
        jobs = actions.start_plan(plan, by=self.person)
        return started(slug, jobs)


class JobResource(Resource):
    """One job, with its progress."""

    @extend_schema(responses=JobDocument)
    def get(self, request: Request, slug: str, job_id: int) -> Response:
        """Get a job and its progress."""
        return Response(_document(access.job_for(self.person, self.collection().slug, job_id)))


class Steering(Resource):
    """Pause, resume or cancel a job, or put it first or in turn. `cancel` saves what workers are at."""

    scopes = {"POST": Token.Scope.GRADE}

    @extend_schema(request=None, responses=JobDocument, operation_id="jobs_steer")
    def post(self, request: Request, slug: str, job_id: int, steer: str) -> Response:
        """Pause, resume, cancel or reorder a job."""
        if steer not in steering.STEERS:
            raise Http404(f"Steer a job with one of {', '.join(steering.STEERS)}.")
        slug = self.collection().slug
        job = access.job_for(self.person, slug, job_id, needed=roles.TO_GRADE)
        return Response(_document(steering.steer(job, steer, by=self.person)))


def started(slug: str, jobs: list[GradingJob]) -> Response:
    """Answer 202 with the jobs that a request started, and where the first is."""
    headers = {"Location": reverse("api:job", args=[slug, jobs[0].pk])} if jobs else {}
    return Response(Started({"jobs": jobs}).data, HTTPStatus.ACCEPTED, headers=headers)


def _document(job: GradingJob) -> Row:
    now = progress.job_progress(job)
    return {**JobSerializer(now.job).data, "progress": ProgressDocument(now).data}


def _scope(collection: Collection, fields: dict[str, Any]) -> monitor.Scope:
    bank, topic, unsure = fields.get("bank"), fields.get("topic"), fields.get("unsure")
    doubt = None if unsure is None else doubt_by(collection, unsure, fields.get("below"))
    if unsure is not None and doubt is None:
        raise Http404("No such grader.")
    return monitor.Scope(
        get_object_or_404(collection.banks, pk=bank) if bank is not None else None,
        get_object_or_404(collection.topics, query_id=topic) if topic is not None else None,
        doubt,
        _passages(collection, fields["runs"]) if "runs" in fields else None,
    )


def _passages(collection: Collection, run_tags: list[str]) -> dict[int, frozenset[int]]:
    pool = collection_pool(collection)
    if absent := [tag for tag in run_tags if tag not in pool.run_tags]:
        raise Http404(f"There is no run {absent[0]}.")
    return pool.ranked_by(run_tags)


def check_price(
    person: User, collection: Collection, find: Callable[[], list[Missing]], fields: dict[str, Any]
) -> None:
    """Raise PermissionDenied, or RequestProblem (422), where the missing cells cost more than is allowed."""
    if refusal := access.price_refusal(person, collection, find):
        raise PermissionDenied(refusal)
    calls, dollars = fields.get("most_calls"), fields.get("most_dollars")
    if refusal := over_limit(collection, find(), calls=calls, dollars=dollars):
        raise RequestProblem(HTTPStatus.UNPROCESSABLE_ENTITY, refusal)
