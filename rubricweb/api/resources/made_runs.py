"""Runs that are made here: what one would take, its job, and how far it is; as on the page *Make a run*."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.systems.pipeline import Answering, SystemSpec
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, Row, made
from rubricweb.api.resources.jobs import LimitedWorkSerializer, PriceDocument, ProgressDocument, with_progress
from rubricweb.api.resources.system_fields import GenerationFields
from rubricweb.api.resources.systems import limits_of, spec_of
from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.steering import STEERS, steer
from rubricweb.systems import actions
from rubricweb.systems.actions import price
from rubricweb.systems.made import job_for
from rubricweb.systems.models import SystemJob

REST = "rest"
"""Make the topics that failed or were cancelled."""


class SystemFields(GenerationFields):
    """A whole system: what it begins with, how it reranks, how it answers, and by which model."""

    method = serializers.ChoiceField(
        choices=[answering.value for answering in Answering],
        default=Answering.NONE.value,
        help_text="How it answers; `none` only ranks.",
    )
    runs = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        max_length=100,
        help_text="Begin with these runs, fused where there are several; with BM25 without any.",
    )
    topics = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        max_length=100_000,
        help_text="By `query_id`; all by default.",
    )


class NewRun(SystemFields):
    run_tag = serializers.RegexField(r"^\S+\Z", max_length=200, help_text="The name of the run: one word.")


class SystemPlanDocument(serializers.Serializer[Any]):
    """What a run would take."""

    method = serializers.CharField(help_text="In words.")
    topics = serializers.IntegerField()
    calls = serializers.IntegerField(help_text="Of the model; 0 where none is asked.")
    needs_limit_on_calls = serializers.BooleanField(help_text="The model has no price: say `most_calls`.")
    price = PriceDocument()


class MadeRunSerializer(LimitedWorkSerializer):
    run_id = serializers.IntegerField()
    run = serializers.CharField(source="run.run_tag")
    total = serializers.IntegerField(help_text="Topics.")
    system = serializers.JSONField(source="spec", help_text="Its parts.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class MadeRunDocument(MadeRunSerializer):
    method = serializers.CharField(help_text="In words.")
    progress = ProgressDocument()


class MadeRuns(ListResource):
    """Runs that were made here, or are. A POST has workers make one, a topic at a time: 202."""

    serializer_class = MadeRunSerializer
    scopes = {"POST": Token.Scope.ORGANIZE}

    def rows(self) -> QuerySet[Any]:
        return self.collection(needed=roles.TO_SEE_RUNS).system_jobs.all()

    @extend_schema(request=NewRun, responses={202: MadeRunDocument}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Make a run."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(NewRun)
        spec, topics = _system(collection, fields), _topics(collection, fields)
        job = actions.start(
            collection,
            spec,
            run_tag=fields["run_tag"],
            topics=topics,
            limits=limits_of(collection, spec, len(topics), fields),
            by=self.person,
        )
        return made(_document(job), HTTPStatus.ACCEPTED, "made-run", collection.slug, job.run_id)


class MadeRunPlan(Resource):
    """What a run, or a step for as many queries as there are topics, would take. Nothing is started."""

    @extend_schema(request=SystemFields, responses=SystemPlanDocument, operation_id="made_runs_plan")
    def post(self, request: Request, slug: str) -> Response:
        """Preview what a run takes."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(SystemFields)
        spec, topics = _system(collection, fields), _topics(collection, fields)
        expected = price(collection, spec, len(topics))
        document = {
            "method": spec.method,
            "topics": len(topics),
            "calls": expected.calls,
            "needs_limit_on_calls": expected.needs_limit_on_calls,
            "price": expected.price,
        }
        return Response(SystemPlanDocument(document).data)


class MadeRun(Resource):
    """A run that was made here, with its progress."""

    @extend_schema(responses=MadeRunDocument, operation_id="made_run")
    def get(self, request: Request, slug: str, run_id: int) -> Response:
        """Get how far a run is."""
        return Response(_document(job_for(self.person, self.collection().slug, run_id)))


class MadeRunSteering(Resource):
    """Pause, resume or cancel the making of a run, or make the `rest` of its topics."""

    scopes = {"POST": Token.Scope.ORGANIZE}

    @extend_schema(request=None, responses=MadeRunDocument, operation_id="made_run_steer")
    def post(self, request: Request, slug: str, run_id: int, steer: str) -> Response:
        """Steer the making of a run."""
        return Response(_document(_steered(self, run_id, steer)))


def _steered(view: Resource, run_id: int, verb: str) -> SystemJob:
    if verb not in {*STEERS, REST}:
        raise Http404(f"Steer a run with one of {', '.join([*STEERS, REST])}.")
    job = job_for(view.person, view.collection().slug, run_id, needed=roles.TO_ORGANIZE)
    return actions.make_rest(job, by=view.person) if verb == REST else steer(job, verb, by=view.person)


def _system(collection: Collection, fields: Row) -> SystemSpec:
    """Return the system. Raises ValidationError for runs that are not here, RequestProblem (422)."""
    tags = fields.get("runs", [])
    here = set(collection.runs.accepted().filter(run_tag__in=tags).values_list("run_tag", flat=True))
    if missing := [tag for tag in tags if tag not in here]:
        raise serializers.ValidationError({"runs": [f"There is no run {missing[0]}."]})
    return spec_of(collection, Answering(fields["method"]), fields)


def _topics(collection: Collection, fields: Row) -> Sequence[Topic]:
    """Return the topics in the collection's order. Raises ValidationError without any."""
    named = fields.get("topics")
    topics = list(collection.topics.filter(query_id__in=named) if named else collection.topics.all())
    missing = set(named or ()) - {topic.query_id for topic in topics}
    if missing or not topics:
        problem = f"There is no topic {min(missing)}." if missing else "The collection has no topic."
        raise serializers.ValidationError({"topics": [problem]})
    return topics


def _document(job: SystemJob) -> Row:
    return {**with_progress(MadeRunSerializer, job, lambda _: None), "method": job.system.method}
