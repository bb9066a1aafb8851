"""Assignments of nuggets become answers, nuggets and grades, and come out again as they were."""

import copy
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from grading.types import text_md5
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Collection, Response, Run
from rubricweb.grades.configs import scale_of
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig
from tests.rubricweb.import_files import Folder, database, response

pytestmark = pytest.mark.django_db
SAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "assigned_answers.jsonl"
LINES = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
ANSWER = "Anthocyanins are red [1]."
BY_JUDGE = ("--assignments", SAMPLE, "--by", "judge a")
EXPECTED = {
    "strict_vital": {"beta": 0.5, "Alpha.v1": 0},
    "strict_all": {"beta": 2 / 3, "Alpha.v1": 1 / 6},
    "vital": {"beta": 0.5, "Alpha.v1": 0.25},
    "all": {"beta": 2 / 3, "Alpha.v1": 0.25},
    "weighted": {"beta": 0.75, "Alpha.v1": 0.25},
}
"""Means over both topics by the formulas of nuggetizer; t2 has no vital nugget, which counts 0."""


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def scores(measure: str, llm: str, *options: str) -> dict[str, float]:
    out = io.StringIO()
    by = ("--llm", llm, "--prompt-class", "NuggetAssignment", "--measure", f"nuggets_{measure}", *options)
    call_command("leaderboard", "autumn", *by, "--format", "json", stdout=out)
    return {row["run_tag"]: row["score"] for row in json.loads(out.getvalue())["rows"]}


