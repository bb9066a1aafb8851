"""Exports of doccano's text classification, as JSON or JSON lines: a text with its labels.

The labels are numbers from 0 to 5, one for each text; the columns are those that the texts were imported
with. doccano writes a file for each person, which does not name them: a column `user` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.ratings.records import (
    PersonRating,
    as_list,
    as_object,
    first_record,
    name_of,
    rated,
    rating_of,
    records,
)

_SHAPE = '{"id", "text", "label": ["4"], ...} texts'
_PEOPLE = ("user", "username", "annotator")


def read_doccano(path: Path) -> Iterator[PersonRating]:
    """Yield the ratings in the file's order; texts without a label are left out. Raises `BadFormat` with
    file and line.
    """
    for line, record in records(path, shape=_SHAPE):
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
