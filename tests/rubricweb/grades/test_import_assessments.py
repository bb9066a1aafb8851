"""DRAGUN's assessments become grades of a rubric's short answers, and come out again as they were."""

import csv
import html
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from grading.types import CONTRADICTS
from rubricweb.banks.models import Item
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Passage, Response, Run
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from tests.factories import MembershipFactory
from tests.rubricweb.import_files import Folder, database, response

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
SAMPLE, RUBRIC = FORMATS / "assessments.csv", FORMATS / "banks" / "dragun.json"
TOPIC = "msmarco_v2.1_doc_9_77"
ROWS = list(csv.DictReader(io.StringIO(SAMPLE.read_text())))
EXPECTED = {
    "supportive": {"pear": (4 / 2 + 0 + 0.5) / 7, "quince": (4 * 0.5 / 2 + 2 / 2 + 0) / 7},
    "contradictory": {"pear": (4 / 2) / 7, "quince": 1 / 7},
}
"""Weights 4, 2 and 1 of the questions with answers; the one without any counts nowhere."""


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def load(folder, *files, by="judge", **kept):
    named = [word for file in files or (SAMPLE,) for word in ("--assignments", file)]
    return folder.load("--bank", RUBRIC, *named, "--by", by, **kept)


def written(folder, rows, name="a.csv"):
    path = folder.path / name
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def scores(measure, *options):
    out = io.StringIO()
    by = ("--llm", "judge", "--prompt-class", "NuggetStance", "--measure", measure, *options)
    call_command("leaderboard", "autumn", *by, "--format", "json", stdout=out)
    return {row["run_tag"]: row["score"] for row in json.loads(out.getvalue())["rows"]}


def exported(by="judge"):
    out = io.StringIO()
    call_command("export_assessments", "autumn", "main", "--by", by, stdout=out)
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def test_labels_are_grades_and_contradicts_is_one_below_all(folder):
    document = load(folder)
    assert document["counts"]["grades"]["new"] == len(ROWS)
    assert GraderConfig.objects.get().prompt_class == "NuggetStance"
    rows = Grade.objects.filter(passage__doc_id=f"pear.{TOPIC}").order_by("pk")
    by_text = dict(rows.values_list("revision__text", "rating"))
    assert by_text["The author's brother is a partner"] == CONTRADICTS
    assert by_text["It is from 1998"] == 1
    assert rows.filter(rating=CONTRADICTS).get().reply.startswith("It says that the author has no brother")
    assert document["notes"][-1].startswith("assessments.csv: reports whose text is not known yet")
    before = database()
    assert not load(folder)["changed"]
    assert database() == before


@pytest.mark.parametrize("measure", EXPECTED)
def test_boards_have_the_scores_of_the_track(folder, measure):
    load(folder)
    assert scores(measure) == pytest.approx(EXPECTED[measure])


def test_no_other_measure_tells_a_contradiction_from_nothing(folder):
    load(folder)
    without = [
        row | {"auto_assessment": row["auto_assessment"].replace("contradicts", "none")} for row in ROWS
    ]
    measures = ("nuggets_all", "nuggets_strict_vital", "rubric_cover", "weighted_cover", "P_1")
    before = [scores(measure) for measure in measures]
    folder.load("--assignments", written(folder, without), "--by", "judge", "--replace")
    assert [scores(measure) for measure in measures] == before
    assert scores("contradictory") == {"pear": 0, "quince": 0}


def test_what_people_assessed_is_also_their_rating_and_comes_out(folder):
    rows = [{"annotation" if k == "auto_assessment" else k: v for k, v in row.items()} for row in ROWS]
    load(folder, written(folder, rows), by="people")
    assert sorted(HumanGrade.objects.values_list("rating", flat=True)) == [-5, -5, 0, 0, 0, 0, 1, 1, 2, 2]
    assert exported("people") == rows


