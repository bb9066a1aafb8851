"""Ratings of people from other tools: what counts, what is left out, and what is refused with its place."""

from __future__ import annotations

import json

import pytest

from grading.errors import BadFormat
from grading.formats import Content, registry
from grading.formats.annotation_tools import read_argilla, read_doccano, read_label_studio
from grading.formats.ratings import read_annotations
from tests.grading.formats.samples import FOLDER

CELL = {"query_id": "t1", "doc_id": "d1", "question": "Which?"}


@pytest.fixture
def file(tmp_path):
    """`file(value)`: a file with this JSON, or with a line for each of several."""

    def written(*values):
        path = tmp_path / "export.json"
        path.write_text("\n".join(json.dumps(value) for value in values))
        return path

    return written


def told(rows) -> list[tuple[str, str, int]]:
    return [(row.rater[-3:], row.doc_id or row.passage[:5], row.rating) for row in rows]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("argilla.json", [("001", "d1", 5), ("002", "d1", 4), ("001", "d2", 0)]),
        ("label_studio.json", [("org", "d1", 5), ("org", "d2", 1)]),
        ("doccano.jsonl", [("ben", "Antho", 4), ("ben", "Birch", 0)]),
        ("annotations.jsonl", [("ana", "d1", 3), ("ana", "", 1)]),
        ("annotations_state.json", [("ben", "d2", 0), ("ben", "", 2)]),
        ("annotations_storage.json", [("ben", "d2", 0), ("ben", "", 2)]),
    ],
)
def test_each_tool(name, expected):
    one = registry.recognise(FOLDER / name)
    assert one.content is Content.RATINGS
    assert told(one.read(FOLDER / name)) == expected


def test_of_several_questions_the_one_named_rating_counts(file):
    answers = {"clarity": [{"value": 1, "user_id": "a"}], "rating": [{"value": "4", "user_id": "a"}]}
    record = {"fields": CELL, "metadata": {}, "responses": answers}
    assert told(read_argilla(file([record]))) == [("a", "d1", 4)]
    del answers["rating"]
    answers["fluency"] = answers["clarity"]
    with pytest.raises(BadFormat, match=r"export.json:1: the questions clarity, fluency have ratings"):
        list(read_argilla(file([record])))


def test_drafts_cancelled_annotations_and_predictions_are_left_out(file):
    draft = {"rating": [{"value": 4, "user_id": "a", "status": "draft"}]}
    assert list(read_argilla(file([{"fields": CELL, "responses": draft}]))) == []
    result = [{"from_name": "grade", "type": "choices", "value": {"choices": ["4"]}}]
    kept, cancelled = {"completed_by": 7, "result": result}, {"was_cancelled": True, "result": result}
    task = {"data": CELL, "annotations": [kept, cancelled], "predictions": [kept]}
    assert told(read_label_studio(file([task]))) == [("7", "d1", 4)]


@pytest.mark.parametrize(
    ("reader", "value", "words"),
    [
        (read_doccano, {"text": "a", "label": ["6"], "query_id": "t1"}, "the label is 6, expected 0 to 5"),
        (read_doccano, {"text": "a", "label": ["good"], "query_id": "t1"}, "expected a whole number"),
        (read_doccano, {"text": "a", "label": ["1", "2"], "query_id": "t1"}, "2 labels, expected one"),
        (read_doccano, {"text": "a", "label": ["1"]}, "no topic, expected a column query_id"),
        (read_doccano, {"id": 1, "label": ["1"], "query_id": "t1"}, "no passage, expected a column doc_id"),
        (read_argilla, {"fields": [], "responses": {}}, "fields is a list, expected an object"),
        (read_label_studio, {"data": CELL, "annotations": {}}, "annotations is an object, expected a list"),
        (read_annotations, {"username": "a", "rating": "Fine", "spans": []}, "expected Perfect, Mostly Good"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(reader, value, words, tmp_path):
    path = tmp_path / "export.jsonl"
    good = {
        read_doccano: {"text": "a", "label": [], "query_id": "t1"},
        read_annotations: {"username": "a", "rating": "Not rated", "spans": []},
    }.get(reader, {"fields": {}, "data": {}, "responses": {}, "annotations": []})
    path.write_text(f"{json.dumps(good)}\n{json.dumps(value)}\n")
    with pytest.raises(BadFormat) as caught:
        list(reader(path))
    assert (caught.value.file, caught.value.line) == ("export.jsonl", 2)
    assert words in caught.value.problem


def test_a_list_that_breaks_off_is_refused_where_it_does(tmp_path):
    path = tmp_path / "export.json"
    path.write_text('[\n{"data": {}, "annotations": []},\n{"data": {}, "annot')
    with pytest.raises(BadFormat, match=r"export.json:3: malformed JSON"):
        list(read_label_studio(path))
