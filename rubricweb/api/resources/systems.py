"""The steps of a system, in the I/O of Ragnarök (Pradeep et al. 2024, section 3.1 and Table 4).

`retrieve` gives what rerankers and generators take: a query with its candidates. `rerank` orders them anew,
and `generate` gives an answer with its references. A step that asks a language model is a job: workers do it
within limits, and its address has the result. For organizers, who make runs on pages.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.formats.passages import PassageEntry
from grading.systems import MAX_WORDS, Answer, Source, extractive
from grading.systems.pipeline import Answering, SystemSpec, make
from grading.types import Ranking, Topic
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.requests import RequestProblem
from rubricweb.api.resources import Resource, Row, made, require_valid
from rubricweb.api.resources.jobs import LimitedWorkSerializer
from rubricweb.api.resources.system_fields import (
    GenerateDocument,
    GenerateRequest,
    RerankRequest,
    RetrieveDocument,
    RetrieveRequest,
    SegmentDocument,
    StepDocument,
)
from rubricweb.arena.asking import answer_once
from rubricweb.arena.models import Question
from rubricweb.corpus.models import Collection, Passage
from rubricweb.corpus.writers import writer_of
from rubricweb.jobs import steering
from rubricweb.jobs.limits import Limits, LimitsForm
from rubricweb.jobs.models import Job
from rubricweb.systems.actions import price
from rubricweb.systems.models import made_from_json
from rubricweb.systems.retrieval import (
    entries_sent,
    index_of,
    open_corpus,
    sources_of,
    sources_sent,
    unscored,
)


class Retrieve(Resource):
    """The passages of the collection, or of a corpus on disk, that fit a query best, by BM25."""

    @extend_schema(request=RetrieveRequest, responses=RetrieveDocument, operation_id="retrieve")
    def post(self, request: Request, slug: str) -> Response:
        """Retrieve passages for a query."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(RetrieveRequest)
        ranking = _ranked(collection, fields["query"], fields)
        return Response(_retrieved(collection, fields["query"], ranking, fields["corpus"]))


class Rerank(Resource):
    """The candidates in a new order, by a language model. A job: 202, and its address has the result."""

    scopes = {"POST": Token.Scope.ORGANIZE}

    @extend_schema(
        request=RerankRequest, responses={202: StepDocument}, operation_id="rerank", parameters=[KEY]
    )
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Rerank candidates by a language model."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(RerankRequest)
        if not fields["rerank_passes"] and not fields["rating_prompt"]:
            expected = "Say how often, from 1, or rerank by a rating_prompt."
            raise serializers.ValidationError({"rerank_passes": [expected]})
        return _started(collection, spec_of(collection, Answering.NONE, fields), fields, self)