def exported(by: str, slug: str = "autumn") -> list[object]:
    out = io.StringIO()
    call_command("export_bank", slug, "main", "--dialect", "assign", "--by", by, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_assignments_are_grades_of_the_named_grader(folder):
    document = folder.load(*BY_JUDGE)
    assert document["counts"]["grades"] == {"new": 7, "changed": 0, "unchanged": 0}
    assert document["notes"] == [
        "assigned_answers.jsonl: answers to which no nugget was assigned, which count 0: Alpha.v1 on t2"
    ]
    config = GraderConfig.objects.get()
    assert (config.llm, config.purpose, config.backend) == ("judge a", "rate", "imported")
    assert scale_of(config) == (0, 2)
    rows = Grade.objects.filter(topic__query_id="1", outcome="failed").values_list(
        "passage__doc_id", "rating"
    )
    assert list(rows) == [(text_md5(ANSWER), None)]
    assert list(Item.objects.filter(topic__query_id="1").values_list("importance", flat=True)) == [
        "vital",
        "okay",
        "okay",
    ]
    assert not HumanGrade.objects.exists()
    before = database()
    assert not folder.load(*BY_JUDGE)["changed"]
    assert database() == before


@pytest.mark.parametrize("measure", EXPECTED)
def test_boards_are_those_of_nuggetizer(folder, measure):
    folder.load(*BY_JUDGE)
    folder.load("--assignments", SAMPLE, "--by", "people")
    assert scores(measure, "judge a") == pytest.approx(EXPECTED[measure])
    assert scores(measure, "people") == pytest.approx(EXPECTED[measure])
    assert scores(measure, "judge a", "--ratings", "humans") == pytest.approx(EXPECTED[measure])


def test_answers_are_responses_without_known_citations_each_its_own_passage(folder):
    folder.load(*BY_JUDGE)
    answer = Response.objects.get(run__run_tag="beta", topic__query_id="1")
    assert answer.sentences == [{"text": f"{ANSWER}\n", "citations": None}]
    tops = {run.run_tag: run.rankings.get(topic__query_id="1").doc_ids for run in Run.objects.all()}
    assert tops == {"beta": [text_md5(ANSWER)], "Alpha.v1": [f"{text_md5(ANSWER)}.Alpha.v1"]}


def test_what_people_assigned_is_also_their_rating(folder):
    folder.load("--assignments", SAMPLE, "--by", "people")
    rows = HumanGrade.objects.values_list("by__username", "by__is_active", "rating")
    assert sorted(rows) == [("autumn.people", False, rating) for rating in (0, 0, 1, 2, 2, 2)]
    assert GraderConfig.objects.get().llm == "people"


def test_two_authors_stand_side_by_side_and_come_out_as_they_were(folder):
    other = copy.deepcopy(LINES)
    other[0]["nuggets"][0]["assignment"] = "partial_support"
    folder.load("--assignments", SAMPLE, "--by", "people")
    folder.load("--assignments", folder.lines("other.jsonl", *other), "--by", "judge a")
    assert exported("people") == LINES
    assert exported("judge a") == other
    with pytest.raises(
        CommandError, match=r"0 graders nobody rated nuggets of main, expected one of: people"
    ):
        exported("nobody")


def test_an_answer_that_is_there_is_matched_by_its_words(folder):
    run = folder.lines("run.jsonl", response("beta", "1", ANSWER, "No more."))
    folder.load("--responses", run, "--passages-of", "whole")
    line = LINES[0] | {"answer_text": f"{ANSWER}\n No more."}
    document = folder.load("--assignments", folder.lines("a.jsonl", line), "--by", "judge a")
    assert document["counts"]["responses"] == {"new": 0, "changed": 0, "unchanged": 1}
    assert Response.objects.get().sentences[0]["citations"]
    assert Grade.objects.values("passage").distinct().count() == 1
    assert exported("judge a") == [line]


def test_another_answer_is_refused_or_replaces(folder):
    folder.load(*BY_JUDGE)
    other = folder.lines("other.jsonl", LINES[0] | {"answer_text": "Frost."})
    arguments = ("--assignments", other, "--by", "judge a")
    with pytest.raises(CommandError, match=r"other.jsonl:1: answer_text of run beta on topic 1 is another"):
        folder.load(*arguments)
    folder.load(*arguments, "--replace")
    assert exported("judge a")[0] == LINES[0] | {"answer_text": "Frost."}


def test_answers_whose_sentences_are_passages_get_a_run_of_whole_answers(folder):
    run = folder.lines("run.jsonl", response("beta", "1", ANSWER, "No more."))
    folder.load("--responses", run)
    line = LINES[0] | {"answer_text": f"{ANSWER} No more."}
    document = folder.load("--assignments", folder.lines("a.jsonl", line), "--by", "judge a")
    assert "the sentences of beta are passages here" in " ".join(document["notes"])
    assert Grade.objects.first().passage.text == f"{ANSWER} No more."
    assert Collection.objects.get().runs.get(run_tag="beta-whole").responses.count() == 1
    assert exported("judge a") == [line]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--assignments", SAMPLE),
            r"does not say whose labels it has, expected --by NAME for all files, or --by FILE=NAME",
        ),
        (("--by", "people"), r"--by people: 0 files that have an author"),
        (("--assignments", SAMPLE, "--by", " "), r"does not say whose labels it has"),
        (("--assignments", SAMPLE, "--by", "b.jsonl=x"), r"--by b.jsonl=x: no file is named b.jsonl"),
    ],
)
def test_an_author_has_to_be_named(folder, arguments, message):
    with pytest.raises(CommandError, match=message):
        folder.load(*arguments)


def test_another_assignment_of_an_author_is_refused(folder):
    folder.load(*BY_JUDGE)
    other = copy.deepcopy(LINES[:1])
    other[0]["nuggets"][0]["assignment"] = "not_support"
    with pytest.raises(CommandError, match=r"a.jsonl:1: item .* is rated 0 here and rated 2 before"):
        folder.load("--assignments", folder.lines("a.jsonl", *other), "--by", "judge a")


def test_topics_that_nobody_may_add_are_left_out(folder):
    document = folder.load("--queries", folder.queries(**{"1": "leaves"}), *BY_JUDGE)
    assert "left out 2 answers to 1 topics that the collection lacks" in " ".join(document["notes"])
    with pytest.raises(CommandError, match=r"assigned_answers.jsonl:1: no topic of the file is known"):
        folder.load("--queries", folder.queries(q="leaves"), *BY_JUDGE, slug="other")


def test_an_archive_has_the_lines_that_were_kept(folder, tmp_path):
    folder.load("--assignments", SAMPLE, "--by", "people")
    call_command("archive", "autumn", out=tmp_path / "autumn.zip", stderr=io.StringIO())
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    call_command("restore", tmp_path / "autumn.zip", slug="winter", **quiet)
    assert exported("people", "winter") == LINES
