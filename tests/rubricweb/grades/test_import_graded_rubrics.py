"""Graded rubrics of RAGDoll become answers, criteria and grades, and come out again as they were."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rubricweb.banks.models import Item
from rubricweb.grades.models import Grade, GraderConfig
from tests.rubricweb.import_files import Folder, database

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
SAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "banks" / "ragdoll_graded.jsonl"
LINES = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
BY_JUDGE = ("--assignments", SAMPLE, "--by", "judge a")
WEIGHTS = 5 + 2 + 1.5
TERNARY = {"beta": (5 + 1) / WEIGHTS, "alpha": 1.5 / WEIGHTS}
BINARY = {"beta": 5 / WEIGHTS, "alpha": 1.5 / WEIGHTS}
"""By RAGDoll's formulas, over the weights of the criteria."""


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def scores(measure: str) -> dict[str, float]:
    out = io.StringIO()
    by = ("--llm", "judge a", "--prompt-class", "NuggetAssignment", "--measure", measure)
    call_command("leaderboard", "autumn", *by, "--format", "json", stdout=out)
    return {row["run_tag"]: row["score"] for row in json.loads(out.getvalue())["rows"]}


def exported(dialect: str, *options: str) -> list[dict[str, object]]:
    out = io.StringIO()
    call_command("export_bank", "autumn", "main", "--dialect", dialect, *options, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_verdicts_are_grades_of_the_named_grader(folder):
    document = folder.load(*BY_JUDGE)
    assert document["counts"]["grades"] == {"new": 6, "changed": 0, "unchanged": 0}
    config = GraderConfig.objects.get()
    assert (config.llm, config.backend) == ("judge a", "imported")
    assert sorted(Grade.objects.values_list("rating", flat=True).exclude(outcome="failed")) == [0, 0, 1, 2, 2]
    items = Item.objects.values_list("importance", "weight", "foreign__ragdoll__type")
    assert list(items) == [("vital", 5, "explicit"), ("okay", 2, "implicit"), ("okay", 1.5, "communication")]
    before = database()
    assert not folder.load(*BY_JUDGE)["changed"]
    assert database() == before


def test_boards_are_those_of_ragdoll(folder):
    folder.load(*BY_JUDGE)
    assert scores("nuggets_weighted") == pytest.approx(TERNARY)
    assert scores("nuggets_strict_weighted") == pytest.approx(BINARY)


def test_they_come_out_as_they_were(folder):
    folder.load(*BY_JUDGE)
    assert exported("ragdoll-graded", "--by", "judge a") == LINES
    (rubric,) = exported("ragdoll")
    keys = ("text", "type", "tier", "weight", "source_nugget")
    alone = [{key: criterion[key] for key in keys} for criterion in LINES[0]["criteria"]]
    assert rubric == {"qid": "1", "query": LINES[0]["query"], "criteria": alone}


def test_verdicts_are_assignments_too_and_assignments_verdicts(folder):
    folder.load(*BY_JUDGE)
    (beta,) = (line for line in exported("assign", "--by", "judge a") if line["run_id"] == "beta")
    words = [nugget["assignment"] for nugget in beta["nuggets"]]
    assert words == ["support", "partial_support", "not_support"]
    nuggets = {"query": "bare trees", "qid": "2", "run_id": "beta", "answer_text": "Bare."}
    assigned = nuggets | {
        "nuggets": [{"text": "Leaves fall", "importance": "vital", "assignment": "partial_support"}]
    }
    folder.load("--assignments", folder.lines("assigned.jsonl", assigned), "--by", "judge a")
    last = exported("ragdoll-graded", "--by", "judge a")[-1]
    assert last["criteria"] == [
        {
            "text": "Leaves fall",
            "type": "explicit",
            "tier": "mandatory",
            "weight": 5,
            "source_nugget": None,
            "verdict": "partially_satisfied",
        }
    ]


def test_without_an_author_the_criteria_alone_are_imported(folder):
    document = folder.load("--bank", SAMPLE)
    (note,) = document["notes"]
    assert note.endswith("they become grades where their author is named (--assignments FILE --by NAME)")
    assert Item.objects.count() == 3
    assert not Grade.objects.exists()
    assert exported("ragdoll-graded") == LINES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"verdict": "maybe"},
            r"2: criteria\[0\].verdict is 'maybe', expected satisfied, partially_satisfied",
        ),
        ({"verdict": None}, r"2: criteria\[0\].verdict is None, expected satisfied"),
        (
            {"text": "Other"},
            r"2: criteria\[0\] of topic 1 is 'Other' .* expected the same criteria in the same",
        ),
        (
            {"weight": 3},
            r"2: criteria\[0\] of topic 1 .* \(vital, weight 3\) here and .* \(vital, weight 5\)",
        ),
    ],
)
def test_bad_lines_are_refused(folder, change, message):
    changed = LINES[1] | {"criteria": [LINES[1]["criteria"][0] | change, *LINES[1]["criteria"][1:]]}
    with pytest.raises(CommandError, match=message):
        folder.load("--assignments", folder.lines("bad.jsonl", LINES[0], changed), "--by", "judge a")
    assert not Item.objects.exists()
