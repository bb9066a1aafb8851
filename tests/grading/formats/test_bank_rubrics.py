"""Rubrics of other tools, and the questions of EXAM++, as banks."""

import json
import random
from dataclasses import replace

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.banks import BY_NAME, documents, losses, read_bank, warnings
from tests.grading.formats.test_bank_dialects import FOLDER, as_other, lines, listed
from tests.grading.formats.test_broken_banks import mutated


def written(folder, value, name="rubric_q1.json"):
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def again(name, dialect):
    return [json.loads(row) for _, row in documents(*as_other(name, dialect))]


def test_tiers_are_importance_and_weights_stay():
    first, second = lines("ragdoll.jsonl")
    worths = [(str(item.importance), item.weight) for item in (*first.items, *second.items)]
    assert worths == [("vital", 5), ("okay", 2), ("okay", 1.5), ("vital", 5)]
    assert first.items[1].parts["metadata"]["rubricweb"]["ragdoll"] == {
        "type": "implicit",
        "source_nugget": "n1",
    }


def test_nuggets_are_criteria_of_the_weight_of_their_tier():
    (first, *_) = again("nuggetizer.jsonl", "ragdoll")
    assert [(entry["tier"], entry["weight"]) for entry in first["criteria"]][:2] == [
        ("mandatory", 5),
        ("optional", 2),
    ]
    assert any(
        loss.endswith("the whole nugget is left out") for loss in listed("research_rubrics.jsonl", "ragdoll")
    )


def test_what_ragdoll_drops_or_cuts_is_said(tmp_path):
    criteria = [{"text": "a", "tier": "optional", "weight": 0}, {"text": "b", "weight": 7}]
    _, read = read_bank(written(tmp_path, {"qid": "1", "criteria": criteria}))
    assert [str(warning) for warning in warnings(read, BY_NAME["ragdoll"])] == [
        "topic 1, 'a': has weight 0: RAGDoll drops the criterion",
        "topic 1, 'b': has weight 7: RAGDoll cuts it to 0 to 5",
    ]


def test_weights_of_autorubric_are_scaled_by_one_factor():
    (line,) = lines("rubric_q9.json")
    assert (line.query_id, [item.weight for item in line.items]) == ("q9", [10, -10 / 1.5, 10 / 1.5])
    assert [(item.facet_id, item.facet_text) for item in line.items] == [
        ("facts", "Facts"),
        ("facts", "Facts"),
        ("style-form", "Style & form"),
    ]
    assert BY_NAME["autorubric"].notes(line) == [
        "weights go up to 15: all are divided by 1.5 here",
        "options are kept and not graded by: 'Is well organized'",
    ]


def test_an_edited_weight_is_written_on_the_scale_of_the_file():
    (line,) = lines("rubric_q9.json")
    items = [replace(line.items[0], weight=4.0, text="Names a pigment"), *line.items[1:]]
    ((_, row),) = documents([replace(line, items=items)], BY_NAME["autorubric"])
    facts = json.loads(row)["rubric"]["sections"][0]["criteria"]
    assert facts[0] == {"name": "pigment", "weight": 6.0, "requirement": "Names a pigment"}


def test_subtopics_are_sections_of_a_new_rubric():
    (written_,) = again("rag_development.jsonl", "autorubric")
    assert [section["name"] for section in written_["sections"]] == [
        '"Why do leaves change?"',
        "New: the fall",
        "General",
    ]
    (plain,) = again("research_rubrics.jsonl", "autorubric")
    assert [entry["weight"] for entry in plain] == [5.0, 2.5, -4.0]


