"""Answers from traces and observations that Langfuse exports, as JSON or one JSON object a line.

Rows of its tables have the fields of https://langfuse.com/docs/api-and-data-platform/features/export-from-ui
(`traceId`, `parentObservationId`, `startTime`), files of its blob storage those of
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields (`trace_id`...), and one
downloaded trace is an object of `trace` and `observations`. Input and output are whatever a system put there:
text, messages of role and content, or an object of which we read the fields in QUESTIONS and ANSWERS; each
may be a JSON text. Observations of type RETRIEVER have a list of documents as output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import JsonDict, in_words, json_value
from grading.formats.responses.traces import QUERY_ID, RUN, TraceStep, message_text, read_traces, text_of_role
from grading.types import text_md5

SHAPE = "traces or observations of Langfuse, {id, input, output, ...}, or {trace, observations}"
QUESTIONS = ("question", "query", "input", "messages", "kwargs", "args", "prompt")
ANSWERS = ("answer", "output", "response", "messages", "choices", "message", "content", "text")
DOCUMENTS = ("documents", "results", "output")
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


def _steps(content: JsonDict) -> Iterator[TraceStep]:
    if isinstance(content.get("trace"), dict):
        content = content["trace"] | {"observations": content.get("observations", [])}
    trace_id = _field(content, "traceId", "trace_id")
    if trace_id:
        yield _observation(content, trace_id)
        return
    trace_id = _field(content, "id")
    if not trace_id:
        raise BadFormat(f"id is missing, expected {SHAPE}")
    yield _step(content, trace_id, trace_id, "", is_answering=True)
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
    step = _step(content, trace_id, step_id, parent, is_answering=kind in ANSWERING)
    if kind != "RETRIEVER":
        return step
    return replace(step, retrieved=dict(_retrieved(_decoded(content.get("output")))))


def _step(content: JsonDict, trace_id: str, step_id: str, parent_id: str, *, is_answering: bool) -> TraceStep:
    metadata = _decoded(content.get("metadata"))
    described = metadata if isinstance(metadata, dict) else {}
    return TraceStep(
        trace_id=trace_id,
        step_id=step_id,
        parent_id=parent_id,
        started=_field(content, "startTime", "start_time", "timestamp"),
        question=_text(content.get("input"), "user", QUESTIONS, what="input"),
        answer=_text(content.get("output"), "assistant", ANSWERS, what="output") if is_answering else "",
        query_id=_field(described, QUERY_ID),
        run=_field(described, RUN) or _field(content, "release") or _field(content, "version"),
    )


def _text(value: object, role: str, keys: tuple[str, ...], *, what: str, depth: int = 0) -> str:
    """Return the text of an input or output; empty where it has none that we know."""
    if isinstance(value, str):
        decoded = _decoded(value)
        return value.strip() if decoded is value else _text(decoded, role, keys, what=what, depth=depth + 1)
    if depth > DEEPEST:
        return ""
    if isinstance(value, list):
        if any(isinstance(entry, Mapping) and "role" in entry for entry in value):
            return text_of_role(value, role, what=what)
        texts = (_text(entry, role, keys, what=what, depth=depth + 1) for entry in value)
        return next(filter(None, texts), "")
    if not isinstance(value, Mapping):
        return ""
    if "role" in value:
        return message_text(value, what=what)
    texts = (_text(value[key], role, keys, what=what, depth=depth + 1) for key in keys if key in value)
    return next(filter(None, texts), "")


def _retrieved(output: object) -> Iterator[tuple[str, str]]:
    """Yield id and text of the documents of a retriever; one without an id has the md5 of its text."""
    if isinstance(output, Mapping):
        output = next((output[key] for key in DOCUMENTS if isinstance(output.get(key), list)), [])
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


def _recognises(sample: Sample) -> bool:
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
    _recognises,
    partial(read_traces, steps_of=_steps, shape=SHAPE),
    None,
    is_lossless=False,
    source="Langfuse, exports of tables and of blob storage",
)
