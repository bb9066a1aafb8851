"""Labels of support: whether what a sentence cites supports it, as models and people say."""

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
from rubricweb.accounts import roles
from rubricweb.api.base import ListResource, Resource, Row, documents
from rubricweb.api.idempotency import KEY, done_once
from rubricweb.api.models import Token
from rubricweb.core.http import MAX_ID
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.support import actions, labelling
from rubricweb.support.labelling import Card
from rubricweb.support.labels import Citation
from rubricweb.support.models import SupportEvent, SupportLabel

LABELS = [label.value for label in Support]
LABEL_HELP = "2 for full support, 1 for partial, 0 for none"
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


class NewSupportLabel(serializers.Serializer[Any]):
    topic = serializers.CharField(help_text="The topic's `query_id`.")
    sentence_md5 = serializers.RegexField(r"^[0-9a-f]{32}$", help_text=MD5)
    doc_id = serializers.CharField(max_length=300)
    label = serializers.ChoiceField(  # type: ignore[assignment]  # the metaclass takes fields away
        choices=LABELS, help_text=LABEL_HELP
    )
    seen_judge = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ID, help_text="Whose label the person saw first."
    )


class CardDocument(serializers.Serializer[Card]):
    """A citation that you have not labelled."""

    topic = serializers.CharField(source="topic.query_id")
    sentence_md5 = serializers.CharField(source="citation.sentence_md5")
    doc_id = serializers.CharField(source="citation.doc_id")
    sentence = serializers.CharField(source="statement.text")
    passage = serializers.CharField(source="passage.text")
    shown_judge = serializers.IntegerField(
        source="shown.judge_id", default=None, allow_null=True, help_text="Null: label from scratch."
    )
    shown_label = serializers.IntegerField(source="shown.label", default=None, allow_null=True)


class SupportLabels(ListResource):
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
        collection, fields = self.collection(needed=roles.TO_ASSESS), self.fields(NewSupportLabel)
        topic = get_object_or_404(collection.topics, query_id=fields["topic"])
        citation = Citation(topic.pk, fields["sentence_md5"], fields["doc_id"])
        if not labelling.is_known(collection, citation):
            raise Http404("No answer cites this document there, or it has no text.")
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


class SupportNext(Resource):
    """The next citations that you have not labelled."""

    @extend_schema(responses=CardDocument(many=True), operation_id="support_next")
    def get(self, request: Request, slug: str) -> Response:
        """Get the next citations to label."""
        collection = self.collection(needed=roles.TO_ASSESS)
        return Response(documents(CardDocument, labelling.next_cards(collection, self.person)))