def test_yaml_is_read_as_json_is():
    dialect, (line,) = read_bank(FOLDER / "rubric_q11.yaml")
    assert (dialect.name, line.query_id) == ("autorubric", "q11")
    assert [(item.text.strip(), item.weight) for item in line.items] == [
        ("Names anthocyanin", 10),
        ("Claims that leaves are roots", -5),
    ]
    ((name, row),) = documents([line], dialect)
    assert name == "rubric_q11.json"
    assert json.loads(row)["rubric"]["guidelines"] == "Be strict: 2024-01-01"


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ("- requirement: a\n- requirement: [\n", 2, "malformed YAML"),
        ("- requirement: &a x\n- requirement: *a\n", 2, "a reference to another value"),
        ("- requirement: a\n  requirement: b\n", 2, "the key 'requirement' occurs twice"),
        ("- requirement: !!binary aGk=\n", 1, "not JSON serializable"),
        ("- requirement: a\n  weight: .nan\n", 1, "malformed YAML"),
        ("- requirement: a\n  weight: high\n", 1, "criteria[0].weight is 'high', expected a number"),
        ("- requirement: !!python/object:os.system x\n", 1, "malformed YAML"),
        ("requirement: a\nweight: 2\n---\nrequirement: b\n", 3, "malformed YAML"),
    ],
)
def test_broken_yaml(text, line, phrase, tmp_path):
    with pytest.raises(BadFormat) as caught:
        read_bank(written(tmp_path, text, "rubric_q1.yaml"))
    assert (caught.value.file, caught.value.line) == ("rubric_q1.yaml", line)
    assert phrase in caught.value.problem
    assert "expected" in caught.value.problem


def test_mutated_yaml_is_read_or_refused_with_a_place(tmp_path):
    raw, chance, refused = (FOLDER / "rubric_q11.yaml").read_bytes(), random.Random(11), []
    for _ in range(300):
        path = tmp_path / "rubric.yaml"
        path.write_bytes(mutated(raw, chance))
        try:
            dialect, read = read_bank(path)
            list(documents(read, dialect))
            losses(read, dialect)
        except BadFormat as error:
            refused.append(error)
    assert refused
    assert [error for error in refused if not (error.file and error.line)] == []


CRITERION = {"requirement": "a"}


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        ({"qid": "1", "criteria": [{"text": " "}]}, "criteria[0].text is ' ', expected text"),
        (
            {"qid": "1", "criteria": [{"text": "a", "tier": "must"}]},
            "criteria[0].tier is 'must', expected mandatory or optional",
        ),
        (
            {"qid": "1", "criteria": [{"text": "a", "weight": "high"}]},
            "criteria[0].weight is 'high', expected",
        ),
        ({"qid": "1", "criteria": [{"text": "a"}]}, "criteria[0].weight is 'None', expected a number"),
        (
            {"qid": "1", "criteria": [{"text": "a", "weight": 1, "type": 7}]},
            "criteria[0].type is 7, expected text",
        ),
        ({"criteria": [{"text": "a"}]}, "no qid, expected {qid, query, criteria"),
        (
            {
                "qid": "1",
                "run_id": "r",
                "criteria": [{"text": "a", "weight": 1, "verdict": "satisfied"}, {"text": "b", "weight": 1}],
            },
            "criteria[1].verdict is None, expected satisfied, partially_satisfied, not_satisfied",
        ),
        ([CRITERION, {"requirement": ""}], "criteria[1].requirement is '', expected text"),
        ([CRITERION | {"options": "many"}], "criteria[0].options is 'many', expected a list"),
        ([CRITERION, CRITERION], "criteria[0] and criteria[1] have equal texts"),
        (
            {"sections": [{"name": "A", "criteria": [CRITERION]}, {"name": "a", "criteria": []}]},
            "sections[1].name is 'a', expected each name of a section once",
        ),
        (
            {"rubric": {"sections": [{"criteria": [CRITERION]}]}},
            "rubric.sections[0].name is None, expected text",
        ),
        ({"sections": [CRITERION]}, "sections[0].criteria is None, expected a list of criteria"),
        (
            {"globalID": "L_1", "lessonName": "bees", "questions": {}},
            "questions.nonDiagramQuestions is None, expected an object",
        ),
        (
            {"q1": {"f1": {"questions": ["1. Why?", "2. "]}}},
            "'q1'['f1'].questions[1] is '2. ', expected text after the number",
        ),
        ({"q1": {"f1": {"questions": [{"": "Why?"}]}}}, "questions[0] is {'': 'Why?'}, expected text"),
        (
            {"q1": {"f1": {"questions": ["Why?"]}, "f2": {}}},
            "'q1'['f2'] is {}, expected {title, facet, questions",
        ),
    ],
)
def test_broken_rubrics(value, phrase, tmp_path):
    with pytest.raises(BadFormat) as caught:
        read_bank(written(tmp_path, value))
    assert (caught.value.file, caught.value.line) == ("rubric_q1.json", 1)
    assert phrase in caught.value.problem


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        ({"qid": "1", "criterion": []}, "nearest rubric format is nuggetizer create, which needs nuggets"),
        (
            {"qid": "1", "run_id": "r", "answer_text": "a", "criterion": []},
            "nearest rubric format is RAGDoll graded rubric, which needs criteria",
        ),
        ([{"weight": 1, "text": "a"}], "nearest rubric format is AutoRubric, which needs requirement"),
        (
            {"globalID": "L_1", "questions": {}},
            "nearest rubric format is TQA textbook questions, which needs lessonName",
        ),
    ],
)
def test_a_refused_file_is_told_the_nearest_dialect_and_what_it_lacks(value, phrase, tmp_path):
    path = written(tmp_path, value)
    for read in (read_bank, registry.recognise):
        with pytest.raises(BadFormat) as caught:
            read(path)
        assert phrase in caught.value.problem
        assert "expected" in caught.value.problem


