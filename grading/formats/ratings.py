"""Ratings exported from annotation tools: what the tools share, and the format of autojudge-annotate."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample, read_sample
from grading.formats.json_lines import in_words, json_object, whole
from grading.formats.reading import JsonObject, lines, read_text_file
from grading.types import MAX_RATING, MIN_RATING

Record = Mapping[str, Any]  # a JSON object, whose types are checked here

QUERY = ("query_id", "topic_id", "request_id", "qid")
DOCUMENT = ("doc_id", "docid", "passage_id", "document_id")
PASSAGE = ("passage", "text", "document", "segment", "contents", "data")
ITEM_ID = ("item_id", "question_id", "nugget_id")
ITEM = ("question", "nugget", "item")
"""Names of columns, the first that is there counts."""
RATING = "rating"
"""The name of the question that counts where an export has several with ratings."""


_PARTS = {"query_id": QUERY, "doc_id": DOCUMENT, "passage": PASSAGE, "item_id": ITEM_ID, "item": ITEM}
_SHAPE = '{"topic_id", "docid", "username", "rating": "Mostly Good", ...} annotations'
JUDGMENTS: Mapping[str, int] = {"Perfect": 3, "Mostly Good": 2, "So-so": 1, "Bad": 0}
"""Judgments by the labels of the page."""
NOT_RATED = "Not rated"
_STATE = "autojudge_annotate_state_"
"""How the keys of the page begin in localStorage."""
_KINDS = ("r|", "d|", "c|")
"""How its keys of annotations begin: reports, documents, citations."""


@dataclass(frozen=True, slots=True)
class PersonRating:
    """One person's rating of a passage, for an item or by itself."""

    query_id: str
    rating: int
    """A rating of an item from 0 to 5, or a judgment of a passage by itself."""
    rater: str
    """The person's name in the file."""
    doc_id: str = ""
    passage: str = ""
    """The passage's text; the export has this or `doc_id`, or both."""
    item_id: str = ""
    item: str = ""
    """The wording of the question or nugget."""
    line: int = 0

    @property
    def is_of_item(self) -> bool:
        return bool(self.item_id or self.item)


def first_record(sample: Sample) -> dict[str, Any]:
    """Return the first JSON object of a file, or of the list that a file is; empty without one."""
    first = sample.documents[0] if sample.documents else None
    if isinstance(first, list) and first:
        first = first[0]
    return first if isinstance(first, dict) else {}


