"""Read files of responses; the dialect is known from the content."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.dictionary import read_document
from grading.formats.json_values import JsonDict, json_object
from grading.formats.reading import lines
from grading.formats.responses.biogen import inspect_document
from grading.formats.responses.dialects import Dialect, dialect_of
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
        whole = _object_of("\n".join(text for _, text in read_document(path, shape=SHAPE).lines))
        if whole is not None and dialect_of(whole) not in (None, Dialect.BIOGEN24):
            problem = "a response that is written on several lines, expected one response a line"
            yield InspectedLine(1, None, (Problem("malformed", problem),))
            return
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
    first, *others = islice((text for _, text in lines(path) if text.strip()), 2)
    content = _object_of(first)
    if content is not None:
        return dialect_of(content) is Dialect.BIOGEN24
    is_beginning = first.lstrip().startswith("{") and first.rstrip().endswith(("{", "[", ",", ":"))
    return is_beginning and not any(dialect_of(_object_of(text) or {}) for text in others)


def _object_of(text: str) -> JsonDict | None:
    try:
        return json_object(text, shape=SHAPE)
    except BadFormat:
        return None