def test_lessons_are_topics_with_the_right_choice_as_answer():
    first, second = lines("tqa.json")
    assert (first.query_id, first.query_text, second.query_id) == ("tqa2:L_0001", "bees", "tqa2:L_0002")
    assert [(item.item_id, item.text, item.gold_answers) for item in (*first.items, *second.items)] == [
        ("NDQ_000001", "Who keeps the hive cool?", ("worker bees",)),
        ("NDQ_000002", "Bees sleep.", ("true",)),
        ("NDQ_000003", "What is rain?", ()),
    ]


def test_an_edited_answer_of_a_lesson_is_its_right_choice():
    (line, _) = lines("tqa.json")
    edited = replace(line.items[0], text="Who cools the hive?", gold_answers=("the workers",))
    ((_, row),) = documents([replace(line, items=[edited])], BY_NAME["tqa"])
    question = json.loads(row)[0]["questions"]["nonDiagramQuestions"]["NDQ_000001"]
    assert question["beingAsked"]["processedText"] == "Who cools the hive?"
    assert question["answerChoices"]["b"] == {"processedText": "the workers"}
    assert question["correctAnswer"]["processedText"] == "b"


def test_generated_questions_are_of_subtopics_and_lose_their_numbers():
    first, second = lines("genq.json")
    assert [(item.facet_id, item.facet_text, item.text) for item in first.items] == [
        ("T_7", "The hive", "Who keeps the hive cool?"),
        ("T_7", "The hive", "What is wax?"),
        ("T_8", "Honey", "What is wax?"),
    ]
    assert (first.query_text, second.query_id) == ("Bees", "tqa2:L_2")


def test_generated_questions_are_written_with_edits():
    (line, _) = lines("genq.json")
    kept = [replace(line.items[0], text="Who cools it?"), replace(line.items[1], foreign=None, text="New?")]
    ((_, row),) = documents([replace(line, items=kept)], BY_NAME["genq"])
    facets = json.loads(row)["tqa2:L_1"]
    assert facets["T_7"]["questions"] == ["Who cools it?", "Who cools it?", "New?"]
    assert facets["T_8"]["questions"] == []
