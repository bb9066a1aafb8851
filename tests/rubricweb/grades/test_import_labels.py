"""Labels of UMBRELA are grades of a grader, never judgments."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

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
    with pytest.raises(CommandError, match="--labels and --labels-of go together"):
        folder.load(*LABELS[:2])


def test_nugget_grades_are_grades_of_the_named_judge(folder):
    document = folder.load("--nugget-grades", FORMATS / "nugget_grades.jsonl", "--nugget-grader", "judge a")
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
