"""Answers of systems: the steps that make them, and the arena's votes on them.

The steps of a system, in the I/O of Ragnarök (Pradeep et al. 2024, section 3.1 and Table 4).

`retrieve` gives what rerankers and generators take: a query with its candidates. `generate` takes that, and
gives an answer with its references. For organizers, who make runs on pages.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.formats.passages import PassageEntry, candidates_of
from grading.systems import extractive, pipeline, retrieval
from grading.systems.base import MAX_WORDS, Answer, Source
from grading.types import Ranking, Topic
from rubricweb.accounts import roles
from rubricweb.api.resources import ListResource, Resource, Row, require_valid
from rubricweb.arena import access, answers, board, board_page, files
from rubricweb.arena.models import Arena, Battle, Vote
from rubricweb.corpus.models import Collection, Passage
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.systems.make import DEEPEST, MOST_SOURCES, MOST_WORDS
from rubricweb.systems.retrieval import index_of, sources_of

QUERY = {
    "oneOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "required": ["text"],
            "properties": {"qid": {"type": "string"}, "text": {"type": "string", "minLength": 1}},
        },
    ]
}


@extend_schema_field(QUERY)
class QueryField(serializers.Field[Topic, Any, Any, Any]):
    """A text, or `{"qid", "text"}`."""

    def to_internal_value(self, data: Any) -> Topic:
        document = {"text": data} if isinstance(data, str) else data
        qid, text = (
            (document.get("qid", ""), document.get("text")) if isinstance(document, dict) else ("", None)
        )
        if not isinstance(text, str) or not text.strip() or not isinstance(qid, (str, int)):
            raise serializers.ValidationError('Expected a text, or {"qid": …, "text": …}.')
        return Topic(str(qid), text.strip())


class QueryDocument(serializers.Serializer[Any]):
    qid = serializers.CharField(allow_blank=True)
    text = serializers.CharField()


class SegmentDocument(serializers.Serializer[Passage]):
    title = serializers.CharField()
    url = serializers.CharField()
    headings = serializers.CharField()
    segment = serializers.CharField(source="text")
    start_char = serializers.IntegerField(allow_null=True, help_text="Of a segment in its document, from 0.")
    end_char = serializers.IntegerField(allow_null=True)


class CandidateDocument(serializers.Serializer[Any]):
    docid = serializers.CharField()
    score = serializers.FloatField()
    doc = SegmentDocument()


class RetrieveRequest(serializers.Serializer[Any]):
    query = QueryField()
    hits = serializers.IntegerField(default=retrieval.DEPTH, min_value=1, max_value=DEEPEST)


class RetrieveDocument(serializers.Serializer[Any]):
    """What rerankers and `generate` take."""

    query = QueryDocument()
    candidates = CandidateDocument(many=True, help_text="The best first, by BM25 (k1 0.9, b 0.4).")


class GenerateRequest(serializers.Serializer[Any]):
    query = QueryField()
    candidates = serializers.ListField(
        child=serializers.JSONField(),
        required=False,
        max_length=DEEPEST,
        help_text="As `retrieve` gives them, in their order; retrieved where they are not sent.",
    )
    topk = serializers.IntegerField(default=extractive.SOURCES, min_value=1, max_value=MOST_SOURCES)
    max_words = serializers.IntegerField(default=MAX_WORDS, min_value=1, max_value=MOST_WORDS)


class AnswerSentenceDocument(serializers.Serializer[Any]):
    text = serializers.CharField()
    citations = serializers.ListField(
        child=serializers.IntegerField(), help_text="Places in `references`, from 0."
    )


class GenerateDocument(serializers.Serializer[Any]):
    topic_id = serializers.CharField(allow_blank=True)
    topic = serializers.CharField()
    references = serializers.ListField(child=serializers.CharField())
    response_length = serializers.IntegerField(help_text="Characters of all sentences.")
    answer = AnswerSentenceDocument(many=True)


class Retrieve(Resource):
    """The passages of the collection that fit a query best, by BM25."""

    @extend_schema(request=RetrieveRequest, responses=RetrieveDocument, operation_id="retrieve")
    def post(self, request: Request, slug: str) -> Response:
        """Retrieve passages for a query."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(RetrieveRequest)
        topic, ranking = fields["query"], _ranked(collection, fields["query"], fields["hits"])
        rows = collection.passages.filter(doc_id__in=ranking.doc_ids)
        passages = {passage.doc_id: passage for passage in rows}
        candidates = [
            {"docid": doc_id, "score": score, "doc": SegmentDocument(passages[doc_id]).data}
            for doc_id, score in zip(ranking.doc_ids, ranking.scores, strict=True)
            if doc_id in passages
        ]
        return Response({"query": {"qid": topic.query_id, "text": topic.text}, "candidates": candidates})


class Generate(Resource):
    """An answer from the first candidates, with citations: the best sentences, without a language model.

    Runs by language models are made as jobs, on the page where organizers make runs.
    """

    @extend_schema(request=GenerateRequest, responses=GenerateDocument, operation_id="generate")
    def post(self, request: Request, slug: str) -> Response:
        """Generate an answer with citations."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(GenerateRequest)
        topic, topk = fields["query"], fields["topk"]
        sources = _sources(collection, topic, fields)
        ranking = Ranking(
            "", topic.query_id, tuple(source.passage_id for source in sources), (0.0,) * len(sources)
        )
        spec = pipeline.SystemSpec(
            pipeline.Answering.SENTENCES, depth=topk, sources=topk, max_words=fields["max_words"]
        )
        answer = pipeline.make(spec, topic, ranking, lambda _: sources, None).answer
        return Response(_answer(topic, answer or Answer((), tuple(sources))))


def _ranked(collection: Collection, topic: Topic, hits: int) -> Ranking:
    return index_of(collection).search(topic, depth=hits)


def _sources(collection: Collection, topic: Topic, fields: Row) -> list[Source]:
    """Return the candidates that were sent, or those that are retrieved. Raises BadFormat."""
    topk: int = fields["topk"]
    if "candidates" not in fields:
        return sources_of(collection, _ranked(collection, topic, topk).doc_ids)
    request = {
        "query": {"qid": topic.query_id or "query", "text": topic.text},
        "candidates": fields["candidates"],
    }
    entries: list[PassageEntry] = candidates_of(request)[:topk]
    return [Source(entry.doc_id, entry.text, entry.title) for entry in entries]


def _answer(topic: Topic, answer: Answer) -> Row:
    return {
        "topic_id": topic.query_id,
        "topic": topic.text,
        "references": [source.passage_id for source in answer.sources],
        "response_length": sum(len(sentence.text) for sentence in answer.sentences),
        "answer": [
            {"text": sentence.text, "citations": list(sentence.citations)} for sentence in answer.sentences
        ],
    }


NAMED = OpenApiParameter("named", bool, description="Include votes by people who knew the names.")
BOARD = [
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
        options = {"with_named": form.with_named, "at_equal_length": form.at_equal_length}
        return Response(
            files.board_document(board.vote_board(arena.collection, form.chosen, **options), slug)
        )


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
    at = serializers.DateTimeField()
    tags = serializers.CharField(help_text="With semicolons between.")
    reason = serializers.CharField()


class Votes(OfBoard):
    """The votes that count, as their JSON file has them."""

    @extend_schema(parameters=[NAMED], responses=VoteDocument(many=True), operation_id="arena_votes")
    def get(self, request: Request, slug: str) -> Response:
        """List the votes that count."""
        arena, form = self.chosen()
        rows = list(files.vote_rows(arena.collection, with_named=form.with_named))
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
