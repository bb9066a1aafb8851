"""DRAGUN's rubrics: questions by importance, whose short answers are nuggets."""

import json
from dataclasses import replace

import pytest

from grading.errors import BadFormat
from grading.formats.banks import BY_NAME, documents, losses, read_bank
from grading.formats.banks.dragun import answer_id
from grading.types import Importance
from tests.grading.formats.test_bank_dialects import as_other, lines

TOPIC = "msmarco_v2.1_doc_9_77"
DRAGUN = BY_NAME["dragun"]


def question(number=1, /, **changes):
    answers = [{"answer_id": f"na-{number}", "answer": "a"}]
    fields = {"question_id": f"t-{number}", "question_text": "Why?", "importance": "A: Have to Know"}
    return fields | {"short_answers": answers} | changes


def rubric(*questions):
    return {"topic_id": "t", "rubrics": list(questions)}


def written(line):
    ((name, row),) = documents([line], DRAGUN)
    return name, json.loads(row)


def test_short_answers_are_nuggets_of_their_question():
    (line,) = lines("dragun.json")
    assert line.query_id == TOPIC
    assert [(answer_id(item), item.facet_id, str(item.importance), item.weight) for item in line.items] == [
        ("na-1", "1", "vital", 4),
        ("na-2", "1", "vital", 4),
        ("na-4", "3", "okay", 2),
        ("na-10", "3", "okay", 2),
        ("na-11", "4", "okay", 1),
    ]
    assert {item.facet_text for item in line.items if item.facet_id == "3"} == {"Do apples keep for a year?"}
    assert DRAGUN.notes(line) == [f"topic {TOPIC}: questions without short answers, which no score counts: 5"]


def test_the_text_is_under_the_only_key_that_has_one(tmp_path):
    answers = [{"answer_id": "na-1", "content": "b", "references": ["c"]}]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rubric(question(short_answers=answers))))
    _, (line,) = read_bank(path)
    assert line.items[0].text == "b"
    edited = replace(line, items=[replace(line.items[0], text="c")])
    assert written(edited)[1]["rubrics"][0]["short_answers"] == [answers[0] | {"content": "c"}]


def test_edits_are_written_and_the_rest_stays():
    (line,) = lines("dragun.json")
    first, _, *others = line.items
    new = replace(first, text="A bank", foreign=None)
    others[-1] = replace(others[-1], importance=Importance.VITAL, weight=4.0)
    name, raw = written(replace(line, items=[first, *others, new]))
    assert name == f"{TOPIC}.json"
    assert [answer["answer"] for answer in raw["rubrics"][0]["short_answers"]] == [first.text, "A bank"]
    assert raw["rubrics"][0]["short_answers"][1]["answer_id"] == "na-2"
    assert [entry["importance"][0] for entry in raw["rubrics"]] == ["A", "B", "A", "C"]
    assert raw["rubrics"][1]["note"] == "asked twice"


def test_nuggets_of_other_dialects_are_questions_of_their_own_or_of_their_subtopics():
    (line, *_), _ = as_other("rag_development.jsonl", "dragun")
    _, raw = written(line)
    assert [(entry["question_id"], entry["question_text"]) for entry in raw["rubrics"]] == [
        ("58-1", '"Why do leaves change?"'),
        ("58-2", "New: the fall"),
        ("58-3", "Frost is cold"),
    ]
    assert "topic 58, 'Frost is cold': subtopic none" in [str(loss) for loss in losses([line], DRAGUN)]


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        (rubric(question(question_id="t-a")), "rubrics[0].question_id is 't-a', expected a topic, a hyphen"),
        (rubric(question(question_id=None)), "rubrics[0].question_id is None, expected a topic, a hyphen"),
        (rubric(question(), question(1)), "rubrics[0] and rubrics[1] have the number 1, expected each"),
        (rubric(question(importance="A")), "rubrics[0].importance is 'A', expected A: Have to Know, B: Good"),
        (rubric(question(question_text=" ")), "rubrics[0].question_text is ' ', expected text"),
        (
            rubric(question(short_answers=None)),
            "rubrics[0] has no short_answers, expected [{answer_id, answer",
        ),
        (
            rubric(question(short_answers=[{"answer": "a"}])),
            "rubrics[0].short_answers[0] has no answer_id, expected one that is unique in the topic",
        ),
        (
            rubric(question(short_answers=[{"answer_id": "na-1", "x": "a", "y": "b"}])),
            "rubrics[0].short_answers[0] has the texts x, y, expected one, or one that is named answer",
        ),
        (
            rubric(question(), question(2, short_answers=[{"answer_id": "na-1", "answer": "b"}])),
            "answer_id na-1 is 'a' in question 1 and 'b' in question 2, expected each id once a topic",
        ),
        ({"topic_id": "t", "rubrics": {}}, "rubrics is {}, expected a list"),
        ({"topic_id": "", "rubrics": []}, "topic_id is '', expected an id"),
        ({"rubrics": [{"short_answers": []}]}, "no topic_id, expected {topic_id, rubrics"),
        (
            {"topic_id": "t", "questions": []},
            "nearest rubric format is DRAGUN rubric, which needs rubrics",
        ),
    ],
)
def test_broken_rubrics_name_field_and_what_was_expected(value, phrase, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(value))
    with pytest.raises(BadFormat) as raised:
        read_bank(path)
    assert (raised.value.file, raised.value.line) == ("t.json", 1)
    assert phrase in raised.value.problem


def test_two_rubrics_of_a_topic_are_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(rubric(question())) for _ in range(2)))
    with pytest.raises(BadFormat, match="topic t has a second bank"):
        read_bank(path)
