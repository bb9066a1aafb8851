"""Answers from traces that others export: OTLP of OpenTelemetry as JSON, and what Langfuse exports.

A line of OTLP is what the file exporter of the collector writes, `{"resourceSpans": [{"resource":
{"attributes"}, "scopeSpans": [{"spans": [{"traceId", "spanId", "parentSpanId", "startTimeUnixNano",
"attributes"}]}]}]}`, by the JSON encoding of https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.
Of a span we read `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.retrieval.query.text` and
`gen_ai.retrieval.documents`, values or JSON texts, of the span itself or of one of its events:
https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/registry/attributes/gen-ai.md
Systems write them only where capturing of content is switched on.

Langfuse writes traces and observations as JSON or one JSON object a line. Rows of its tables have the fields
of https://langfuse.com/docs/api-and-data-platform/features/export-from-ui (`traceId`,
`parentObservationId`, `startTime`), files of its blob storage those of
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields (`trace_id`...), and one
downloaded trace is an object of `trace` and `observations`. Input and output are whatever a system put there:
text, messages of role and content, or an object of which we read the fields in QUESTIONS and ANSWERS; each
may be a JSON text. Observations of type RETRIEVER have a list of documents as output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import JsonDict, in_words, json_value
from grading.formats.responses.traces import QUERY_ID, RUN, TraceStep, message_text, read_traces, text_of_role
from grading.types import text_md5

OTLP_SHAPE = (
    "OTLP traces as JSON, {resourceSpans: [{resource, scopeSpans: [{spans}]}]}, with gen_ai.output.messages"
)
OTHER_SIGNALS = ("resourceLogs", "resourceMetrics")
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
QUERY, DOCUMENTS = "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents"
OPERATION, VERSION = "gen_ai.operation.name", "service.version"
NO_ANSWERS = frozenset({"embeddings", "execute_tool", "retrieval"})
"""Operations whose output is no answer."""


def _steps_of_spans(content: JsonDict) -> Iterator[TraceStep]:
    if "resourceSpans" not in content:
        if any(signal in content for signal in OTHER_SIGNALS):
            return
        raise BadFormat(f"resourceSpans is missing, expected {OTLP_SHAPE}")
    for resource_spans in _objects(content, "resourceSpans"):
        resource = resource_spans.get("resource", {})
        shared = _attributes(_object(resource, "resource"), "resource.attributes")
        for scope_spans in _objects(resource_spans, "scopeSpans"):
            for span in _objects(scope_spans, "spans"):
                yield _step_of_span(span, shared)


def _step_of_span(span: JsonDict, shared: JsonDict) -> TraceStep:
    own = _attributes(span, "attributes")
    for event in _objects(span, "events"):
        own = _attributes(event, "events.attributes") | own
    values = shared | own
    answer = ""
    if OUTPUT in own and _attribute_text(own, OPERATION) not in NO_ANSWERS:
        answer = text_of_role(_decoded_attribute(own, OUTPUT), "assistant", what=OUTPUT)
    question = (
        text_of_role(_decoded_attribute(own, INPUT), "user", what=INPUT)
        if INPUT in own
        else _attribute_text(own, QUERY)
    )
    return TraceStep(
        trace_id=_id(span, "traceId"),
        step_id=_id(span, "spanId"),
        parent_id=_attribute_text(span, "parentSpanId"),
        started=_nanoseconds(span),
        question=question,
        answer=answer,
        query_id=_attribute_text(values, QUERY_ID),
        run=_attribute_text(values, RUN) or _attribute_text(values, VERSION),
        retrieved=dict(_retrieved_by_span(own)),
    )


def _retrieved_by_span(values: JsonDict) -> Iterator[tuple[str, str]]:
    if DOCUMENTS not in values:
        return
    documents = _decoded_attribute(values, DOCUMENTS)
    if not isinstance(documents, list):
        raise BadFormat(f"{DOCUMENTS} is {in_words(documents)}, expected a list of {{id, score}}")
    for document in documents:
        doc_id = _object(document, DOCUMENTS).get("id")
        if isinstance(doc_id, str) and doc_id:
            yield doc_id, _attribute_text(document, "content")


def _decoded_attribute(values: JsonDict, key: str) -> object:
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
    value = _attribute_text(span, key)
    if not value:
        raise BadFormat(f"{key} of a span is missing, expected a hexadecimal id")
    return value


def _attribute_text(holder: JsonDict, key: str) -> str:
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


OTEL = Format(
    "otel-traces",
    "OpenTelemetry traces",
    Content.RESPONSES,
    lambda sample: any("resourceSpans" in content for content in sample.objects),
    partial(read_traces, steps_of=_steps_of_spans, shape=OTLP_SHAPE),
    None,
    is_lossless=False,
    source="OTLP JSON, semantic conventions for generative AI",
)


LANGFUSE_SHAPE = "traces or observations of Langfuse, {id, input, output, ...}, or {trace, observations}"
QUESTIONS = ("question", "query", "input", "messages", "kwargs", "args", "prompt")
ANSWERS = ("answer", "output", "response", "messages", "choices", "message", "content", "text")
RETRIEVED = ("documents", "results", "output")
ANSWERING = frozenset({"SPAN", "GENERATION", "AGENT", "CHAIN"})
"""Types of observations whose output may be the answer."""
TRACE_FIELDS = frozenset(
    {
        "bookmarked",
        "htmlPath",
        "latency",
        "observations",
        "release",
        "sessionId",
        "session_id",
        "tags",
        "userId",
    }
)
DEEPEST = 8
"""Objects in one another in which a text is looked for."""


def _steps_of_observations(content: JsonDict) -> Iterator[TraceStep]:
    if isinstance(content.get("trace"), dict):
        content = content["trace"] | {"observations": content.get("observations", [])}
    trace_id = _field(content, "traceId", "trace_id")
    if trace_id:
        yield _observation(content, trace_id)
        return
    trace_id = _field(content, "id")
    if not trace_id:
        raise BadFormat(f"id is missing, expected {LANGFUSE_SHAPE}")
    yield _step_of_observation(content, trace_id, trace_id, "", is_answering=True)
    observations = content.get("observations") or []
    if not isinstance(observations, list):
        raise BadFormat(f"observations is {in_words(observations)}, expected a list")
    for observation in observations:
        if isinstance(observation, dict):  # a list of traces has the ids alone
            yield _observation(observation, trace_id)


def _observation(content: JsonDict, trace_id: str) -> TraceStep:
    step_id = _field(content, "id")
    if not step_id:
        raise BadFormat("id of an observation is missing, expected text")
    parent = _field(content, "parentObservationId", "parent_observation_id") or trace_id
    kind = _field(content, "type")
    step = _step_of_observation(content, trace_id, step_id, parent, is_answering=kind in ANSWERING)
    if kind != "RETRIEVER":
        return step
    return replace(step, retrieved=dict(_retrieved_documents(_decoded(content.get("output")))))


def _step_of_observation(
    content: JsonDict, trace_id: str, step_id: str, parent_id: str, *, is_answering: bool
) -> TraceStep:
    metadata = _decoded(content.get("metadata"))
    described = metadata if isinstance(metadata, dict) else {}
    return TraceStep(
        trace_id=trace_id,
        step_id=step_id,
        parent_id=parent_id,
        started=_field(content, "startTime", "start_time", "timestamp"),
        question=_text_of(content.get("input"), "user", QUESTIONS, what="input"),
        answer=_text_of(content.get("output"), "assistant", ANSWERS, what="output") if is_answering else "",
        query_id=_field(described, QUERY_ID),
        run=_field(described, RUN) or _field(content, "release") or _field(content, "version"),
    )


def _text_of(value: object, role: str, keys: tuple[str, ...], *, what: str, depth: int = 0) -> str:
    """Return the text of an input or output; empty where it has none that we know."""
    if isinstance(value, str):
        decoded = _decoded(value)
        return (
            value.strip() if decoded is value else _text_of(decoded, role, keys, what=what, depth=depth + 1)
        )
    if depth > DEEPEST:
        return ""
    if isinstance(value, list):
        if any(isinstance(entry, Mapping) and "role" in entry for entry in value):
            return text_of_role(value, role, what=what)
        texts = (_text_of(entry, role, keys, what=what, depth=depth + 1) for entry in value)
        return next(filter(None, texts), "")
    if not isinstance(value, Mapping):
        return ""
    if "role" in value:
        return message_text(value, what=what)
    texts = (_text_of(value[key], role, keys, what=what, depth=depth + 1) for key in keys if key in value)
    return next(filter(None, texts), "")


def _retrieved_documents(output: object) -> Iterator[tuple[str, str]]:
    """Yield id and text of the documents of a retriever; one without an id has the md5 of its text."""
    if isinstance(output, Mapping):
        output = next((output[key] for key in RETRIEVED if isinstance(output.get(key), list)), [])
    for document in output if isinstance(output, list) else []:
        if not isinstance(document, Mapping):
            continue
        metadata = document.get("metadata")
        holders = [document, metadata if isinstance(metadata, Mapping) else {}]
        texts = (document.get(key) for key in ("page_content", "content", "text"))
        text = next((each for each in texts if isinstance(each, str)), "").strip()
        named = (holder.get(key) for holder in holders for key in ("id", "doc_id", "docid"))
        doc_id = next((each for each in named if isinstance(each, str) and each), "")
        if doc_id or text:
            yield doc_id or text_md5(text), text


def _decoded(value: object) -> object:
    """Return the object or list of a JSON text; anything else as it is."""
    if isinstance(value, str) and value.strip().startswith(("{", "[")):
        with suppress(BadFormat):
            return json_value(value, shape="JSON")
    return value


def _field(content: JsonDict, *names: str) -> str:
    for name in names:
        value = content.get(name)
        if value is not None and not isinstance(value, str):
            raise BadFormat(f"{name} is {in_words(value)}, expected text")
        if value:
            return value.strip()
    return ""


def _is_langfuse(sample: Sample) -> bool:
    first = sample.documents[0] if sample.documents else None
    row = next(iter(first), None) if isinstance(first, list) else first
    if not isinstance(row, dict):
        return False
    if isinstance(row.get("trace"), dict) and isinstance(row.get("observations"), list):
        return True
    if "traceId" in row or "trace_id" in row:
        return "id" in row and "type" in row
    return {"id", "input", "output"} <= row.keys() and bool(TRACE_FIELDS & row.keys())


LANGFUSE = Format(
    "langfuse-traces",
    "Langfuse traces and observations",
    Content.RESPONSES,
    _is_langfuse,
    partial(read_traces, steps_of=_steps_of_observations, shape=LANGFUSE_SHAPE),
    None,
    is_lossless=False,
    source="Langfuse, exports of tables and of blob storage",
)
