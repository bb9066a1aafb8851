"""Graders beside people: calibration cards, and labels of support."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from grading.support import Support
from grading.types import CONTRADICTS
from rubricweb.accounts import roles
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.api.resources import ListResource, Resource, Row, documents, made
from rubricweb.core.http import MAX_ID
from rubricweb.corpus.pseudonyms import assessor_pseudonym, sees_names, shown_names
from rubricweb.graders.calibration import card_document, card_for, pairs
from rubricweb.graders.calibration_cards import TooFewCells, make_card
from rubricweb.graders.models import CalibrationCard
from rubricweb.support import actions, labelling
from rubricweb.support.labels import PEOPLE, CitationKey, imported
from rubricweb.support.models import LabelledAnswer, SupportEvent, SupportLabel


class CardSerializer(serializers.Serializer[CalibrationCard]):
    id = serializers.IntegerField(source="pk")
    bank = serializers.IntegerField(source="bank_id")
    grader = serializers.CharField(source="config.fingerprint", help_text="Its fingerprint.")
    made = serializers.DateTimeField(source="at")


class NewCard(serializers.Serializer[Any]):
    bank = serializers.IntegerField(help_text="The id of a rubric.")
    grader = serializers.CharField(help_text="The fingerprint of a grader with grades of its items.")


class EstimateDocument(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class RatingRowDocument(serializers.Serializer[Any]):
    rating = serializers.IntegerField()
    cells = serializers.IntegerField()
    human_rating = EstimateDocument(help_text="The mean rating of people.")
    reached = EstimateDocument(help_text="The share that people rate at the threshold or above.")


class BiasDocument(serializers.Serializer[Any]):
    name = serializers.CharField()
    cells = serializers.IntegerField()
    bias = EstimateDocument(help_text="The grader's rating less that of people.")
    beyond_others = EstimateDocument()
    p = serializers.FloatField(allow_null=True)
    is_clear = serializers.BooleanField()


class CalibrationDocument(serializers.Serializer[Any]):
    id = serializers.IntegerField(required=False, help_text="Of a card that was just made.")
    collection = serializers.CharField()
    bank = serializers.CharField()
    items = serializers.IntegerField()
    grader = serializers.DictField(child=serializers.CharField(allow_blank=True))
    made = serializers.DateTimeField()
    is_current = serializers.BooleanField()
    items_changed = serializers.IntegerField()
    sample = serializers.DictField(help_text="Pairs, topics and raters, and when they rated.")
    level = serializers.FloatField(help_text="Of all intervals: 0.95.")
    min_grade = serializers.IntegerField()
    kappa = EstimateDocument()
    same = EstimateDocument(help_text="The share of pairs with the same rating.")
    near = EstimateDocument(help_text="The share with a rating at most 1 apart.")
    bias = EstimateDocument()
    by_rating = RatingRowDocument(many=True)
    labels = serializers.DictField(
        required=False,
        help_text="Labels calibrated by people: what each grade is worth, how they order the runs.",
    )
    groups = serializers.DictField(help_text="How many groups were compared, and by which rule.")
    by_length = BiasDocument(many=True)
    by_runs = BiasDocument(many=True, required=False, help_text="For those who see the names of runs.")


class Cards(ListResource):
    """The calibration cards of a collection, also stale ones. POST compares a grader with people, now."""

    serializer_class = CardSerializer
    scopes = {"POST": Token.Scope.EDIT}

    def rows(self) -> QuerySet[Any]:
        """Return those of the collection."""
        return CalibrationCard.objects.filter(bank__collection=self.collection())

    @extend_schema(request=NewCard, parameters=[KEY], responses={201: CalibrationDocument})
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Compare a grader with people."""
        collection = self.collection(needed=roles.TO_EDIT_BANK)
        fields = self.fields(NewCard)
        requested = (fields["bank"], fields["grader"])
        pair = next(
            (
                offered
                for offered in pairs(collection)
                if (offered[0].pk, offered[1].fingerprint) == requested
            ),
            None,
        )
        if pair is None:
            raise serializers.ValidationError({"grader": ["This grader has not graded that rubric."]})
        try:
            card = make_card(*pair, by=self.person)
        except TooFewCells as error:
            raise serializers.ValidationError({"grader": [str(error)]}) from error
        document = card_document(card, with_runs=sees_names(self.person, collection))
        return made({"id": card.pk, **document}, HTTPStatus.CREATED, "calibration-card", slug, card.pk)


class CardResource(Resource):
    """One card, and whether it is current."""

    @extend_schema(responses=CalibrationDocument)
    def get(self, request: Request, slug: str, card_id: int) -> Response:
        """Get a calibration card."""
        collection = self.collection()
        card = card_for(self.person, slug, card_id)
        document = card_document(card, with_runs=sees_names(self.person, collection))
        return Response({"id": card.pk, **document})


LABELS = [label.value for label in reversed(Support)]
LABEL_HELP = f"2 for full support, 1 for partial, 0 for none, {CONTRADICTS} for contradicts"
MD5 = "Of the stripped sentence, in hexadecimal."


class CitationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    topic = serializers.CharField(source="topic.query_id")
    sentence_md5 = serializers.CharField(help_text=MD5)
    doc_id = serializers.CharField()


class SupportEventSerializer(CitationSerializer):
    """What a person said of a citation. The latest event of a person counts."""

    person = serializers.CharField(source="by_id", help_text="A pseudonym.")
    label = serializers.IntegerField(  # type: ignore[assignment]  # the metaclass takes fields away
        allow_null=True, help_text=f"{LABEL_HELP}; null where it is withdrawn."
    )
    seen_label = serializers.IntegerField(allow_null=True, help_text="Of a model, which they saw first.")
    at = serializers.DateTimeField()


