"""Responses: a run's generated answers, sentence by sentence with citations, in the dialects of tracks."""

from collections.abc import Iterator
from pathlib import Path

from grading.formats import read_sample
from grading.formats.responses.citations import ResponseDialect, Shape, dialect_of
from grading.formats.responses.conversion import inspect_responses, losses, read_responses, write_responses
from grading.formats.responses.exported_traces import LANGFUSE, OTEL
from grading.formats.responses.inspection import InspectedLine, Problem
from grading.types import Response

__all__ = [
    "InspectedLine",
    "Problem",
    "ResponseDialect",
    "Shape",
    "dialect_of",
    "inspect_responses",
    "losses",
    "read_answers",
    "read_responses",
    "write_responses",
]


def read_answers(path: Path) -> Iterator[Response]:
    """Yield the responses of a file of a dialect, or the answers of one of traces. Raises `BadFormat`."""
    sample = read_sample(path)
    for each in (OTEL, LANGFUSE):
        if each.recognises(sample):
            yield from each.read(path)
            return
    yield from read_responses(path)
