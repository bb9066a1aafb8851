"""One answer, graded by the items of a topic while its sender waits."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.segmentation import PassagesOf
from grading.types import Outcome
from rubricweb.api.models import Token
from rubricweb.api.requests import RequestProblem
from rubricweb.api.resources import Resource, Row
from rubricweb.api.resources.jobs import CostLimits, JobSerializer, PriceDocument, check_price
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades import access, actions, one_answer, selectors
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.price import price
from rubricweb.grades.models import Grade, GradingJob

LONGEST = 50_000
"""Characters of an answer, or of a passage that it cites."""
MOST_CITATIONS = 50
LONGEST_WAIT = 30.0


class AnswerCitation(serializers.Serializer[Any]):
    """A passage of the collection by its `doc_id`, or any other by its `text`."""

    doc_id = serializers.CharField(required=False)
    text = serializers.CharField(required=False, max_length=LONGEST)

    def validate(self, attrs: Row) -> Row:
        if len(attrs) != 1:
            raise serializers.ValidationError("Expected `doc_id` or `text`.")
        return attrs


class AnswerRequest(CostLimits):
    """An answer to a topic, which is named by `topic` or `question`."""

    topic = serializers.CharField(required=False, help_text="The topic's `query_id`.")
    question = serializers.CharField(required=False, help_text="The topic's text.")
    text = serializers.CharField(max_length=LONGEST, help_text="The answer.")
    citations = serializers.ListField(
        child=AnswerCitation(),
        required=False,
        max_length=MOST_CITATIONS,
        help_text="Passages that it cites; graded, too.",
    )
    bank = serializers.IntegerField(required=False, help_text="The id of a rubric; the first by default.")
    passages_of = serializers.ChoiceField(
        choices=[each.value for each in PassagesOf],
        default=PassagesOf.SENTENCE.value,
        help_text="What of the answer is graded as one passage.",
    )
    retry_failed = serializers.BooleanField(default=False, help_text="Grade pairs anew that failed.")
    wait = serializers.FloatField(
        default=20.0, min_value=0, max_value=LONGEST_WAIT, help_text="Seconds until the answer is 202."
    )

    def validate(self, attrs: Row) -> Row:
        if ("topic" in attrs) == ("question" in attrs):
            raise serializers.ValidationError("Expected `topic` or `question`.")
        return attrs


class AnswerPassage(serializers.Serializer[Any]):
    doc_id = serializers.CharField()
    text = serializers.CharField()


class AnswerGrade(serializers.Serializer[Any]):
    doc_id = serializers.CharField()
    grader = serializers.CharField(help_text="Its fingerprint.")
    rating = serializers.IntegerField(allow_null=True)
    outcome = serializers.ChoiceField(choices=Grade.How.choices)
    reason = serializers.CharField(help_text="Of a failure.")


class AnswerItem(serializers.Serializer[Any]):
    item = serializers.CharField(help_text="The id of the wording.")
    kind = serializers.CharField()
    text = serializers.CharField()
    importance = serializers.CharField()
    is_covered = serializers.BooleanField(help_text="By a passage of the answer.")
    is_covered_by_citations = serializers.BooleanField()
    grades = AnswerGrade(many=True)


class AnswerDocument(serializers.Serializer[Any]):
    """The grades of an answer; of items and pairs that you may see."""

    state = serializers.ChoiceField(
        choices=[state.value for state in one_answer.AnswerState],
        help_text="`stopped`: pairs are left that no job grades, as one failed or was cancelled.",
    )
    topic = serializers.CharField()
    bank = serializers.IntegerField()
    grader = serializers.CharField(help_text="Its name.")
    coverage = serializers.FloatField(
        allow_null=True, help_text="Items that the answer covers, of all; null until it is graded."
    )
    citations_coverage = serializers.FloatField(
        allow_null=True, help_text="Items that its citations cover, of all; null without citations."
    )
    failures = serializers.IntegerField(help_text="Pairs whose grading failed; they cover nothing.")
    price = PriceDocument(help_text="Of what this request started; nothing where all was graded before.")
    passages = AnswerPassage(many=True)
    citations = AnswerPassage(many=True)
    items = AnswerItem(many=True)
    jobs = JobSerializer(many=True, help_text="Those that grade it, or that this request started.")


class GradedAnswer(Resource):
    """Grades one answer, and what it cites, by the items of its topic; boards do not change.

    200 with its grades once it is graded, 202 where that takes longer: then send the same again, or look at
    the job of `Location`. Nothing is graded, or paid for, twice: neither the same answer nor one of its
    sentences in another answer.
    """

    scopes = {"POST": Token.Scope.GRADE}

    @extend_schema(
        request=AnswerRequest,
        responses={200: AnswerDocument, 202: AnswerDocument},
        operation_id="answers_grade",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Grade one answer."""
        collection = access.collection_to_grade(self.person, self.collection().slug)
        fields = self.fields(AnswerRequest)
        with transaction.atomic():  # refused, nothing is stored
            answer = _stored(collection, fields)
            plan, failed = answer.plan(), answer.failed() if fields["retry_failed"] else []
            to_grade = [*plan.all, *failed]
            check_price(self.person, collection, lambda: to_grade, fields)
            started = actions.start_plan(plan, by=self.person, priority=GradingJob.Priority.HIGH)
            started += actions.grade_cells(collection, missing=[], failed=failed, by=self.person)
            cost = price(collection, to_grade if started else [], monitor.workers().beats)
        state = one_answer.wait_for(answer, fields["wait"])
        jobs = {job.pk: job for job in (*_again(started), *answer.jobs())}
        document = _document(answer, state) | {"price": cost, "jobs": jobs.values()}
        is_over = state is not one_answer.AnswerState.GRADING
        headers = {} if is_over or not jobs else {"Location": reverse("api:job", args=[slug, min(jobs)])}
        status = HTTPStatus.OK if is_over else HTTPStatus.ACCEPTED
        return Response(AnswerDocument(document).data, status, headers=headers)


