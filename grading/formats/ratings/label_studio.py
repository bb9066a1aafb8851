"""JSON exports of Label Studio: a list of tasks, each with the annotations of people.

The columns of a task are its `data`. A rating is the value of a `Rating` tag, or of a `Choices` tag whose
choice is a number; cancelled annotations and predictions are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.ratings.records import (
    PersonRating,
    as_list,
    as_object,
    chosen,
    first_record,
    name_of,
    rated,
    rating_of,
    records,
)

_SHAPE = '{"data": {...}, "annotations": [{"completed_by", "result": [{"type": "rating", ...}]}]} tasks'


def read_label_studio(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order. Raises `BadFormat` with file and line."""
    for line, task in records(path, shape=_SHAPE):
        try:
            columns = as_object(task.get("data"), what="data")
            for given in as_list(task.get("annotations"), what="annotations"):
                yield from _ratings(as_object(given, what="an annotation"), columns, line)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _ratings(annotation: dict[str, Any], columns: dict[str, Any], line: int) -> Iterator[PersonRating]:
    results = [
        as_object(one, what="a result") for one in as_list(annotation.get("result"), what="the result")
    ]
    values = {str(one.get("from_name", "")): _value(one) for one in results}
    values = {name: value for name, value in values.items() if value is not None}
    if not values or annotation.get("was_cancelled"):
        return
    question = chosen(list(values))
    rating = rating_of(values[question], what=f"the rating {question}".strip())
    rater = name_of(annotation.get("completed_by"), what="completed_by", unnamed="label-studio")
    yield rated(columns, rating=rating, rater=rater, line=line)


def _value(result: dict[str, Any]) -> object:
    """The rating or the number that was chosen; None for other results."""
    value = as_object(result.get("value"), what="value")
    if result.get("type") == "rating":
        return value.get("rating")
    choices = as_list(value.get("choices"), what="choices") if result.get("type") == "choices" else []
    is_number = len(choices) == 1 and isinstance(choices[0], str) and choices[0].strip().isdecimal()
    return choices[0] if is_number else None


def _is_label_studio(sample: Sample) -> bool:
    first = first_record(sample)
    return isinstance(first.get("data"), dict) and isinstance(first.get("annotations"), list)


LABEL_STUDIO = Format(
    "label-studio-ratings",
    "Label Studio export",
    Content.RATINGS,
    _is_label_studio,
    read_label_studio,
    None,
    is_lossless=False,
    source="Label Studio 1.23, JSON",
)
