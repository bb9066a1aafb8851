"""Responses: a run's generated answers, sentence by sentence with citations, in the dialects of tracks."""

from grading.formats.responses.dialects import Dialect, Shape, dialect_of
from grading.formats.responses.inspection import InspectedLine, Problem
from grading.formats.responses.reading import inspect_responses, read_responses
from grading.formats.responses.writing import losses, write_responses

__all__ = [
    "Dialect",
    "InspectedLine",
    "Problem",
    "Shape",
    "dialect_of",
    "inspect_responses",
    "losses",
    "read_responses",
    "write_responses",
]