def _stored(collection: Collection, fields: Row) -> one_answer.OneAnswer:
    topic, bank = _topic(collection, fields), _bank(collection, fields.get("bank"))
    texts = one_answer.answer_passages(fields["text"], PassagesOf(fields["passages_of"]))
    citations = [
        each["text"] if "text" in each else get_object_or_404(collection.passages, doc_id=each["doc_id"])
        for each in fields.get("citations", ())
    ]
    try:
        return one_answer.store_answer(bank, topic, texts, citations=citations)
    except one_answer.CannotGrade as error:
        raise RequestProblem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def _topic(collection: Collection, fields: Row) -> Topic:
    if "topic" in fields:
        topic: Topic = get_object_or_404(collection.topics, query_id=fields["topic"])
        return topic
    named = one_answer.topic_asked(collection, fields["question"])
    if named is None:
        raise Http404("No topic has this text, or several have: name one by `topic`.")
    return named


def _bank(collection: Collection, bank_id: int | None) -> Bank:
    banks = selectors.banks(collection)
    bank = next((bank for bank in banks if bank_id in (None, bank.pk)), None)
    if bank is None:
        raise Http404("There is no such rubric.")
    return bank


def _again(jobs: list[GradingJob]) -> list[GradingJob]:
    return list(GradingJob.objects.filter(pk__in=[job.pk for job in jobs]).select_related("config"))


def _document(answer: one_answer.OneAnswer, state: one_answer.AnswerState) -> Row:
    items = answer.items()
    is_graded = state is one_answer.AnswerState.GRADED
    covered = one_answer.cover(item.is_covered for item in items)
    cited = one_answer.cover(item.is_covered_by_citations for item in items)
    rows = [_item(item) for item in items]
    return {
        "state": state.value,
        "topic": answer.topic.query_id,
        "bank": answer.bank.pk,
        "grader": answer.rater.name,
        "coverage": covered if is_graded else None,
        "citations_coverage": cited if is_graded and answer.cited else None,
        "failures": sum(grade["outcome"] == Outcome.FAILED for row in rows for grade in row["grades"]),
        "passages": answer.own,
        "citations": answer.cited,
        "items": rows,
    }


def _item(given: one_answer.ItemGrades) -> Row:
    item = given.item
    return {
        "item": item.revision.uid,
        "kind": item.kind,
        "text": item.revision.text,
        "importance": item.importance,
        "is_covered": given.is_covered,
        "is_covered_by_citations": given.is_covered_by_citations,
        "grades": [_grade(passage, grade) for passage, grade in given.grades],
    }


def _grade(passage: Passage, grade: Grade) -> Row:
    return {
        "doc_id": passage.doc_id,
        "grader": grade.config.fingerprint,
        "rating": grade.rating,
        "outcome": grade.outcome,
        "reason": grade.reply if grade.outcome == Outcome.FAILED else "",
    }