class SupportLabelSerializer(CitationSerializer):
    """What a model said of a citation."""

    llm = serializers.CharField(source="judge.llm")
    backend = serializers.CharField(source="judge.backend")
    prompt_id = serializers.CharField(source="judge.prompt_id")
    label = serializers.IntegerField(  # type: ignore[assignment]  # the metaclass takes fields away
        allow_null=True, help_text=f"{LABEL_HELP}; null where its reply has none."
    )
    reply = serializers.CharField()
    at = serializers.DateTimeField()


class AnswerLabelsSerializer(serializers.Serializer[LabelledAnswer]):
    """The labels that a file has of one answer, each in its place."""

    id = serializers.IntegerField(source="pk")
    response = serializers.IntegerField(source="response_id", help_text="Its id in `responses/`.")
    run = serializers.CharField(
        source="response.run.run_tag",
        help_text="A pseudonym for assessors and viewers, unless names are shown.",
    )
    topic = serializers.CharField(source="response.topic.query_id")
    by = serializers.CharField(source="judge.llm", help_text="`people`, or the name of a grader.")
    after_prediction_of = serializers.CharField(
        help_text="The model whose labels people corrected; empty where they labelled from scratch."
    )
    labels = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text=f"By sentence and citation of the response: {LABEL_HELP}, -1 where the file has none.",
    )


class NewSupportLabel(serializers.Serializer[Any]):
    topic = serializers.CharField(help_text="The topic's `query_id`.")
    sentence_md5 = serializers.RegexField(r"^[0-9a-f]{32}$", help_text=MD5)
    doc_id = serializers.CharField(max_length=300)
    label = serializers.ChoiceField(  # type: ignore[assignment]  # the metaclass takes fields away
        choices=LABELS, help_text=f"{LABEL_HELP}, where the collection has that label."
    )
    seen_judge = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ID, help_text="Whose label the person saw first."
    )


class CardDocument(serializers.Serializer[labelling.CitationCard]):
    """A citation that you have not labelled."""

    topic = serializers.CharField(source="topic.query_id")
    sentence_md5 = serializers.CharField(source="citation.sentence_md5")
    doc_id = serializers.CharField(source="citation.doc_id")
    sentence = serializers.CharField(source="statement.text")
    passage = serializers.CharField(source="passage.text")
    shown_judge = serializers.IntegerField(
        source="model_label.judge_id", default=None, allow_null=True, help_text="Null: label from scratch."
    )
    shown_label = serializers.IntegerField(source="model_label.label", default=None, allow_null=True)


class SupportEvents(ListResource):
    """What people said of citations, event by event. A POST adds what you say."""

    serializer_class = SupportEventSerializer
    scopes = {"POST": Token.Scope.ASSESS}

    def rows(self) -> QuerySet[Any]:
        return SupportEvent.objects.filter(topic__collection=self.collection())

    def adjusted(self, rows: list[Row]) -> list[Row]:
        collection = self.collection()
        return [{**row, "person": assessor_pseudonym(collection, row["person"])} for row in rows]

    @extend_schema(request=NewSupportLabel, responses={201: SupportEventSerializer}, parameters=[KEY])
    @done_once
    def post(self, request: Request, slug: str) -> Response:
        """Label a citation."""
        collection, fields = self.collection(needed=roles.TO_LABEL), self.fields(NewSupportLabel)
        topic = get_object_or_404(collection.topics, query_id=fields["topic"])
        citation = CitationKey(topic.pk, fields["sentence_md5"], fields["doc_id"])
        if not labelling.is_known(collection, citation):
            raise Http404("No answer cites this document there, or it has no text.")
        if fields["label"] not in (offered := labelling.offered_labels(collection)):
            there = ", ".join(str(label.value) for label in reversed(offered))
            problem = f"{fields['label']}, expected {there}: people do not label contradictions here."
            raise serializers.ValidationError({"label": [problem]})
        seen = labelling.label_of_judge(collection, citation, fields.get("seen_judge"))
        event = actions.label_citation(citation, label=Support(fields["label"]), by=self.person, seen=seen)
        document = {
            **SupportEventSerializer(event).data,
            "person": assessor_pseudonym(collection, self.person.pk),
        }
        return Response(document, HTTPStatus.CREATED)


class SupportModelLabels(ListResource):
    """What models said of citations."""

    serializer_class = SupportLabelSerializer

    def rows(self) -> QuerySet[Any]:
        return SupportLabel.objects.filter(topic__collection=self.collection())


class SupportAnswerLabels(ListResource):
    """Labels that came with files, by answer. They count for that answer alone."""

    serializer_class = AnswerLabelsSerializer

    def rows(self) -> QuerySet[Any]:
        collection = self.collection()
        return imported(collection).filter(response__run__in=collection.runs.accepted())

    def adjusted(self, rows: list[Row]) -> list[Row]:
        names = shown_names(self.collection().pk, tuple(row["run"] for row in rows))
        pairs = zip(rows, names, strict=True)
        return [{**row, "run": name, "by": row["by"] or PEOPLE} for row, name in pairs]


class SupportNext(Resource):
    """The next citations that you have not labelled."""

    @extend_schema(responses=CardDocument(many=True), operation_id="support_next")
    def get(self, request: Request, slug: str) -> Response:
        """Get the next citations to label."""
        collection = self.collection(needed=roles.TO_LABEL)
        return Response(documents(CardDocument, labelling.next_cards(collection, self.person)))
