"""Battles of arenas: what is read, what is refused, and what is written for other tools."""

import csv
import json

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.battles import (
    ArenaBattle,
    csv_lines,
    read_csv,
    read_json,
    read_judgments,
    write_csv,
    write_json,
    write_judgments,
)
from grading.formats.events import Verdict
from tests.grading.formats.samples import FOLDER

HEADER = "model_a,model_b,winner,question_id,judge"


def csv_file(tmp_path, *rows, header=HEADER):
    path = tmp_path / "battles.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def json_file(tmp_path, **fields):
    path = tmp_path / "battles.jsonl"
    path.write_text(json.dumps({"model_a": "a", "model_b": "b", "winner": "tie"} | fields) + "\n")
    return path


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("model_a", Verdict.LEFT),
        ("model_b", Verdict.RIGHT),
        ("tie", Verdict.TIE),
        ("both_bad", Verdict.BOTH_BAD),
        ("tie (bothbad)", Verdict.BOTH_BAD),
        ("Tie (Both Bad)", Verdict.BOTH_BAD),
    ],
)
def test_words_of_winners(tmp_path, word, verdict):
    (battle,) = read_csv(csv_file(tmp_path, f"a,b,{word},t1,ann"))
    assert (battle.verdict, battle.winner, battle.query_id, battle.voter) == (verdict, word, "t1", "ann")


@pytest.mark.parametrize("word", ["A", "Model_A", "", "Tie", "bothbad", " tie", "null"])
def test_other_words_are_refused_where_arena_rank_counts_a_tie(tmp_path, word):
    with pytest.raises(BadFormat, match=r"winner is .* expected model_a, model_b, tie, both_bad") as caught:
        list(read_csv(csv_file(tmp_path, "a,b,tie,t1,ann", f"a,b,{word},t1,ann")))
    assert (caught.value.file, caught.value.line) == ("battles.csv", 3)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("a,a,tie,t1,ann", "a against itself, expected two models"),
        (",b,tie,t1,ann", "model_a is empty, expected text"),
        ("a,b,tie,t1", "4 columns, expected 5"),
        ("a,b,tie,t1,ann,x", "6 columns, expected 5"),
        ('a,b,"tie,t1,ann', "no CSV"),
    ],
)
def test_rows_that_are_refused(tmp_path, row, problem):
    with pytest.raises(BadFormat, match=problem) as caught:
        list(read_csv(csv_file(tmp_path, row)))
    assert caught.value.line == 2


def test_headers_that_are_refused(tmp_path):
    with pytest.raises(BadFormat, match="no column winner, expected model_a, model_b, winner and more"):
        list(read_csv(csv_file(tmp_path, "a,b", header="model_a,model_b")))
    with pytest.raises(BadFormat, match="the column 'judge' twice"):
        list(read_csv(csv_file(tmp_path, "a,b,tie,x,y", header="model_a,model_b,winner,judge,judge")))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"winner": None}, "winner is null, expected text"),
        ({"model_a": 1}, "model_a is a whole number, expected text"),
        ({"question_id": [1]}, "question_id is a list, expected text or a whole number"),
        ({"question_id": True}, "question_id is .*, expected text or a whole number"),
        ({"question_id": "1", "qid": 2}, "question_id '1' and qid '2' differ"),
        ({"aspect": "style"}, "aspect is 'style', expected answer or evidence"),
    ],
)
def test_json_that_is_refused(tmp_path, fields, problem):
    with pytest.raises(BadFormat, match=problem) as caught:
        list(read_json(json_file(tmp_path, **fields)))
    assert (caught.value.file, caught.value.line) == ("battles.jsonl", 1)


def test_free_columns_stay_in_their_order_and_types(tmp_path):
    path = json_file(tmp_path, qid=7, question_id="7", tstamp=1.5, nested={"a": [1]})
    (battle,) = read_json(path)
    assert (battle.query_id, list(battle.columns)) == ("7", ["qid", "question_id", "tstamp", "nested"])
    write_json(tmp_path / "again.jsonl", [battle])
    assert json.loads((tmp_path / "again.jsonl").read_text()) == json.loads(path.read_text())


def test_a_written_file_has_the_columns_of_arena_rank_first_and_one_header(tmp_path):
    battles = [ArenaBattle("a", "=b", "both_bad", {"judge": "ann"}), ArenaBattle("b", "a", "tie", {"x": 1.5})]
    write_csv(tmp_path / "b.csv", battles)
    rows = list(csv.reader((tmp_path / "b.csv").read_text().splitlines()))
    assert rows == [
        ["model_a", "model_b", "winner", "judge", "x"],
        ["a", "'=b", "both_bad", "ann", ""],
        ["b", "a", "tie", "", "1.5"],
    ]
    assert [battle.model_b for battle in read_csv(tmp_path / "b.csv")] == ["=b", "a"]
    assert list(csv_lines([])) == ["model_a,model_b,winner"]
    assert [each.name for each in registry.candidates(tmp_path / "b.csv")] == ["arena-csv"]


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
