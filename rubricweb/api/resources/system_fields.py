"""What requests for the steps of a system say, and what is answered, in the I/O of Ragnarök."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from grading.systems import MAX_WORDS, retrieval
from grading.systems.pipeline import MOST_PASSES, Answering
from grading.systems.reranking import rating_prompts
from grading.types import Topic
from rubricweb.api.resources.jobs import LimitedWorkSerializer
from rubricweb.arena.models import Question
from rubricweb.corpus.writers import writer_choices
from rubricweb.jobs.limits import MOST_CALLS
from rubricweb.systems.make import DEEPEST, MOST_SOURCES, MOST_WORDS
from rubricweb.systems.retrieval import corpus_names, sources_sent

LONGEST_QUERY = Question._meta.get_field("text").max_length or 0
NUL = "\0"
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
        if len(text.strip()) > LONGEST_QUERY or NUL in f"{qid}{text}":
            raise serializers.ValidationError(f"Expected at most {LONGEST_QUERY:,} characters, and no NUL.")
        return Topic(str(qid), text.strip())


class CandidatesField(serializers.ListField):
    """Candidates as `retrieve` gives them."""

    child = serializers.JSONField()

    def to_internal_value(self, data: Any) -> list[Any]:
        candidates: list[Any] = super().to_internal_value(data)
        if any(NUL in text for text in _texts(candidates)):
            raise serializers.ValidationError("A text has a NUL.")
        sources_sent(candidates)
        return candidates


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            yield from _texts(part)


class QueryDocument(serializers.Serializer[Any]):
    qid = serializers.CharField(allow_blank=True)
    text = serializers.CharField()


class SegmentDocument(serializers.Serializer[Any]):
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


class RetrievalFields(serializers.Serializer[Any]):
    hits = serializers.IntegerField(
        default=retrieval.DEPTH,
        min_value=1,
        max_value=DEEPEST,
        help_text="Passages to retrieve, or to rerank.",
    )
    corpus = serializers.CharField(
        default="", allow_blank=True, help_text="A corpus on disk; empty for the collection's passages."
    )

    def validate_corpus(self, corpus: str) -> str:
        names = corpus_names()
        if corpus and corpus not in names:
            raise serializers.ValidationError(f"Expected one of {', '.join(names) or 'there is none'}.")
        return corpus


class ModelFields(serializers.Serializer[Any]):
    llm = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="The model; the collection's own by default."
    )
    backend = serializers.ChoiceField(
        choices=writer_choices(), default="", allow_blank=True, help_text="That of the collection by default."
    )
    most_calls = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_CALLS,
        help_text="Of the model; twice what is expected by default. Needed where the model has no price.",
    )
    most_dollars = serializers.FloatField(
        required=False, min_value=0, max_value=1e6, help_text="Twice what is expected by default."
    )


class RerankingFields(ModelFields, RetrievalFields):
    rerank_passes = serializers.IntegerField(
        default=0, min_value=0, max_value=MOST_PASSES, help_text="Passes of listwise reranking."
    )
    rating_prompt = serializers.ChoiceField(
        choices=[*rating_prompts()], default="", allow_blank=True, help_text="Rerank by its ratings instead."
    )


class GenerationFields(RerankingFields):
    topk = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_SOURCES, help_text="Passages to answer from."
    )
    max_words = serializers.IntegerField(default=MAX_WORDS, min_value=1, max_value=MOST_WORDS)


class RetrieveRequest(RetrievalFields):
    query = QueryField()


class RetrieveDocument(serializers.Serializer[Any]):
    """What rerankers and `generate` take."""

    query = QueryDocument()
    candidates = CandidateDocument(
        many=True, help_text="The best first, by BM25 (k1 0.9, b 0.4), or as they were reranked."
    )


class RerankRequest(RerankingFields):
    query = QueryField()
    candidates = CandidatesField(
        required=False,
        max_length=DEEPEST,
        help_text="As `retrieve` gives them, in their order; retrieved where they are not sent.",
    )


class GenerateRequest(GenerationFields, RerankRequest):
    method = serializers.ChoiceField(
        choices=[answering.value for answering in Answering],
        required=False,
        help_text="`ragnarok` where a model is named, else `sentences`, which asks none; not `none`.",
    )

    def validate_method(self, method: str) -> str:
        if method == Answering.NONE:
            raise serializers.ValidationError("It gives no answer: use rerank/.")
        return method


class AnswerSentenceDocument(serializers.Serializer[Any]):
    text = serializers.CharField()
    citations = serializers.ListField(
        child=serializers.IntegerField(), help_text="Places in `references`, from 0."
    )


class GenerateDocument(serializers.Serializer[Any]):
    topic_id = serializers.CharField(allow_blank=True)
    topic = serializers.CharField()
    references = serializers.ListField(child=serializers.CharField())
    answer = AnswerSentenceDocument(many=True)
    response_length = serializers.IntegerField(help_text="Characters of all sentences.")


class StepDocument(LimitedWorkSerializer):
    """A step that workers do."""

    method = serializers.CharField(help_text="In words.")
    reranked = RetrieveDocument(allow_null=True, help_text="Null until it is done, or of an answer.")
    generated = GenerateDocument(allow_null=True, help_text="Null until it is done, or of a reranking.")
