"""The arena's votes on answers of systems."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from rubricweb.accounts import roles
from rubricweb.api.resources import ListResource, Resource, Row, require_valid
from rubricweb.arena import access, answers, board, board_page, files
from rubricweb.arena.models import Arena, Battle, Vote
from rubricweb.corpus.pseudonyms import assessor_pseudonym

NAMED = OpenApiParameter("named", bool, description="Include votes by people who knew the names.")
VOTERS = OpenApiParameter("voters", description="A model that voted, by name; people by default.")
BOARD = [
    VOTERS,
    OpenApiParameter(
        "verdict", enum=[verdict.value for verdict in answers.Verdict], description="`answer` by default."
    ),
    NAMED,
    OpenApiParameter("length", bool, description="At equal length of answers."),
]


class OfBoard(Resource):
    """For those who may see who leads: organizers and topic developers, others once the board is open."""

    def chosen(self) -> tuple[Arena, board_page.BoardForm]:
        arena = access.arena_for_board(self.person, self.collection().slug)
        form = board_page.BoardForm(self.request.query_params)
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


class Votes(OfBoard):
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
