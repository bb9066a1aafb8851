"""Answers from traces of a system in use: of each trace its last answer, as TREC RAG 2025 would write it.

A trace is a tree of steps, read by `exported_traces`. Its answer is that of the outermost step that has
one, the last of several; its question is that step's. What it retrieved are the references; which sentence
cites what, a trace does not say. The topic is named by `rubric.query_id`, and else known by its question; the
run by `rubric.run`, the version of the service, or the file's name. Of several answers of a run to one topic
the last in the file counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.json_lines import JsonDict, in_words, is_json, json_value
from grading.formats.reading import lines, read_text_file
from grading.formats.responses.inspection import inspect
from grading.segmentation import sentences_of
from grading.types import Response, text_md5

QUERY_ID, RUN = "rubric.query_id", "rubric.run"
"""What a system may say of a trace: in attributes of OpenTelemetry, or in the metadata of Langfuse."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One operation of a trace."""

    trace_id: str
    step_id: str
    parent_id: str
    """Empty for the root."""
    started: str
    """A text that sorts by time."""
    question: str = ""
    answer: str = ""
    query_id: str = ""
    run: str = ""
    retrieved: Mapping[str, str] = field(default_factory=dict)
    """Text by document id, best first; empty where the trace does not have the text."""
    line: int = 1


def read_traces(
    path: Path, steps_of: Callable[[JsonDict], Iterable[TraceStep]], *, shape: str
) -> Iterator[Response]:
    """Yield the answers of a file whose JSON objects `steps_of` reads.

    Raises `BadFormat` with file and line, also for a file without any answer.
    """
    traces: dict[str, dict[str, TraceStep]] = {}
    line = 1
    try:
        for line, content in json_objects(path, shape=shape):
            for step in steps_of(content):
                traces.setdefault(step.trace_id, {})[step.step_id] = replace(step, line=line)
        latest: dict[tuple[str, str], tuple[JsonDict, int]] = {}
        for trace_id, steps in traces.items():
            if (answering := _answering(steps)) is not None:
                line = answering.line
                content = _content(trace_id, answering, list(steps.values()), _named(path))
                ids = content["metadata"]
                latest.pop((ids["run_id"], ids["narrative_id"]), None)
                latest[ids["run_id"], ids["narrative_id"]] = content, line
        line = 1
        if not latest:
            raise BadFormat(f"no step has an answer, expected {shape}")
        for content, line in latest.values():
            inspected = inspect(content, line)
            if inspected.problems or inspected.response is None:
                raise BadFormat(inspected.problems[0].text)
            yield inspected.response
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=error.line or line) from error


def json_objects(path: Path, *, shape: str) -> Iterator[tuple[int, JsonDict]]:
    """Yield (line, object) of a file of JSON lines, or of one document: an object or a list of them."""
    first = next(text for _, text in lines(path) if text.strip())
    if is_json(first):
        numbered: Iterable[tuple[int, str]] = lines(path)
    else:
        numbered = [(1, "\n".join(text for _, text in read_text_file(path, shape=shape).lines))]
    for number, text in numbered:
        try:
            value = json_value(text, shape=shape)
        except BadFormat as error:
            raise BadFormat(
                error.problem, line=number if error.line is None else number + error.line - 1
            ) from error
        for content in value if isinstance(value, list) else [value]:
            if not isinstance(content, dict):
                raise BadFormat(f"{in_words(content)}, expected {shape}", line=number)
            yield number, content


def _named(path: Path) -> str:
    """Return the run that a file's name tells: what comes before its first full stop, in one word."""
    return "-".join(path.name.partition(".")[0].split())


def _answering(steps: Mapping[str, TraceStep]) -> TraceStep | None:
    outermost = [step for step in steps.values() if step.answer and not _has_answer_above(step, steps)]
    return max(outermost, key=lambda step: step.started, default=None)


def _has_answer_above(step: TraceStep, steps: Mapping[str, TraceStep]) -> bool:
    seen = {step.step_id}
    above = steps.get(step.parent_id)
    while above is not None and above.step_id not in seen:
        if above.answer:
            return True
        seen.add(above.step_id)
        above = steps.get(above.parent_id)
    return False


def _content(trace_id: str, answering: TraceStep, steps: list[TraceStep], file_run: str) -> JsonDict:
    """Return the object of the answer in the dialect of TREC RAG 2025."""
    in_order = sorted(steps, key=lambda step: step.started)
    question = answering.question or next((step.question for step in in_order if step.question), "")
    query_id = next((step.query_id for step in in_order if step.query_id), "")
    if not (question or query_id):
        raise BadFormat(f"trace {trace_id} has an answer and no question, expected one, or {QUERY_ID}")
    retrieved = {doc_id: text for step in in_order for doc_id, text in step.retrieved.items()}
    texts = {doc_id: {"text": text} for doc_id, text in retrieved.items() if text}
    return {
        "metadata": {
            "run_id": next((step.run for step in in_order if step.run), file_run),
            "narrative_id": query_id or text_md5(question),
            "narrative": question,
            "trace_id": trace_id,
        },
        "references": list(retrieved),
        "answer": [{"text": sentence.strip(" ")} for sentence in sentences_of(answering.answer)],
        **({"documents": texts} if texts else {}),
    }


def message_text(message: object, *, what: str) -> str:
    """Return the text of a message: its `content`, or of its `parts` those of type text.

    Raises `BadFormat`, without a place, for what is no message.

    >>> message_text({"role": "user", "parts": [{"type": "text", "content": "Why?"}]}, what="input")
    'Why?'
    """
    if not isinstance(message, Mapping):
        raise BadFormat(f"{what} has {in_words(message)}, expected messages of role and parts or content")
    parts = message.get("parts", message.get("content"))
    if isinstance(parts, str) or parts is None:
        return (parts or "").strip()
    if not isinstance(parts, list):
        raise BadFormat(f"{what} has {in_words(parts)} as parts, expected a list")
    texts = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == "text":
            text = part.get("content", part.get("text"))
            if not isinstance(text, str):
                raise BadFormat(f"{what} has {in_words(text)} as the content of a part, expected text")
            texts.append(text)
    return "\n\n".join(texts).strip()


def text_of_role(messages: object, role: str, *, what: str) -> str:
    """Return the text of the last message of this role that has one. Raises `BadFormat`, without a place."""
    if not isinstance(messages, list):
        raise BadFormat(f"{what} is {in_words(messages)}, expected a list of messages")
    texts = [
        message_text(message, what=what)
        for message in messages
        if not isinstance(message, Mapping) or message.get("role") == role
    ]
    return next((text for text in reversed(texts) if text), "")
