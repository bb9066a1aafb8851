"""Nugget grades of AutoJudge as a grader's grades of texts."""

import json
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.nugget_grades import NuggetGrade, graded_lines, read_nugget_grades, write_nugget_grades
from grading.types import Purpose, item_id, text_md5

SAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "nugget_grades.jsonl"
NECTAR = "What do bees collect from flowers?"
LINE = {
    "run_id": "r",
    "query_id": "t1",
    "nugget_id": "n1",
    "question": NECTAR,
    "grade": 3,
    "passage": "Bees.",
}


def unknown(run_tag, query_id):
    return None


def written(tmp_path, *lines):
    path = tmp_path / "grades.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def lines_of(path, response_of=unknown):
    return list(graded_lines(path, llm="judge", response_of=response_of))


def test_responses_and_paragraphs_are_passages():
    (topic,) = lines_of(SAMPLE)
    ids = [passage.doc_id for passage in topic.passages]
    response = "Bees collect nectar. They dry it by fanning their wings."
    assert ids == [text_md5(response), text_md5("Wasps make no honey."), "shard_1_2#0", "shard_1_2#1"]
    first = topic.passages[0].grades
    assert [(grade.by.purpose, grade.rating, grade.answer) for grade in first] == [
        (Purpose.RATE, 5, "It names nectar."),
        (Purpose.EXTRACT, None, "Bees collect nectar."),
        (Purpose.RATE, 4, ""),
    ]
    assert {grade.by.llm for grade in first} == {"judge"}
    assert first[0].item_id == item_id("t1", NECTAR)


def test_the_highest_grade_of_equal_texts_counts(tmp_path):
    path = written(tmp_path, LINE, LINE | {"run_id": "s", "grade": 5}, LINE | {"run_id": "u", "grade": 1})
    (topic,) = lines_of(path)
    assert [(passage.text, passage.grades[0].rating) for passage in topic.passages] == [("Bees.", 5)]


def test_a_grade_without_its_text_is_of_the_stored_response(tmp_path):
    path = written(tmp_path, LINE | {"passage": None, "question": ""})
    (topic,) = lines_of(path, lambda run_tag, query_id: f"{run_tag} on {query_id}")
    assert topic.passages[0].text == "r on t1"
    assert topic.passages[0].grades[0].item_id == "t1/n1"
    with pytest.raises(BadFormat, match=r"grades.jsonl:1: nobody knows what was graded of run r, expected"):
        lines_of(path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"grade": 6}, "the grade is 6, expected 0 to 5"),
        ({"grade": None}, "the grade is null, expected a whole number"),
        ({"run_id": " "}, "run_id is missing or no id"),
        ({"passage": 3}, "passage is a whole number, expected text"),
        ({"confidence": "high"}, 'confidence is "high", expected a finite number'),
        ({}, "nugget n1 was graded on line 1, expected one grade"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(change, problem, tmp_path):
    with pytest.raises(BadFormat, match=f"grades.jsonl:2: {problem}"):
        list(read_nugget_grades(written(tmp_path, LINE, LINE | change)))


def test_grades_that_were_never_read_are_written(tmp_path):
    path = tmp_path / "made.jsonl"
    write_nugget_grades(path, [NuggetGrade("r", "t1", "n1", NECTAR, 4, passage="Bees.", addressed_quote="")])
    assert json.loads(path.read_text()) == {
        "run_id": "r",
        "query_id": "t1",
        "nugget_id": "n1",
        "question": NECTAR,
        "grade": 4,
        "reasoning": None,
        "confidence": None,
        "addressed_quote": "",
        "passage": "Bees.",
    }
