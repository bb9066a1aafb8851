"""The Workbench's graded file: every quirk of the sample is read for what it means."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from grading.formats.graded import read_graded, write_graded
from grading.types import ItemKind, Outcome, Purpose, item_id

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
COLLECT = item_id("t1", "What do bees collect from flowers?")
WATER = item_id("t1", "How is water removed from nectar?")
NECTAR = item_id("t1", "Bees collect nectar")
FANNING = item_id("t1", "Fanning dries the nectar")
REPLY = {
    "correctAnswered": [],
    "wrongAnswered": [],
    "answers": [["a", "4"]],
    "llm": "m",
    "prompt_info": {"prompt_class": "X", "is_self_rated": True},
}


@pytest.fixture(scope="module")
def topics():
    return list(read_graded(FORMATS / "graded.jsonl.gz"))


@pytest.fixture(scope="module")
def by_class(topics):
    """prompt class -> grades of the first passage."""
    grades = topics[0].passages[0].grades
    return {name: list(group) for name, group in groupby(grades, key=lambda grade: grade.by.prompt_class)}


def seen(grades):
    return [(grade.item_id, grade.rating, grade.answer, grade.outcome) for grade in grades]


def test_topics_and_passages(topics):
    assert [(topic.query_id, topic.line) for topic in topics] == [("t1", 1), ("t2", 2)]
    assert [passage.doc_id for passage in topics[0].passages] == ["d1", "77"]
    assert topics[1].passages[0].doc_id == "d1", "the same passage in two topics"


def test_judgments_of_the_topic_its_subtopics_and_other_topics(topics):
    judgments = topics[0].passages[0].judgments
    assert [(j.query_id, j.facet_id, j.relevance) for j in judgments] == [
        ("t1", "", 3),
        ("t1", "hive", 1),
        ("t9", "", 0),
    ]


def test_a_run_tag_may_be_a_number_and_a_rank_zero(topics):
    rankings = topics[0].passages[0].rankings
    assert [(r.run_tag, r.rank, r.score) for r in rankings] == [("bm25", 1, 17.5), ("2", 0, 3.25)]


def test_ratings_keep_the_reply_and_how_it_was_read(by_class):
    grades = by_class["QuestionSelfRatedUnanswerablePromptWithChoices"]
    assert seen(grades) == [
        (COLLECT, 5, "5", Outcome.NUMERIC),
        (WATER, 4, "Rating: 4", Outcome.NUMERIC),
    ]
    assert {(grade.by.kind, grade.by.purpose, grade.by.llm) for grade in grades} == {
        (ItemKind.QUESTION, Purpose.RATE, "example/model")
    }


def test_the_file_s_rating_stays_where_its_reply_says_none(by_class):
    nectar, fanning = by_class["NuggetSelfRatedPrompt"]
    assert (nectar.by.kind, nectar.rating, nectar.outcome) == (ItemKind.NUGGET, 4, Outcome.NUMERIC)
    assert (fanning.rating, fanning.outcome) == (0, Outcome.DEFAULTED)


def test_extracted_answers_have_no_rating(by_class):
    questions = by_class["QuestionCompleteConciseUnanswerablePromptWithChoices"]
    assert seen(questions) == [
        (COLLECT, None, "nectar", Outcome.EXTRACTED),
        (WATER, None, "by fanning", Outcome.EXTRACTED),
    ]
    assert by_class["NuggetExtractionPrompt"][0].by.kind is ItemKind.NUGGET
    assert by_class["NuggetExtractionPrompt"][0].by.purpose is Purpose.EXTRACT


def test_the_first_of_two_entries_of_one_grader_counts(topics, by_class):
    assert topics[0].ignored_entries == 1
    assert by_class["QuestionSelfRatedUnanswerablePromptWithChoices"][0].rating == 5


def test_direct_grades(by_class):
    yes, two = by_class["FagB"][0], by_class["Thomas"][0]
    assert (yes.item_id, yes.rating, yes.answer, yes.outcome) == ("direct", 1, "Yes", Outcome.NUMERIC)
    assert (two.rating, two.answer, two.by.purpose) == (2, "2", Purpose.DIRECT), "`answers` for `answer`"


def test_an_error_of_the_model_is_a_failed_grade(topics):
    rated, failed = topics[0].passages[1].grades[:2]
    assert (rated.item_id, rated.rating, rated.outcome) == (COLLECT, 0, Outcome.UNANSWERABLE)
    assert (failed.item_id, failed.rating, failed.outcome) == (WATER, None, Outcome.FAILED)
    assert (failed.answer, failed.reason) == ("I refuse", "no rating: ValueError")


def test_an_entry_without_prompt_information_was_checked_against_the_key(topics):
    grades = topics[0].passages[1].grades[2:]
    assert {(grade.by.prompt_class, grade.by.purpose) for grade in grades} == {
        ("QuestionPromptWithChoices", Purpose.VERIFY)
    }
    assert {grade.item_id: (grade.rating, grade.answer) for grade in grades} == {
        WATER: (1, "water"),
        COLLECT: (0, "wax"),
    }


def test_written_files_read_back_and_write_the_same_bytes(topics, tmp_path):
    first, second = tmp_path / "first.jsonl.gz", tmp_path / "second.jsonl.gz"
    write_graded(first, topics)
    again = list(read_graded(first))
    write_graded(second, again)
    assert second.read_bytes() == first.read_bytes()
    assert [topic.query_id for topic in again] == ["t1", "t2"]
    for old, new in zip(topics[0].passages, again[0].passages, strict=True):
        assert (old.judgments, old.rankings) == (new.judgments, new.rankings)
        assert sorted(seen(old.grades), key=repr) == sorted(seen(new.grades), key=repr)


def read_one(tmp_path, **entries):
    """The grades of one passage with these entries."""
    passage = {"paragraph_id": "d1", "text": "bees", "paragraph_data": {"judgments": [], "rankings": []}}
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(["t1", [passage | entries]]))
    return next(read_graded(path)).passages[0].grades


def test_replies_without_ratings_are_rated_by_the_papers_rules_unless_they_failed(tmp_path):
    entry = {"correctAnswered": [], "wrongAnswered": [], "answers": [["a", "4"], ["b", "bees"], ["c", "4"]]}
    entry["answers"] += [["d", "<think>Rating: 2</think>4"], ["e", "<think>Rating: 2"]]
    entry |= {"llm": "m", "prompt_info": {"prompt_class": "X", "is_self_rated": True}}
    entry |= {"llm_response_errors": {"c": {"failure_reason": "cut off"}}}
    assert seen(read_one(tmp_path, exam_grades=[entry])) == [
        ("a", 4, "4", Outcome.NUMERIC),
        ("b", 1, "bees", Outcome.DEFAULTED),
        ("d", 4, "<think>Rating: 2</think>4", Outcome.NUMERIC),
        ("e", None, "<think>Rating: 2", Outcome.FAILED),
        ("c", None, "", Outcome.FAILED),
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, ()),
        ({}, ()),
        ({"attempt": 1}, ()),
        ({"temperature": 0.7, "attempt": 2}, (("attempt", 2), ("temperature", 0.7))),
        (
            {"json_mode": True, "stop": ["."], "seed": None, "prompt": "x" * 61, "dtype": "a\tb"},
            (("json_mode", True),),
        ),
        ("greedy", ()),
    ],
)
def test_options_tell_graders_of_one_model_apart(said, expected, tmp_path):
    entries = [REPLY | {"llm_options": {"attempt": 9}}, REPLY | {"llm_options": said}]
    label = {"correctAnswered": False, "answer": "No", "llm": "m", "llm_options": said}
    grades = read_one(tmp_path, exam_grades=entries, grades=[label])
    assert [grade.by.options for grade in grades] == [(("attempt", 9),), expected, expected]


def test_options_are_written(tmp_path):
    tries = [REPLY | {"llm_options": options} for options in ({}, {"attempt": 2})]
    label = {"correctAnswered": False, "answer": "No", "llm": "m", "llm_options": {"attempt": 3}}
    path = tmp_path / "written.jsonl"
    passage = {"paragraph_id": "d1", "text": "bees", "paragraph_data": {"judgments": [], "rankings": []}}
    path.write_text(json.dumps(["t1", [passage | {"exam_grades": tries, "grades": [label]}]]))
    write_graded(path, list(read_graded(path)))
    (written,) = json.loads(path.read_text())[1]
    assert [entry["llm_options"] for entry in written["exam_grades"]] == [{}, {"attempt": 2}]
    assert [entry["llm_options"] for entry in written["grades"]] == [{"attempt": 3}]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, (0, Outcome.DEFAULTED)),
        ({}, (0, Outcome.DEFAULTED)),
        ({"failure_reason": "cut off"}, (None, Outcome.FAILED)),
        ("cut off", (None, Outcome.FAILED)),
    ],
)
def test_a_failed_direct_grade(error, expected, tmp_path):
    entry = {"correctAnswered": False, "answer": "perhaps", "llm": "m", "llm_response_error": error}
    (grade,) = read_one(tmp_path, grades=[entry])
    assert (grade.rating, grade.outcome) == expected


def test_a_converted_direct_grade_has_both_ids(tmp_path):
    rated = {"question_id": "direct", "nugget_id": "direct", "self_rating": "2"}
    entry = {"correctAnswered": [], "wrongAnswered": [], "answers": [], "llm": 7, "self_ratings": [rated]}
    (grade,) = read_one(tmp_path, exam_grades=[entry | {"prompt_type": "direct_grading"}])
    assert (grade.item_id, grade.by.kind, grade.by.purpose) == ("direct", ItemKind.DIRECT, Purpose.DIRECT)
    assert (grade.rating, grade.by.llm) == (2, "7")