def test_they_come_out_as_they_were_with_the_labels_of_now(folder):
    load(folder)
    assert exported() == ROWS
    Grade.objects.filter(rating=CONTRADICTS).update(rating=2)
    labels = [row["auto_assessment"] for row in ROWS]
    MatrixStamp.objects.update(number=new_stamp())
    assert [row["auto_assessment"] for row in exported()] == [
        "supports" if label == "contradicts" else label for label in labels
    ]


def test_the_browser_offers_the_same_file_and_says_before_what_it_lacks(folder, client_of):
    load(folder)
    bank = Item.objects.first().bank
    client = client_of(MembershipFactory(collection=bank.collection, role="organizer").user)
    address = f"/collections/autumn/exports/banks/{bank.pk}/assessments/"
    assert address in client.get(reverse("releases:share", args=["autumn"])).text
    page = client.get(address)
    assert page.context["export"].losses == []
    assert "This format keeps everything" in page.text
    file = client.get(html.unescape(page.context["file_address"]))
    assert list(csv.DictReader(io.StringIO(file.text))) == exported()
    Grade.objects.filter(passage__doc_id__startswith="pear").order_by("pk").first().delete()
    MatrixStamp.objects.update(number=new_stamp())
    assert f"topic {TOPIC}, run pear: no line for 1 of 5 short answers" in client.get(address).text


def test_a_nugget_file_lists_each_contradiction_as_lost(folder):
    load(folder)
    err = io.StringIO()
    call_command(
        "export_bank",
        "autumn",
        "main",
        "--dialect",
        "assign",
        "--by",
        "judge",
        stdout=io.StringIO(),
        stderr=err,
    )
    assert err.getvalue().count("contradicts it") == 2


def test_reports_supply_their_texts_later_and_before(folder):
    load(folder)
    report = folder.lines("pear.jsonl", response("pear", TOPIC, "A cider company owns it."))
    folder.load("--responses", report, "--passages-of", "whole")
    assert Passage.objects.get(doc_id=f"pear.{TOPIC}").text == "A cider company owns it."
    assert Response.objects.get(run__run_tag="pear").sentences[0]["text"] == "A cider company owns it."
    assert exported() == ROWS

    other = folder.lines("quince.jsonl", response("quince", TOPIC, "No text."))
    folder.load("--responses", other, "--passages-of", "whole", slug="winter")
    load(folder, slug="winter")
    run = Run.objects.get(collection__slug="winter", run_tag="quince")
    assert (
        Passage.objects.get(doc_id=run.rankings.get().doc_ids[0], collection=run.collection).text
        == "No text."
    )


@pytest.mark.parametrize(
    ("change", "line", "phrase"),
    [
        ({"answer_id": "na-99"}, 2, "answer_id 'na-99' is not in the rubric of"),
        (
            {"auto_assessment": "refutes"},
            2,
            "auto_assessment is 'refutes', expected supports, partial",
        ),
        ({"topic_id": "t"}, 2, "topic t has no rubric of DRAGUN in main, expected one before"),
        ({"run_tag": " "}, 2, "run_tag is empty, expected an id"),
        ({"answer_id": "na-2"}, 4, "is assessed for run pear here and in a.csv:2, expected each once"),
    ],
)
def test_bad_lines_are_refused_and_nothing_is_imported(folder, change, line, phrase):
    rows = [ROWS[0] | change, *ROWS[1:]]
    if change == {"answer_id": "na-2"}:
        rows = [ROWS[1], ROWS[1]]
    with pytest.raises(CommandError, match=phrase) as raised:
        load(folder, written(folder, rows))
    assert f"a.csv:{line}" in str(raised.value) or f"a.csv, line {line}" in str(raised.value)
    assert not Item.objects.exists()


def test_two_rubrics_of_a_topic_are_refused(folder):
    rubrics = folder.path / "rubrics"
    rubrics.mkdir()
    for name in ("a.json", "b.json"):
        (rubrics / name).write_text(RUBRIC.read_text())
    with pytest.raises(CommandError, match=f"topic {TOPIC} is in a.json, too, expected one file a topic"):
        folder.load("--bank", rubrics)
