"""Exports of Argilla 2 (`dataset.records.to_json`): a list of records with the responses to each question.

The columns of a record are its metadata and its fields; `responses` has for each question what each person
answered. Answers to other questions than ratings, such as comments, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.ratings.records import (
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

_SHAPE = '{"fields": {...}, "metadata": {...}, "responses": {"rating": [{"value", "user_id"}]}} records'
_DRAFTS = ("draft", "discarded")


def read_argilla(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order. Raises `BadFormat` with file and line."""
    for line, record in records(path, shape=_SHAPE):
        try:
            yield from _ratings(record, line)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _ratings(record: dict[str, Any], line: int) -> Iterator[PersonRating]:
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