class Generate(Resource):
    """An answer from the first candidates, with citations, by any method and model.

    Without a language model it comes at once. With one it is a job: 202, and its address has the answer.
    """

    @extend_schema(
        request=GenerateRequest,
        responses={200: GenerateDocument, 202: StepDocument},
        operation_id="generate",
        parameters=[KEY],
    )
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Generate an answer with citations."""
        collection, fields = self.collection(needed=roles.TO_ORGANIZE), self.fields(GenerateRequest)
        default = Answering.RAGNAROK if fields["llm"] else Answering.SENTENCES
        spec = spec_of(collection, Answering(fields.get("method", default)), fields)
        if spec.needs_model:
            return _started(collection, spec, fields, self)
        query = fields["query"]
        sources = _sources(collection, spec, fields)
        ranking = unscored(query.query_id, sources)
        answer = make(spec, query, ranking, lambda _: sources, None).answer
        return Response(_answer(query, answer or Answer((), tuple(sources))))


class StepResource(Resource):
    """A step that workers do, with its result: `reranked`, which `generate` takes, or `generated`."""

    @extend_schema(responses=StepDocument, operation_id="step")
    def get(self, request: Request, slug: str, step_id: int) -> Response:
        """Get a step and its result."""
        return Response(step_document(_step(self, step_id)))


class StepSteering(Resource):
    """Pause, resume or cancel a step, or put it first or in turn."""

    scopes = {"POST": Token.Scope.ORGANIZE}

    @extend_schema(request=None, responses=StepDocument, operation_id="step_steer")
    def post(self, request: Request, slug: str, step_id: int, steer: str) -> Response:
        """Pause, resume, cancel or reorder a step."""
        if steer not in steering.STEERS:
            raise Http404(f"Steer a step with one of {', '.join(steering.STEERS)}.")
        return Response(step_document(steering.steer(_step(self, step_id), steer, by=self.person)))


def _step(view: Resource, step_id: int) -> Question:
    rows = view.collection(needed=roles.TO_ORGANIZE).arena_questions.filter(battle=None)
    question: Question = get_object_or_404(rows.select_related("collection"), pk=step_id)
    return question


def spec_of(collection: Collection, answering: Answering, fields: Row) -> SystemSpec:
    """Return the system that a request names; its model is the collection's own where it names none.

    Raises RequestProblem (422) for parts that do not go together, or without a model that is needed.
    """
    llm, backend = fields["llm"], fields["backend"]
    if own := writer_of(collection):
        is_own = llm in ("", own.llm) and backend in ("", own.backend)
        llm, backend = (own.llm, own.backend) if is_own else (llm, backend)
    try:
        return SystemSpec(
            answering,
            runs=tuple(fields.get("runs", ())),
            corpus=fields["corpus"],
            depth=fields["hits"],
            rerank_passes=fields["rerank_passes"],
            rating_prompt=fields["rating_prompt"],
            sources=fields.get("topk", 0),
            max_words=fields.get("max_words", MAX_WORDS),
            backend=backend,
            llm=llm,
        )
    except ValueError as error:
        hint = "" if backend and llm else ": say its backend and llm"
        raise RequestProblem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{error}{hint}") from error


def limits_of(collection: Collection, spec: SystemSpec, queries: int, fields: Row) -> Limits:
    """Return the limits that a request names, else twice what is expected.

    Raises ValidationError where the model has no price and no limit on calls is named.
    """
    expected = price(collection, spec, queries)
    if not expected.calls:
        return Limits(1)
    initial: Row = dict(LimitsForm(expected.of_model).initial)
    named = {name: fields[name] for name in initial if fields.get(name) is not None}
    form = LimitsForm(expected.of_model, initial | named)
    require_valid(form)
    return form.limits


def _started(collection: Collection, spec: SystemSpec, fields: Row, view: Resource) -> Response:
    """Start the job, and answer with its address."""
    token = view.request.auth
    if isinstance(token, Token) and Token.Scope.ORGANIZE not in token.scopes:
        raise PermissionDenied(f"This token lacks the scope {Token.Scope.ORGANIZE}.")
    limits = limits_of(collection, spec, 1, fields)
    question = answer_once(
        collection, fields["query"], spec, candidates=fields.get("candidates"), limits=limits, by=view.person
    )
    return made(step_document(question), HTTPStatus.ACCEPTED, "step", collection.slug, question.pk)


def step_document(question: Question) -> Row:
    chunk = question.chunks.get()
    spec, given = chunk.made_by, chunk.request.get("candidates")
    document: Row = {**LimitedWorkSerializer(question).data, "method": spec.method}
    reranked = generated = None
    if chunk.result is not None and question.state == Job.State.DONE:
        query = Topic(chunk.request.get("qid", ""), question.text)
        made = made_from_json(chunk.result, "", query.query_id)
        if made.answer is None:
            reranked = _retrieved(question.collection, query, made.ranking, spec.corpus, given)
        else:
            generated = _answer(query, made.answer)
    return document | {"reranked": reranked, "generated": generated}


def _ranked(collection: Collection, query: Topic, fields: Row) -> Ranking:
    index = open_corpus(fields["corpus"]) if fields["corpus"] else index_of(collection)
    return index.search(query, depth=fields["hits"])


def _sources(collection: Collection, spec: SystemSpec, fields: Row) -> list[Source]:
    """Return the candidates that were sent, or those that are retrieved, as many as are read."""
    if "candidates" in fields:
        return sources_sent(fields["candidates"])[: spec.n_sources]
    ranking = _ranked(collection, fields["query"], {**fields, "hits": spec.n_sources})
    return sources_of(collection, ranking.doc_ids, fields["corpus"])


def _retrieved(
    collection: Collection, query: Topic, ranking: Ranking, corpus: str, given: list[Any] | None = None
) -> Row:
    """Return the ranking as a request of rerankers, with the texts that were sent, or else those here."""
    doc_ids = ranking.doc_ids
    texts: dict[str, Passage | PassageEntry] = {}
    if given is not None:
        texts |= {entry.doc_id: entry for entry in entries_sent(given)}
    else:
        if corpus:
            texts |= {entry.doc_id: entry for entry in open_corpus(corpus).passages(list(doc_ids))}
        texts |= {row.doc_id: row for row in collection.passages.filter(doc_id__in=doc_ids)}
    candidates = [
        {"docid": doc_id, "score": score, "doc": SegmentDocument(texts[doc_id]).data}
        for doc_id, score in zip(doc_ids, ranking.scores, strict=True)
        if doc_id in texts
    ]
    return {"query": {"qid": query.query_id, "text": query.text}, "candidates": candidates}


def _answer(query: Topic, answer: Answer) -> Row:
    return {"topic_id": query.query_id, "topic": query.text, **extractive.document(answer)}
