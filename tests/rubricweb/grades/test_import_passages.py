"""Passages without grades, segments of documents, candidates of requests, and texts that are replaced."""

import gzip
import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from rubricweb.corpus.models import Passage, Pooled, Ranking, Topic
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade
from tests.factories import UserFactory
from tests.rubricweb.import_files import RED, Folder, passage, rated, uid

pytestmark = pytest.mark.django_db
FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def jsonl(*objects):
    return "".join(f"{json.dumps(one)}\n" for one in objects)


def test_passages_are_imported_without_grades(folder):
    document = folder.load("--passages", FORMATS / "passages.jsonl")
    assert document["counts"]["passages"] == {"new": 2, "changed": 0, "unchanged": 0}
    row = Passage.objects.get(doc_id="d1")
    assert (row.title, row.url) == ("Honey", "https://example.org/honey")
    assert not Pooled.objects.exists()
    again = folder.load("--passages", FORMATS / "passages.jsonl", "--passages", FORMATS / "passages.tsv")
    assert again["counts"]["passages"] == {"new": 0, "changed": 0, "unchanged": 2}
    assert not again["changed"]


def test_packed_files_and_many_passages(folder):
    rows = jsonl(*({"id": f"d{number}", "text": f"text {number}"} for number in range(1_203)))
    path = folder.path / "passages"
    path.write_bytes(gzip.compress(rows.encode()))
    assert folder.load("--passages", path)["counts"]["passages"]["new"] == 1_203


def test_documents_are_cut_into_windows(folder):
    text = " ".join(f"Sentence {number} stands here." for number in range(12))
    path = folder.write("documents.jsonl", jsonl({"docid": "d1", "body": text, "title": "Twelve"}))
    folder.load("--passages", path, "--segment")
    first, second = Passage.objects.order_by("pk")
    assert (first.doc_id, second.doc_id) == ("d1#0_0", f"d1#1_{text.index('Sentence 5')}")
    assert text.startswith(first.text)
    assert text.endswith(second.text)
    assert {first.title, second.title} == {"Twelve"}


def test_candidates_of_requests_are_pooled_and_ranked(folder):
    folder.load("--passages", FORMATS / "reranker_requests.jsonl", "--candidates-run", "first-stage")
    assert dict(Topic.objects.values_list("query_id", "text")) == {
        "1": "how do bees make honey",
        "2": "why do leaves change colour",
    }
    pooled = Pooled.objects.order_by("topic__position", "position")
    assert list(pooled.values_list("topic__query_id", "passage__doc_id")) == [
        ("1", "d1"),
        ("1", "d3"),
        ("2", "d2"),
    ]
    rows = Ranking.objects.filter(run__run_tag="first-stage").order_by("topic__position")
    assert [(row.doc_ids, row.scores) for row in rows] == [(["d1", "d3"], [12.5, 3.25]), (["d2"], [7.0])]


def test_candidates_of_unknown_topics_are_refused(folder):
    with pytest.raises(
        CommandError, match=r"^reranker_requests.jsonl:1: query 1 is unknown, expected one of"
    ):
        folder.load("--queries", folder.queries(), "--passages", FORMATS / "reranker_requests.jsonl")
    assert not Passage.objects.exists()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            {"id": "d1", "text": "other"},
            r"^p.jsonl:1: passage d1 has another text than in the collection, exp",
        ),
        ({"id": "d1", "text": "one", "title": "B"}, r"^p.jsonl:1: passage d1 has another title than in the"),
        ({"id": "d 1", "text": "one"}, r"^p.jsonl:1: the passage id is 'd 1', expected one word"),
    ],
)
def test_what_contradicts_is_refused_with_its_line(folder, second, message):
    folder.load("--passages", folder.write("first.jsonl", jsonl({"id": "d1", "text": "one", "title": "A"})))
    with pytest.raises(CommandError, match=message):
        folder.load("--passages", folder.write("p.jsonl", jsonl(second)))


def test_two_texts_in_one_file_are_refused(folder):
    path = folder.write("p.jsonl", jsonl({"id": "d1", "text": "one"}, {"id": "d1", "text": "two"}))
    with pytest.raises(CommandError, match=r"^p.jsonl:2: passage d1 has another text than before"):
        folder.load("--passages", path)


def test_another_text_takes_the_grades_of_the_old_one(folder):
    old, kept = passage("d1", rated({uid(RED): 4}), text="old"), passage("d2", rated({uid(RED): 3}))
    folder.load("--graded", folder.graded(old, kept))
    grade = Grade.objects.get(passage__doc_id="d1")
    HumanGrade.objects.create(
        topic=grade.topic,
        revision=grade.revision,
        passage=grade.passage,
        rating=5,
        number=1,
        how=HumanGrade.How.GRID,
        by=UserFactory(),
    )
    path = folder.write("p.jsonl", jsonl({"id": "d1", "text": "new"}))
    document = folder.load("--passages", path, "--replace")
    assert Passage.objects.get(doc_id="d1").text == "new"
    assert list(Grade.objects.values_list("passage__doc_id", "rating")) == [("d2", 3)]
    assert HumanGrade.objects.count() == 1
    (note,) = document["notes"]
    assert note.startswith("1 passages have another text now: 1 grades of the old texts were removed")
    assert note.endswith("1 ratings by people are of the old texts and stay")
