"""Answers from traces: which step answers, which topic and run it is of, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grading.errors import BadFormat
from grading.formats.responses import read_answers
from grading.types import text_md5

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
TIDES = ("The moon pulls the sea.", "The sun helps.")
BEES = text_md5("Do bees sleep?")


@pytest.mark.parametrize(
    ("name", "references"),
    [
        ("otel_traces.jsonl", ("d1", "d2")),
        ("langfuse_traces.json", ()),
        ("langfuse_observations.jsonl", ("d1", "d2")),
    ],
)
def test_the_outermost_answer_of_each_trace_is_read(name, references):
    tides, bees = read_answers(FORMATS / name)
    assert tuple(sentence.text for sentence in tides.sentences) == TIDES
    assert (tides.run_tag, tides.query_id, tides.references) == ("build-412", "7", references)
    assert all(sentence.citations is None for sentence in tides.sentences)
    assert (bees.run_tag, bees.query_id) == ("build-412", BEES)
    assert bees.foreign["metadata"]["narrative"] == "Do bees sleep?"
    assert bees.sentences[0].text.strip() == "They do."


def messages(role: str, *texts: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts])


def span(trace: str, start: int, **values: str) -> dict[str, Any]:
    pairs = {name.replace("__", "."): value for name, value in values.items()}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in pairs.items()]
    return {"traceId": trace, "spanId": f"s{start}", "startTimeUnixNano": start, "attributes": attributes}


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def written(tmp_path: Path, *objects: object, name: str = "night 1.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(f"{json.dumps(content)}\n" for content in objects), encoding="utf-8")
    return path


def chat(trace: str, start: int, question: str, answer: str) -> dict[str, Any]:
    given = {"gen_ai__input__messages": messages("user", "Hello.", question)}
    return span(trace, start, **given, gen_ai__output__messages=messages("assistant", answer))


def test_the_last_of_several_answers_counts_and_a_file_names_its_run(tmp_path):
    tool = span("a", 3, gen_ai__operation__name="execute_tool", gen_ai__output__messages="[]")
    file = written(
        tmp_path,
        otlp(chat("a", 2, "Why?", "Because it is."), chat("a", 1, "Why?", "Wait.")),
        {"resourceMetrics": []},
        otlp(tool, chat("b", 4, "Why?", "Nobody knows.")),
    )
    (row,) = read_answers(file)
    assert (row.run_tag, row.query_id, row.line) == ("night-1", text_md5("Why?"), 3)
    assert [sentence.text for sentence in row.sentences] == ["Nobody knows."]


def test_a_downloaded_trace_is_one_document_on_many_lines(tmp_path):
    observations = [{"id": "o", "traceId": "t", "type": "GENERATION", "input": "Why?", "output": "A draft."}]
    trace = {"id": "t", "input": "Why?", "output": "Because.", "version": "v2"}
    path = tmp_path / "trace-t.json"
    path.write_text(json.dumps({"trace": trace, "observations": observations}, indent=1), encoding="utf-8")
    (row,) = read_answers(path)
    assert (row.run_tag, [sentence.text for sentence in row.sentences]) == ("v2", ["Because."])


BAD_SPANS = [
    (span("a", 1, gen_ai__output__messages="[{"), "gen_ai.output.messages is no JSON"),
    (
        span("a", 1, gen_ai__output__messages='{"role": 1}'),
        "gen_ai.output.messages is an object, expected a list",
    ),
    (span("", 1), "traceId of a span is missing"),
    (span("a", 1) | {"startTimeUnixNano": "noon"}, "startTimeUnixNano is text"),
    (span("a", 1) | {"attributes": [{"key": "x", "value": "y"}]}, "attributes has text as a value"),
    (
        span("a", 1, gen_ai__retrieval__documents='["d1"]'),
        "gen_ai.retrieval.documents is text, expected an object",
    ),
    (
        span("a", 1, gen_ai__output__messages=messages("assistant", "Yes.")),
        "trace a has an answer and no question",
    ),
    (span("a", 1), "no step has an answer"),
    (
        span("a", 1, gen_ai__operation__name=["chat"], gen_ai__output__messages="[]"),
        "gen_ai.operation.name is a list, expected text",
    ),
    (chat("a", 1, "Why?", "Yes.") | {"parentSpanId": 5}, "parentSpanId is a whole number"),
    (
        span("a", 1, rubric__query_id="two words", gen_ai__output__messages=messages("assistant", "Yes.")),
        "narrative_id is 'two words', expected an id without white space",
    ),
]


@pytest.mark.parametrize(("bad", "problem"), BAD_SPANS, ids=[problem for _, problem in BAD_SPANS])
def test_what_no_span_has_is_refused_with_its_line(bad, problem, tmp_path):
    path = written(tmp_path, otlp(), otlp(bad), name="bad.jsonl")
    with pytest.raises(BadFormat, match=r"bad\.jsonl:[12]: ") as refused:
        list(read_answers(path))
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"id": "t", "input": 1, "output": "Yes.", "tags": []}, "has an answer and no question"),
        ({"id": "t", "input": "Why?", "output": None, "tags": []}, "no step has an answer"),
        (
            {"id": "t", "input": "Why?", "output": "Yes.", "release": 4},
            "release is a whole number, expected text",
        ),
        ({"id": 7, "input": "Why?", "output": "Yes.", "tags": []}, "id is a whole number, expected text"),
        ({"id": "o", "traceId": "t", "type": "SPAN", "startTime": 7}, "startTime is a whole number"),
    ],
)
def test_what_no_trace_of_langfuse_has_is_refused(bad, problem, tmp_path):
    with pytest.raises(BadFormat, match=r"bad\.json:1: ") as refused:
        list(read_answers(written(tmp_path, bad, name="bad.json")))
    assert problem in str(refused.value)
