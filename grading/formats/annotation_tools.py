"""Exports of annotation tools: Argilla, doccano and Label Studio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.ratings import (
    RATING,
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

_ARGILLA_SHAPE = (
    '{"fields": {...}, "metadata": {...}, "responses": {"rating": [{"value", "user_id"}]}} records'
)
_DRAFTS = ("draft", "discarded")


_DOCCANO_SHAPE = '{"id", "text", "label": ["4"], ...} texts'
_PEOPLE = ("user", "username", "annotator")
_LABEL_STUDIO_SHAPE = (
    '{"data": {...}, "annotations": [{"completed_by", "result": [{"type": "rating", ...}]}]} tasks'
)


def read_argilla(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order. Raises `BadFormat` with file and line."""
    for line, record in records(path, shape=_ARGILLA_SHAPE):
        try:
            yield from _argilla_ratings(record, line)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _argilla_ratings(record: dict[str, Any], line: int) -> Iterator[PersonRating]:
    columns = as_object(record.get("fields"), what="fields")
    columns = columns | as_object(record.get("metadata"), what="metadata")
    responses = as_object(record.get("responses"), what="responses")
    by_question = {name: as_list(given, what=f"responses to {name}") for name, given in responses.items()}
    names = [name for name, given in by_question.items() if _are_ratings(name, given)]
    if not names:
        return
    question = chosen(names)
    for response in by_question[question]:
        answer = as_object(response, what="a response")
        if answer.get("status") in _DRAFTS:
            continue
        rating = rating_of(answer.get("value"), what=f"the response to {question}")
        rater = name_of(answer.get("user_id"), what="user_id", unnamed="argilla")
        yield rated(columns, rating=rating, rater=rater, line=line)


def _are_ratings(name: str, given: list[Any]) -> bool:
    values = [answer.get("value") for answer in given if isinstance(answer, dict)]
    return bool(given) and (name == RATING or (bool(values) and all(map(_is_number, values))))


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal())


def _is_argilla(sample: Sample) -> bool:
    first = first_record(sample)
    return {"fields", "responses"} <= first.keys() and isinstance(first["fields"], dict)


ARGILLA = Format(
    "argilla-ratings",
    "Argilla export",
    Content.RATINGS,
    _is_argilla,
    read_argilla,
    None,
    is_lossless=False,
    source="Argilla 2.8, records.to_json",
)


def read_doccano(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order; texts without a label are left out.

    Raises `BadFormat` with file and line.
    """
    for line, record in records(path, shape=_DOCCANO_SHAPE):
        try:
            labels = as_list(record.get("label"), what="label")
            if len(labels) > 1:
                raise BadFormat(f"{len(labels)} labels, expected one rating from 0 to 5")
            if labels:
                columns = {**record, **as_object(record.get("meta"), what="meta")}
                person = next((columns[name] for name in _PEOPLE if columns.get(name)), None)
                rater = name_of(person, what="user", unnamed="doccano")
                yield rated(columns, rating=rating_of(labels[0], what="the label"), rater=rater, line=line)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _is_doccano(sample: Sample) -> bool:
    first = first_record(sample)
    return isinstance(first.get("label"), list) and bool({"text", "data"} & first.keys())


DOCCANO = Format(
    "doccano-ratings",
    "doccano export",
    Content.RATINGS,
    _is_doccano,
    read_doccano,
    None,
    is_lossless=False,
    source="doccano 1.8, text classification",
)


def read_label_studio(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order. Raises `BadFormat` with file and line."""
    for line, task in records(path, shape=_LABEL_STUDIO_SHAPE):
        try:
            columns = as_object(task.get("data"), what="data")
            for given in as_list(task.get("annotations"), what="annotations"):
                yield from _label_studio_ratings(as_object(given, what="an annotation"), columns, line)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _label_studio_ratings(
    annotation: dict[str, Any], columns: dict[str, Any], line: int
) -> Iterator[PersonRating]:
    results = [
        as_object(result, what="a result") for result in as_list(annotation.get("result"), what="the result")
    ]
    values = {str(result.get("from_name", "")): _label_studio_value(result) for result in results}
    values = {name: value for name, value in values.items() if value is not None}
    if not values or annotation.get("was_cancelled"):
        return
    question = chosen(list(values))
    rating = rating_of(values[question], what=f"the rating {question}".strip())
    rater = name_of(annotation.get("completed_by"), what="completed_by", unnamed="label-studio")
    yield rated(columns, rating=rating, rater=rater, line=line)


def _label_studio_value(result: dict[str, Any]) -> object:
    """Return the rating or the number that was chosen; None for other results."""
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
