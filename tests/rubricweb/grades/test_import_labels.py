"""Labels of UMBRELA are grades of a grader, never judgments."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rubricweb.corpus.models import Judgment, Topic
from rubricweb.grades.configs import default_min_grade, scale_of, threshold_note
from rubricweb.grades.models import Grade, GraderConfig
from tests.rubricweb.import_files import Folder

pytestmark = pytest.mark.django_db
FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
LABELS = ("--labels", FORMATS / "umbrela.jsonl", "--labels-of", FORMATS / "reranker_requests.jsonl")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_labels_are_grades_of_the_model(folder):
    document = folder.load(*LABELS)
    assert document["counts"]["grades"] == {"new": 3, "changed": 0, "unchanged": 0}
    config = GraderConfig.objects.get()
    assert (config.llm, config.prompt_class, config.purpose) == ("gpt-4o", "Umbrela", "direct")
    assert (scale_of(config), default_min_grade(config), threshold_note(config)) == ((0, 3), 2, "")
    rows = Grade.objects.order_by("passage__doc_id").values_list("passage__doc_id", "rating", "outcome")
    assert list(rows) == [("d1", 3, "numeric"), ("d2", 2, "numeric"), ("d3", None, "failed")]
    assert not Judgment.objects.exists()
    assert Topic.objects.get(query_id="1").text == "how do bees make honey"
    assert not folder.load(*LABELS)["changed"]


def test_the_output_alone_says_nothing(folder):
    with pytest.raises(CommandError, match="does not say whose labels it has, expected --by NAME"):
        folder.load(*LABELS[:2])


def judged(folder, name="a.qrels", text="t1 0 d1 3\nt1 0 d2 0\n", judge="gpt v1"):
    return "--labels", folder.write(name, text), "--by", f"{name}={judge}"


def test_qrels_of_a_judge_are_grades_and_no_judgments(folder):
    passages = folder.lines("passages.jsonl", {"docid": "d1", "text": "Leaves."})
    document = folder.load("--passages", passages, *judged(folder), "--scale", "4")
    assert document["counts"]["grades"] == {"new": 2, "changed": 0, "unchanged": 0}
    assert document["notes"] == [
        "1 labelled passages have no text yet (d2): their labels count; --passages supplies texts"
    ]
    config = GraderConfig.objects.get()
    assert str(config) == "gpt v1 · Qrels-0-4"
    assert (scale_of(config), default_min_grade(config), threshold_note(config)) == ((0, 4), 2, "")
    assert len(config.options["file_md5"]) == 32
    assert not Judgment.objects.exists()
    assert not folder.load(*judged(folder, "packed.qrels.gz"), "--scale", "4")["changed"]
    folder.load("--passages", folder.lines("more.jsonl", {"docid": "d2", "text": "Frost."}))
    assert Grade.objects.get(passage__doc_id="d2").passage.text == "Frost."


def test_judges_of_one_import_share_the_scale_of_all(folder):
    document = folder.load(*judged(folder), *judged(folder, "b.qrels", "t1 0 d1 4\n", "qwen v2"))
    assert "a.qrels, b.qrels: the scale is 0 to 4, by the highest label" in document["notes"][0]
    names = GraderConfig.objects.values_list("llm", "prompt_class")
    assert sorted(names) == [("gpt v1", "Qrels-0-4"), ("qwen v2", "Qrels-0-4")]


def test_agreement_of_judges_needs_no_judgments(folder):
    other = judged(folder, "b.qrels", "t1 0 d1 3\nt1 0 d2 1\nt1 0 d3 0\n", "qwen v2")
    folder.load(*judged(folder), *other)
    out = io.StringIO()
    call_command("agreement", "autumn", "--format", "json", stdout=out)
    (pair,) = json.loads(out.getvalue())["between_graders"]
    assert (pair["passages"], pair["kappa"], pair["graded_kappa"]) == (2, 1, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("t1 0 d1 4\n", ("--scale", "3"), "a.qrels:1: the label of d1 for t1 is 4, expected 0 to 3"),
        ("t1 0 d1\n", (), "a.qrels:1: 3 columns, expected 4"),
        ("t1 Q0 d1 1 2.0 bm25\n", (), "a.qrels:1: 6 columns, expected 4"),
        (
            "t1 0 d1 1\n",
            ("--labels-of", "requests.jsonl"),
            "--by a.qrels=gpt v1: 0 files that have an author",
        ),
        ("t1 0 d1 1\n", ("--by", "a", "--by", "b"), "--by a, b: 1 files that have an author"),
    ],
)
def test_bad_labels_of_judges_change_nothing(folder, text, options, message):
    with pytest.raises(CommandError, match=message):
        folder.load(*judged(folder, text=text), *options)
    assert not GraderConfig.objects.exists()


def test_other_labels_are_another_judges(folder):
    folder.load(*judged(folder))
    with pytest.raises(CommandError, match=r"gpt v1 has labels of another file .* expected another name"):
        folder.load(*judged(folder, text="t1 0 d1 2\n"))
    with pytest.raises(CommandError, match="by people, expected a grader's name"):
        folder.load(*judged(folder, judge="people"))


def test_labels_of_unknown_topics_are_left_out(folder):
    folder.load("--queries", folder.queries())
    text = "t1 0 d1 1\nt9 0 d1 1\n"
    document = folder.load("--queries", folder.queries(), *judged(folder, text=text))
    assert "a.qrels: left out 1 labels of 1 topics that the collection lacks" in document["notes"]
    with pytest.raises(CommandError, match=r"b.qrels:1: no topic of the file is known"):
        folder.load("--queries", folder.queries(), *judged(folder, "b.qrels", "t9 0 d1 1\n", "b"))


def test_nugget_grades_are_grades_of_the_named_judge(folder):
    document = folder.load("--nugget-grades", FORMATS / "nugget_grades.jsonl", "--by", "judge a")
    assert document["counts"]["grades"] == {"new": 6, "changed": 0, "unchanged": 0}
    assert set(GraderConfig.objects.values_list("llm", "purpose")) == {
        ("judge a", "rate"),
        ("judge a", "extract"),
    }
    rows = Grade.objects.filter(passage__doc_id__startswith="shard").order_by("passage__doc_id")
    assert list(rows.values_list("passage__doc_id", "rating", "reply")) == [
        ("shard_1_2#0", 2, "Visits only."),
        ("shard_1_2#1", 4, "Nectar."),
    ]
    assert Grade.objects.get(config__purpose="extract").answer == "Bees collect nectar."


def test_nugget_grades_without_texts_are_of_the_responses(folder):
    line = {"run_id": "run1", "query_id": "bees", "nugget_id": "n1", "question": "Do they?", "grade": 3}
    path = folder.write("grades.jsonl", json.dumps(line) + "\n")
    folder.load("--responses", FORMATS / "autojudge.jsonl", "--nugget-grades", path)
    assert Grade.objects.get().passage.text == "Bees dance. They sleep, too."
