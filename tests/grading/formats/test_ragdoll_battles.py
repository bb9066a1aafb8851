"""Judgments of RAGDoll's arena: places and preferences become battles; what contradicts itself is refused."""

import json

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.events import Verdict
from grading.formats.ragdoll_battles import read_judgments, write_judgments
from tests.grading.formats.samples import FOLDER

SAMPLE = FOLDER / "arena_judgments.jsonl"
LINE = {"status": "completed", "pair": ["a", "b"], "judge_verdict": "A", "preferred_run_id": "a"}


def file(tmp_path, **fields):
    path = tmp_path / "judgments.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + json.dumps(LINE | fields) + "\n")
    return path


def test_places_and_verdicts_become_battles_and_go_out_as_they_came_in(tmp_path):
    battles = list(read_judgments(SAMPLE))
    assert [(b.model_a, b.model_b, b.winner, b.query_id, b.verdict) for b in battles] == [
        ("tide-2", "tide-1", "model_a", "q1", Verdict.LEFT),
        ("tide-1", "tide-3", "model_b", "q1", Verdict.RIGHT),
        ("tide-1", "tide-2", "tie", "q2", Verdict.TIE),
        ("tide-2", "tide-3", "", "q2", Verdict.NONE),
    ]
    assert {(b.voter, b.aspect) for b in battles} == {("made-judge (low)", "answer")}
    assert [b.query for b in battles][::2] == ["What makes the tides?", "When is low water?"]
    write_judgments(tmp_path / "again.jsonl", battles)
    before, after = (path.read_text().splitlines() for path in (SAMPLE, tmp_path / "again.jsonl"))
    assert list(map(json.loads, after)) == list(map(json.loads, before))
    assert [each.name for each in registry.candidates(SAMPLE)] == ["ragdoll-battles"]


@pytest.mark.parametrize(
    ("verdict", "preferred", "sides"),
    [
        ("A", "a", "ab"),
        ("A", "b", "ba"),
        ("B", "a", "ba"),
        ("B", "b", "ab"),
        ("Tie", None, "ab"),
        ("Tie (Both Bad)", None, "ab"),
    ],
)
def test_without_the_places_the_verdict_says_who_stood_left(tmp_path, verdict, preferred, sides):
    path = file(tmp_path, judge_verdict=verdict, preferred_run_id=preferred)
    battle = list(read_judgments(path))[1]
    assert battle.model_a + battle.model_b == sides
    assert (battle.voter, battle.query) == ("", "")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"judge_verdict": "C"}, "judge_verdict is 'C', expected A, B, Tie, Tie (Both Bad)"),
        ({"judge_verdict": None}, "judge_verdict is none, expected A, B"),
        ({"preferred_run_id": "c"}, "preferred_run_id is 'c' and judge_verdict A, expected 'a'"),
        ({"judge_verdict": "Tie"}, "preferred_run_id is 'a' and judge_verdict Tie, expected none"),
        ({"status": "failed"}, "a verdict with status 'failed', expected null, or status completed"),
        ({"status": 1}, "status is a whole number, expected completed or another word"),
        ({"pair": ["a", "a"]}, "pair has a, a, expected two runs"),
        ({"pair": ["a"]}, "pair has a, expected two runs"),
        ({"pair": []}, "pair has nothing, expected two runs"),
        ({"pair": ["a", 1]}, "pair is a list, expected the names of two runs"),
        (
            {"assistant_a_run_id": "a", "assistant_b_run_id": "c"},
            "are 'a' and 'c', expected the pair a and b",
        ),
        ({"assistant_a_run_id": "b", "assistant_b_run_id": "a"}, "preferred_run_id is 'a' and"),
        ({"assistant_a_run_id": "a"}, "are 'a' and none, expected the pair a and b"),
        ({"qid": "1", "topic_id": "2"}, "topic_id '2' and qid '1' differ"),
    ],
)
def test_what_is_refused(tmp_path, fields, problem):
    with pytest.raises(BadFormat) as caught:
        list(read_judgments(file(tmp_path, **fields)))
    assert (caught.value.file, caught.value.line) == ("judgments.jsonl", 2)
    assert problem in caught.value.problem
