"""Labels of support and assignments of nuggets of the same answers come together in one run."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from grading.types import text_md5
from rubricweb.corpus.models import Collection, Response, Run
from rubricweb.support.models import LabelledAnswer
from tests.rubricweb.import_files import Folder, database, response

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
SENTENCES = {"The moons pull": "d1", "The sun helps": "d2"}
ORDERS = [("labels", "assignments"), ("assignments", "labels")]
TEXT = "The moon's pull. The sun helps."
"""The answer in the other file, with an apostrophe and stops that the labels have lost."""
NUGGETS = [
    {"text": "moon", "importance": "vital", "assignment": "support"},
    {"text": "sun", "importance": "okay", "assignment": "partial_support"},
]


def labels(run_tag: str, query_id: str = "t1") -> dict[str, object]:
    sentences = [
        {"text": text, "citations": [{"reference": doc_id, "support": "2"}]}
        for text, doc_id in SENTENCES.items()
    ]
    return {"topic_id": query_id, "run_id": run_tag, "sentences": sentences}


def assigned(run_tag: str, query_id: str = "t1") -> dict[str, object]:
    answer = {"run_id": run_tag, "answer_text": TEXT, "response_length": 6}
    return {"query": "What makes tides?", "qid": query_id, "nuggets": NUGGETS, **answer}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def files(folder):
    """The arguments of each kind of file; two runs have equal answers, and teams stand in the labels."""
    runs = ("maple.red", "maple.sky.v1")
    without_team = [run.partition(".")[2] for run in runs]
    return {
        "labels": ("--support-labels", folder.lines("labels.jsonl", *map(labels, runs)), "--by", "people"),
        "assignments": (
            "--assignments",
            folder.lines("a.jsonl", *map(assigned, without_team)),
            "--by",
            "people",
        ),
    }


def printed(command: str, *arguments: str) -> list[object]:
    out = io.StringIO()
    call_command(command, "autumn", *arguments, stdout=out, stderr=io.StringIO())
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("order", ORDERS, ids=" before ".join)
def test_both_orders_give_one_run_with_the_sentences_of_its_labels(folder, files, order):
    for kind in order:
        folder.load(*files[kind])
    assert sorted(Run.objects.values_list("run_tag", flat=True)) == (
        ["maple.red", "maple.sky.v1"] if order[0] == "labels" else ["red", "sky.v1"]
    )
    for answer in Response.objects.all():
        assert answer.sentences == [{"text": text, "citations": [[d, None]]} for text, d in SENTENCES.items()]
        assert answer.labelled_answers.get().labels == [[2], [2]]
    collection = Collection.objects.get()
    assert collection.topics.get().text == "What makes tides?"
    tops = [run.rankings.get().doc_ids for run in Run.objects.order_by("run_tag")]
    assert all(len(doc_ids) == 1 for doc_ids in tops)
    assert tops[0] != tops[1]
    before = database()
    for kind in reversed(order):
        assert not folder.load(*files[kind])["changed"]
    assert database() == before


@pytest.mark.parametrize("order", ORDERS, ids=" before ".join)
def test_both_files_come_out_as_they_came_in(folder, files, order):
    for kind in order:
        folder.load(*files[kind])
    assert printed("export_bank", "main", "--dialect", "assign", "--by", "people") == [
        assigned("red"),
        assigned("sky.v1"),
    ]
    assert printed("export_support", "--by", "people") == [labels("maple.red"), labels("maple.sky.v1")]


def test_both_come_in_at_once(folder, files):
    document = folder.load(*files["assignments"], *files["labels"][:2])
    assert document["counts"]["runs"]["new"] == 2
    assert LabelledAnswer.objects.count() == 2
    assert any("by the team before the first dot: red (maple.red)" in note for note in document["notes"])


def test_a_file_of_the_run_completes_an_answer_that_was_one_text(folder, files):
    folder.load(*files["assignments"])
    own = ("--responses", folder.lines("run.jsonl", response("red", "t1", *SENTENCES)))
    assert folder.load(*own)["counts"]["responses"] == {"new": 0, "changed": 1, "unchanged": 0}
    answer = Response.objects.get(run__run_tag="red")
    assert [sentence["text"] for sentence in answer.sentences] == list(SENTENCES)
    assert answer.passages_of == "whole"
    assert answer.run.rankings.get().doc_ids[0].startswith(text_md5(TEXT))
    assert not folder.load(*own)["changed"]
    other = folder.lines("run.jsonl", response("red", "t1", "Nobody knows."))
    with pytest.raises(CommandError, match=r"answers topic t1 otherwise than before \(sentences"):
        folder.load("--responses", other)


def test_a_team_of_two_runs_of_one_name_is_not_guessed(folder):
    folder.load(
        "--support-labels", folder.lines("l.jsonl", labels("a.base"), labels("b.base")), "--by", "people"
    )
    folder.load("--assignments", folder.lines("a.jsonl", assigned("base")), "--by", "people")
    assert sorted(Run.objects.values_list("run_tag", flat=True)) == ["a.base", "b.base", "base"]
