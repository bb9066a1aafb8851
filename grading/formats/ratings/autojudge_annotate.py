"""Annotations of autojudge-annotate: what its page keeps in localStorage, or what it downloads as JSON lines.

Its four words become judgments of documents, 0 to 3. Reports and citations are rated too; these ratings have
no place here, and are read without one: `doc_id` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample, read_sample
from grading.formats.dictionary import JsonObject, read_document
from grading.formats.json_lines import in_words, json_object
from grading.formats.ratings.records import PersonRating, first_record, name_of, records

_SHAPE = '{"topic_id", "docid", "username", "rating": "Mostly Good", ...} annotations'
JUDGMENTS: Mapping[str, int] = {"Perfect": 3, "Mostly Good": 2, "So-so": 1, "Bad": 0}
"""By the words of the page."""
NOT_RATED = "Not rated"
_STATE = "autojudge_annotate_state_"
"""How the keys of the page begin in localStorage."""
_KINDS = ("r|", "d|", "c|")
"""How its keys of annotations begin: reports, documents, citations."""


def read_annotations(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order. Raises `BadFormat` with file and line."""
    for line, annotation in _annotations(path):
        try:
            if (word := annotation.get("rating")) != NOT_RATED:
                yield _rating(annotation, word, line)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _annotations(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not _is_state(read_sample(path)):
        yield from records(path, shape=_SHAPE)
        return
    for key, value, line in read_document(path, shape=_SHAPE).pairs():
        held = [(key, _plain(value))] if key.startswith(_KINDS) else list(_held(key, value, path, line))
        for _, annotation in held:
            if not isinstance(annotation, dict):
                problem = f"{key} is {in_words(annotation)}, expected an annotation"
                raise BadFormat(problem, file=path.name, line=line)
            yield line, annotation


def _held(key: str, value: object, path: Path, line: int) -> Iterator[tuple[str, object]]:
    """The annotations of a data set, which localStorage keeps as JSON inside of a text."""
    if not key.startswith(_STATE):
        return
    try:
        if not isinstance(value, str):
            raise BadFormat(f"{key} is no text, expected JSON in a text")
        yield from json_object(value, shape="the annotations of a data set").items()
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=line) from error


def _plain(value: object) -> object:
    """An object that was read as its pairs."""
    return {key: _plain(one) for key, one in value} if isinstance(value, JsonObject) else value


def _rating(annotation: Mapping[str, Any], word: object, line: int) -> PersonRating:
    if not isinstance(word, str) or word not in JUDGMENTS:
        raise BadFormat(f"the rating is {in_words(word)}, expected {', '.join([*JUDGMENTS, NOT_RATED])}")
    query_id = annotation.get("topic_id", annotation.get("topicId"))
    doc_id = annotation.get("docid", annotation.get("docId"))
    is_of_document = not any(name in annotation for name in ("citation", "sentenceIdx", "run_id", "runId"))
    rater = name_of(annotation.get("username"), what="username", unnamed="autojudge-annotate")
    return PersonRating(
        query_id=name_of(query_id, what="topic_id", unnamed=""),
        rating=JUDGMENTS[word],
        rater=rater,
        doc_id=name_of(doc_id, what="docid", unnamed="") if is_of_document else "",
        line=line,
    )


def _is_state(sample: Sample) -> bool:
    """Whether the file is what the page keeps, and no JSON lines."""
    keys = first_record(sample).keys()
    return sample.is_one_object and any(key.startswith((*_KINDS, _STATE)) for key in keys)


def _is_annotations(sample: Sample) -> bool:
    return {"username", "rating", "spans"} <= first_record(sample).keys() or _is_state(sample)


AUTOJUDGE_ANNOTATE = Format(
    "autojudge-annotations",
    "Annotations of autojudge-annotate",
    Content.RATINGS,
    _is_annotations,
    read_annotations,
    None,
    is_lossless=False,
    source="autojudge-annotate 0.3.7: localStorage, JSON lines",
)
