"""The arena: votes on answers of systems, and the jobs that ask models for votes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.pairwise import LONGEST_REPLY
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, Row, made, require_valid
from rubricweb.api.resources.jobs import (
    JobLimits,
    LimitedJobSerializer,
    PriceDocument,
    ProgressDocument,
    limits_of,
    steered,
    with_progress,
)
from rubricweb.arena import access, actions, answers, board, board_page, files
from rubricweb.arena.judges import ORDERS
from rubricweb.arena.judges.kind import LISTING, price
from rubricweb.arena.judges.views import JudgeForm
from rubricweb.arena.models import Arena, Battle, JudgeJob, Vote
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.corpus.writers import MOST_REPLY_TOKENS
from rubricweb.jobs.limits import change_limits

NAMED = OpenApiParameter("named", bool, description="Include votes by people who knew the names.")
VOTERS = OpenApiParameter("voters", description="A model that voted, by name; people by default.")
BOARD = [
    VOTERS,
    OpenApiParameter(
        "verdict",
        enum=[verdict.value for verdict in answers.CountedVerdict],
        description="`answer` by default.",
    ),
    NAMED,
    OpenApiParameter("length", bool, description="At equal length of answers."),
]


class OfBoard(Resource):
    """For those who may see who leads: organizers and topic developers, others once the board is open."""

    def chosen(self) -> tuple[Arena, board_page.VoteBoardForm]:
        arena = access.arena_for_board(self.person, self.collection().slug)
        form = board_page.VoteBoardForm(self.request.query_params)
        form.offer_judges(arena.collection)
        require_valid(form)
        return arena, form


class VotedRunDocument(serializers.Serializer[Any]):
    rank_best = serializers.IntegerField()
    rank_worst = serializers.IntegerField()
    run = serializers.CharField()
    strength = serializers.FloatField(allow_null=True, help_text="Log odds against the mean run.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    votes = serializers.IntegerField()
    wins = serializers.IntegerField()
    ties = serializers.IntegerField()
    losses = serializers.IntegerField()
    level = serializers.JSONField(help_text="Of the interval; empty without one.")
    note = serializers.CharField(allow_blank=True)
    bradley_terry = serializers.FloatField(
        allow_null=True, help_text="Log odds with a tie as half a win, as in arena-rank; null if not finite."
    )
    rating = serializers.FloatField(allow_null=True, help_text="The same, with the mean 1000.")


class VotedPairDocument(serializers.Serializer[Any]):
    run = serializers.CharField()
    against = serializers.CharField()
    wins = serializers.IntegerField()
    ties = serializers.IntegerField()
    losses = serializers.IntegerField()


class VoteBoardDocument(serializers.Serializer[Any]):
    collection = serializers.CharField()
    verdict = serializers.CharField(help_text="`answer` or `evidence`.")
    judge = serializers.DictField(
        allow_null=True, help_text="The model that voted, its flip rate and failures; null for people."
    )
    model = serializers.CharField()
    length = serializers.DictField(allow_null=True, help_text="What length is worth; null if not asked for.")
    intervals = serializers.CharField()
    ranks = serializers.CharField()
    version = serializers.CharField(help_text="Of RubricWeb.")
    votes = serializers.IntegerField()
    voters = serializers.IntegerField()
    votes_from_files = serializers.DictField(
        child=serializers.IntegerField(), help_text="Of files of battles, by who voted there."
    )
    topics = serializers.IntegerField()
    both_bad = serializers.IntegerField()
    left_out = serializers.DictField(child=serializers.IntegerField())
    agreement = serializers.DictField(allow_null=True, help_text="Of voters on one battle; null if too few.")
    runs = VotedRunDocument(many=True)
    pairs = VotedPairDocument(many=True)


class VoteBoardResource(OfBoard):
    """The vote board, as its JSON file has it."""

    @extend_schema(parameters=BOARD, responses=VoteBoardDocument, operation_id="arena_board")
    def get(self, request: Request, slug: str) -> Response:
        """Get the vote board."""
        arena, form = self.chosen()
        votes = board.vote_board(
            arena.collection,
            form.chosen,
            with_named=form.with_named,
            at_equal_length=form.at_equal_length,
            judge=form.judge(arena.collection),
        )
        return Response(files.board_document(votes, slug))


class VoteDocument(serializers.Serializer[Any]):
    query_id = serializers.CharField()
    left = serializers.CharField(help_text="The name of a run.")
    right = serializers.CharField()
    voter = serializers.IntegerField(help_text="Voters are numbered.")
    answer = serializers.ChoiceField(choices=Vote.Verdict.choices)
    evidence = serializers.ChoiceField(choices=Vote.Verdict.choices, allow_blank=True)
    blind = serializers.BooleanField()
    left_words = serializers.IntegerField(allow_null=True, help_text="Null for an answer that is not here.")
    right_words = serializers.IntegerField(allow_null=True)
    at = serializers.DateTimeField(allow_null=True, help_text="Null for a model's vote.")
    tags = serializers.CharField(help_text="With semicolons between.")
    reason = serializers.CharField()


class VoteList(OfBoard):
    """The votes that count, as their JSON file has them."""

    @extend_schema(parameters=[VOTERS, NAMED], responses=VoteDocument(many=True), operation_id="arena_votes")
    def get(self, request: Request, slug: str) -> Response:
        """List the votes that count."""
        arena, form = self.chosen()
        judge = form.judge(arena.collection)
        rows = list(files.vote_rows(arena.collection, with_named=form.with_named, judge=judge))
        return Response(files.vote_documents(rows))


class BattleSerializer(serializers.Serializer[Battle]):
    id = serializers.IntegerField(source="pk")
    topic = serializers.CharField(source="topic.query_id")
    left = serializers.CharField(source="left.run_tag")
    right = serializers.CharField(source="right.run_tag")
    person = serializers.CharField(source="person_id", allow_null=True, help_text="A pseudonym.")
    drawn = serializers.ChoiceField(choices=Battle.Drawn.choices)
    at = serializers.DateTimeField()
    names_shown_at = serializers.DateTimeField()


class Battles(ListResource):
    """Battles of stored answers whose person has seen the names. Others are still blind. For organizers."""

    serializer_class = BattleSerializer

    def rows(self) -> QuerySet[Any]:
        collection = self.collection(needed=roles.TO_ORGANIZE)
        accepted = collection.runs.accepted()
        over = Q(question=None, names_shown_at__isnull=False)
        return collection.battles.filter(over, left__in=accepted, right__in=accepted)

    def adjusted(self, rows: list[Row]) -> list[Row]:
        collection = self.collection(needed=roles.TO_ORGANIZE)
        return [
            {**row, "person": row["person"] and assessor_pseudonym(collection, row["person"])} for row in rows
        ]


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
        return made(_document(job), HTTPStatus.ACCEPTED, "judge-job", slug, job.pk)


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
    return with_progress(JudgeJobSerializer, job, LISTING.rate)
