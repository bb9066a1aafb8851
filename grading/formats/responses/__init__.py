"""Responses: a run's generated answers, sentence by sentence with citations, in the dialects of tracks."""

from grading.formats.responses.citations import Dialect, Shape, dialect_of
from grading.formats.responses.conversion import inspect_responses, losses, read_responses, write_responses
from grading.formats.responses.inspection import InspectedLine, Problem

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
