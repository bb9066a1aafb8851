"""Answers from OpenTelemetry traces: OTLP as JSON, with attributes of the conventions for generative AI.

A line is what the file exporter of the collector writes, `{"resourceSpans": [{"resource": {"attributes"},
"scopeSpans": [{"spans": [{"traceId", "spanId", "parentSpanId", "startTimeUnixNano", "attributes"}]}]}]}`, by
the JSON encoding of https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. Of a span we read
`gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.retrieval.query.text` and
`gen_ai.retrieval.documents`, values or JSON texts, of the span itself or of one of its events:
https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/registry/attributes/gen-ai.md
Systems write them only where capturing of content is switched on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import JsonDict, in_words, json_value
from grading.formats.responses.traces import QUERY_ID, RUN, TraceStep, read_traces, text_of_role

SHAPE = (
    "OTLP traces as JSON, {resourceSpans: [{resource, scopeSpans: [{spans}]}]}, with gen_ai.output.messages"
)
OTHER_SIGNALS = ("resourceLogs", "resourceMetrics")
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
QUERY, DOCUMENTS = "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents"
OPERATION, VERSION = "gen_ai.operation.name", "service.version"
NO_ANSWERS = frozenset({"embeddings", "execute_tool", "retrieval"})
"""Operations whose output is no answer."""


def _steps(content: JsonDict) -> Iterator[TraceStep]:
    if "resourceSpans" not in content:
        if any(signal in content for signal in OTHER_SIGNALS):
            return
        raise BadFormat(f"resourceSpans is missing, expected {SHAPE}")
    for resource_spans in _objects(content, "resourceSpans"):
        resource = resource_spans.get("resource", {})
        shared = _attributes(_object(resource, "resource"), "resource.attributes")
        for scope_spans in _objects(resource_spans, "scopeSpans"):
            for span in _objects(scope_spans, "spans"):
                yield _step(span, shared)


def _step(span: JsonDict, shared: JsonDict) -> TraceStep:
    own = _attributes(span, "attributes")
    for event in _objects(span, "events"):
        own = _attributes(event, "events.attributes") | own
    values = shared | own
    answer = ""
    if OUTPUT in own and _text(own, OPERATION) not in NO_ANSWERS:
        answer = text_of_role(_decoded(own, OUTPUT), "assistant", what=OUTPUT)
    question = text_of_role(_decoded(own, INPUT), "user", what=INPUT) if INPUT in own else _text(own, QUERY)
    return TraceStep(
        trace_id=_id(span, "traceId"),
        step_id=_id(span, "spanId"),
        parent_id=_text(span, "parentSpanId"),
        started=_nanoseconds(span),
        question=question,
        answer=answer,
        query_id=_text(values, QUERY_ID),
        run=_text(values, RUN) or _text(values, VERSION),
        retrieved=dict(_retrieved(own)),
    )


def _retrieved(values: JsonDict) -> Iterator[tuple[str, str]]:
    if DOCUMENTS not in values:
        return
    documents = _decoded(values, DOCUMENTS)
    if not isinstance(documents, list):
        raise BadFormat(f"{DOCUMENTS} is {in_words(documents)}, expected a list of {{id, score}}")
    for document in documents:
        doc_id = _object(document, DOCUMENTS).get("id")
        if isinstance(doc_id, str) and doc_id:
            yield doc_id, _text(document, "content")


def _decoded(values: JsonDict, key: str) -> object:
    """Return a structured attribute, which may be a JSON text."""
    value = values[key]
    if not isinstance(value, str):
        return value
    try:
        return json_value(value, shape="JSON")
    except BadFormat as error:
        raise BadFormat(f"{key} is no JSON: {error.problem}") from error


def _attributes(holder: JsonDict, what: str) -> JsonDict:
    """Return the values of a list of {key, value} by key."""
    return _by_key(_objects(holder, "attributes"), what)


def _by_key(pairs: Iterable[JsonDict], what: str) -> JsonDict:
    values = {}
    for pair in pairs:
        if not isinstance(pair.get("key"), str):
            raise BadFormat(f"{what} has {in_words(pair.get('key'))} as a key, expected text")
        values[pair["key"]] = _value(pair.get("value"), what)
    return values


def _value(value: object, what: str) -> object:
    """Return what an AnyValue of OTLP holds; None where it is empty."""
    if not isinstance(value, Mapping):
        raise BadFormat(f"{what} has {in_words(value)} as a value, expected an object such as stringValue")
    if "arrayValue" in value:
        entries = _objects(_object(value["arrayValue"], what), "values")
        return [_value(entry, what) for entry in entries]
    if "kvlistValue" in value:
        return _by_key(_objects(_object(value["kvlistValue"], what), "values"), what)
    return next(iter(value.values()), None)


def _objects(holder: JsonDict, key: str) -> list[JsonDict]:
    listed = holder.get(key) or []
    if not isinstance(listed, list):
        raise BadFormat(f"{key} is {in_words(listed)}, expected a list")
    return [_object(entry, key) for entry in listed]


def _object(value: object, what: str) -> JsonDict:
    if not isinstance(value, dict):
        raise BadFormat(f"{what} is {in_words(value)}, expected an object")
    return value


def _id(span: JsonDict, key: str) -> str:
    value = _text(span, key)
    if not value:
        raise BadFormat(f"{key} of a span is missing, expected a hexadecimal id")
    return value


def _text(holder: JsonDict, key: str) -> str:
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise BadFormat(f"{key} is {in_words(value)}, expected text")
    return (value or "").strip()


def _nanoseconds(span: JsonDict) -> str:
    value = span.get("startTimeUnixNano", 0)
    digits = str(value)
    if isinstance(value, bool) or not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise BadFormat(f"startTimeUnixNano is {in_words(value)}, expected a whole number of nanoseconds")
    return digits.zfill(20)


def _recognises(sample: Sample) -> bool:
    return any("resourceSpans" in content for content in sample.objects)


OTEL = Format(
    "otel-traces",
    "OpenTelemetry traces",
    Content.RESPONSES,
    _recognises,
    partial(read_traces, steps_of=_steps, shape=SHAPE),
    None,
    is_lossless=False,
    source="OTLP JSON, semantic conventions for generative AI",
)
