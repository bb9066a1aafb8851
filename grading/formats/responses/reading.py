"""Read files of responses; the dialect is known from the content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.json_values import json_object
from grading.formats.reading import lines
from grading.formats.responses.biogen import inspect_document
from grading.formats.responses.inspection import SHAPE, InspectedLine, Problem, inspect
from grading.types import Response


def read_responses(path: Path) -> Iterator[Response]:
    """Yield the responses of a run in the file's order: one JSON object a line, or BioGen's document.

    Raises `BadFormat` for a response without run, topic or sentences, for sentences that cite in different
    shapes, for positions outside the references, and as `json_value` and `lines` do.
    """
    for inspected in inspect_responses(path):
        if inspected.problems or inspected.response is None:
            raise BadFormat(inspected.problems[0].text, file=path.name, line=inspected.line)
        yield inspected.response


def inspect_responses(path: Path) -> Iterator[InspectedLine]:
    """Yield what each line holds, with everything that is wrong in it.

    Raises `BadFormat` where the file itself cannot be read on, as `lines` does.
    """
    if _is_document(path):
        yield from inspect_document(path)
        return
    for number, text in lines(path):
        try:
            content = json_object(text, shape=SHAPE)
        except BadFormat as error:
            yield InspectedLine(number, None, (Problem("malformed", error.problem),))
        else:
            yield inspect(content, number)


def _is_document(path: Path) -> bool:
    """Whether the file is one JSON document: its first line is BioGen's whole, or the beginning of one."""
    first = next((text for _, text in lines(path) if text.strip()), "")
    try:
        return isinstance(json_object(first, shape=SHAPE).get("results"), list)
    except BadFormat:
        return first.lstrip().startswith("{") and first.rstrip().endswith(("{", "[", ",", ":"))
