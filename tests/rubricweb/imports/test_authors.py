"""Files that do not say who made their labels: in the browser somebody names the author."""

import json
import re

import pytest

from rubricweb.corpus.models import Judgment, Response
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import GraderConfig
from rubricweb.imports import queries, undo
from rubricweb.imports.models import Import
from tests.grading.formats.samples import FOLDER as FORMATS
from tests.rubricweb.imports.conftest import OPTIONS, PAGE, worked
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
FIRST, SECOND = "t1 0 d1 3\nt1 0 d2 0\n", "t1 0 d1 2\nt1 0 d2 1\n"
NUGGET = {"text": "Anthocyanins are red", "importance": "vital", "assignment": "support"}
ANSWER = {"query": "leaves", "qid": "t1", "nuggets": [NUGGET], "run_id": "a", "answer_text": "Red."}


@pytest.fixture
def name(client):
    """`name(batch, **{"a.qrels": "judge"})` names authors of files, and a worker checks them again."""

    def named(batch: Import, authors: dict[str, str]) -> Import:
        for file, author in authors.items():
            row = batch.files.get(name=file)
            client.post(f"{PAGE}{batch.pk}/files/{row.pk}/", {"deed": "author", "author": author})
            batch = worked(batch)
        return batch

    return named


def test_qrels_become_labels_of_the_judges_that_are_named(upload, client, name, started):
    batch = upload({"a.qrels": FIRST, "b.qrels": SECOND})
    page = re.sub(r"\s+", " ", markup(client.get(f"{PAGE}{batch.pk}/")))
    assert "a.qrels has qrels too, expected one such file an import (or a judge named whose labels" in page
    assert "The model that made these labels. Empty: people judged." in page
    batch = name(batch, {"a.qrels": "gpt  v1 ", "b.qrels": "qwen"})
    assert [file.read for file in batch.files.all()] == ["2 labels", "2 labels"]
    assert "the scale is 0 to 3" in batch.notes[0]
    client.post(f"{PAGE}{batch.pk}/check/", OPTIONS | {"scale": "4"})
    assert started(worked(batch), scale="4").is_imported
    names = GraderConfig.objects.values_list("llm", "prompt_class", "purpose")
    assert sorted(names) == [("gpt v1", "Qrels-0-4", "direct"), ("qwen", "Qrels-0-4", "direct")]
    assert not Judgment.objects.exists()


def test_an_author_makes_answers_and_grades_of_assignments(upload, client, name, started):
    batch = upload({"a.jsonl": json.dumps(ANSWER)})
    assert batch.files.get().read == "1 item"
    batch = name(batch, {"a.jsonl": "people"})
    assert batch.files.get().read == "1 answer"
    batch = started(batch)
    assert (Response.objects.count(), HumanGrade.objects.get().rating) == (1, 2)
    assert "by people" in re.sub(r"<[^>]+>", "", markup(client.get(f"{PAGE}{batch.pk}/")))
    assert undo.why_not(batch) == ""
    undo.undo_import(batch, by=None)
    assert not Response.objects.exists()
    assert not HumanGrade.objects.exists()


def test_an_empty_name_takes_the_author_back(upload, name):
    batch = name(upload({"a.qrels": FIRST}), {"a.qrels": "gpt"})
    assert batch.files.get().read == "2 labels"
    assert name(batch, {"a.qrels": " "}).files.get().read == "2 judgments"


def test_files_that_wait_for_their_author_are_not_refused(upload, client, name, started):
    answers = (FORMATS / "support_answers.jsonl").read_text(encoding="utf-8")
    batch = upload({"labels.jsonl": answers, "battles.csv": "model_a,model_b,winner\na,b,tie\n"})
    batch = name(batch, {"labels.jsonl": ""})
    page = re.sub(r"\s+", " ", markup(client.get(f"{PAGE}{batch.pk}/")))
    assert "Name the author of 1 file. Nothing is imported yet." in page
    assert ">whose?</span>" in page
    assert 'data-state="refused"' not in page
    batch = name(batch, {"labels.jsonl": "people"})
    page = re.sub(r"\s+", " ", markup(client.get(f"{PAGE}{batch.pk}/")))
    assert "The person or model that voted, where a line names no judge." in page
    assert "Name the author of 1 file." in page
    assert not queries.batch_of(batch).is_ready
    batch = started(name(batch, {"battles.csv": "ann"}))
    assert batch.is_imported
    counts = {row.label: (row.before, row.new, row.after) for row in queries.batch_of(batch).counts}
    assert (counts["labelled answers"], counts["votes"]) == ((0, 3, 3), (0, 1, 1))
    page = re.sub(r"\s+", " ", markup(client.get(f"{PAGE}{batch.pk}/")))
    assert "1 vote by ann (1)" in page
    assert "battles.csv: 1 vote" not in page


def test_the_author_of_grades_of_nuggets_is_named_beside_the_file(upload, name, started):
    content = (FORMATS / "nugget_grades.jsonl").read_text(encoding="utf-8")
    started(name(upload({"grades.jsonl": content}), {"grades.jsonl": "judge a"}))
    assert set(GraderConfig.objects.values_list("llm", flat=True)) == {"judge a"}