def records(path: Path, *, shape: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of JSON lines, or of one JSON list. Raises `BadFormat` with file and line."""
    for number, text in _texts(path, shape):
        try:
            yield number, json_object(text, shape=shape)
        except BadFormat as error:
            line = number + (error.line or 1) - 1
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _texts(path: Path, shape: str) -> Iterator[tuple[int, str]]:
    """Yield (line, JSON text) of each record."""
    first = next(text for _, text in lines(path) if text.strip())
    if not first.lstrip().startswith("["):
        yield from ((number, text) for number, text in lines(path) if text.strip())
        return
    whole_text = "\n".join(text for _, text in read_text_file(path, shape=shape).lines)
    decoder, place = json.JSONDecoder(), _after_blanks(whole_text, whole_text.index("[") + 1)
    while whole_text[place : place + 1] not in ("]", ""):
        line = whole_text.count("\n", 0, place) + 1
        try:
            _, end = decoder.raw_decode(whole_text, place)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            raise BadFormat(f"malformed JSON, expected {shape}", file=path.name, line=line) from error
        yield line, whole_text[place:end]
        place = _after_comma(whole_text, end, path, shape)
    _refuse_rest(whole_text, place, path, shape)


def _after_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _after_comma(text: str, place: int, path: Path, shape: str) -> int:
    place = _after_blanks(text, place)
    if text[place : place + 1] == ",":
        return _after_blanks(text, place + 1)
    if text[place : place + 1] == "]":
        return place
    line = text.count("\n", 0, place) + 1
    raise BadFormat(f"malformed JSON, expected a comma between {shape}", file=path.name, line=line)


def _refuse_rest(text: str, place: int, path: Path, shape: str) -> None:
    if text[place : place + 1] != "]" or text[place + 1 :].strip():
        line = text.count("\n", 0, min(place, len(text))) + 1
        raise BadFormat(f"malformed JSON, expected one list of {shape}", file=path.name, line=line)


def rated(columns: Record, *, rating: int, rater: str, line: int) -> PersonRating:
    """Return the rating with what its record says of topic, passage and item.

    Raises `BadFormat` without a place where topic or passage is missing.
    """
    texts = {name: _text(columns, names) for name, names in _PARTS.items()}
    if not texts["query_id"]:
        raise BadFormat(f"no topic, expected a column {' or '.join(QUERY)}")
    if not texts["doc_id"] and not texts["passage"]:
        raise BadFormat(f"no passage, expected a column {' or '.join((*DOCUMENT, *PASSAGE))}")
    return PersonRating(**texts, rating=rating, rater=rater, line=line)


def _text(columns: Record, names: tuple[str, ...]) -> str:
    """Return the value of the first column that is there, as text."""
    for name in names:
        value = columns.get(name)
        if value in (None, ""):
            continue
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadFormat(f"{name} is {in_words(value)}, expected text")
        return str(value).strip()
    return ""


def rating_of(value: object, *, what: str) -> int:
    """Return a rating from 0 to 5 that is written 4, 4.0 or "4". Raises `BadFormat` without a place."""
    if value is not None and not isinstance(value, bool | int | float | str):
        raise BadFormat(f"{what} is {in_words(value)}, expected {MIN_RATING} to {MAX_RATING}")
    rating = whole(value, what=what)
    if not MIN_RATING <= rating <= MAX_RATING:
        raise BadFormat(f"{what} is {rating}, expected {MIN_RATING} to {MAX_RATING}")
    return rating


def as_object(value: object, *, what: str) -> dict[str, Any]:
    """Return a JSON object; empty for null. Raises `BadFormat` without a place."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadFormat(f"{what} is {in_words(value)}, expected an object")
    return value


def as_list(value: object, *, what: str) -> list[Any]:
    """Return a JSON list; empty for null. Raises `BadFormat` without a place."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadFormat(f"{what} is {in_words(value)}, expected a list")
    return value


def name_of(value: object, *, what: str, unnamed: str) -> str:
    """Return whom the file means: a name, a number, or an object with one. Raises `BadFormat`."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("username", "email", "id") if value.get(key)), None)
    if value is None or value == "":
        return unnamed
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadFormat(f"{what} is {in_words(value)}, expected a name or number")
    return str(value).strip() or unnamed


def chosen(names: list[str]) -> str:
    """Return which of the questions with ratings counts. Raises `BadFormat` without a place."""
    if len(names) > 1 and RATING not in names:
        raise BadFormat(f"the questions {', '.join(names)} have ratings, expected one, or one named {RATING}")
    return RATING if len(names) > 1 else names[0]


def read_annotations(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order. Raises `BadFormat` with file and line."""
    for line, annotation in _annotations(path):
        try:
            if (word := annotation.get("rating")) != NOT_RATED:
                if not isinstance(word, str) or word not in JUDGMENTS:
                    raise BadFormat(
                        f"the rating is {in_words(word)}, expected {', '.join([*JUDGMENTS, NOT_RATED])}"
                    )
                query_id = annotation.get("topic_id", annotation.get("topicId"))
                doc_id = annotation.get("docid", annotation.get("docId"))
                is_of_document = not any(
                    name in annotation for name in ("citation", "sentenceIdx", "run_id", "runId")
                )
                rater = name_of(annotation.get("username"), what="username", unnamed="autojudge-annotate")
                yield PersonRating(
                    query_id=name_of(query_id, what="topic_id", unnamed=""),
                    rating=JUDGMENTS[word],
                    rater=rater,
                    doc_id=name_of(doc_id, what="docid", unnamed="") if is_of_document else "",
                    line=line,
                )
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=line) from error


def _annotations(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not _is_state(read_sample(path)):
        yield from records(path, shape=_SHAPE)
        return
    for key, value, line in read_text_file(path, shape=_SHAPE).pairs():
        held = [(key, _plain(value))] if key.startswith(_KINDS) else list(_held(key, value, path, line))
        for _, annotation in held:
            if not isinstance(annotation, dict):
                problem = f"{key} is {in_words(annotation)}, expected an annotation"
                raise BadFormat(problem, file=path.name, line=line)
            yield line, annotation


def _held(key: str, value: object, path: Path, line: int) -> Iterator[tuple[str, object]]:
    """Yield the annotations of a data set, which localStorage keeps as JSON inside of a text."""
    if not key.startswith(_STATE):
        return
    try:
        if not isinstance(value, str):
            raise BadFormat(f"{key} is no text, expected JSON in a text")
        yield from json_object(value, shape="the annotations of a data set").items()
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=line) from error


def _plain(value: object) -> object:
    """Return an object that was read as its pairs."""
    return {key: _plain(part) for key, part in value} if isinstance(value, JsonObject) else value


def _is_state(sample: Sample) -> bool:
    """Return whether the file is what the page keeps, and no JSON lines."""
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
