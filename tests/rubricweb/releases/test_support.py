"""Labels of support in a release: by author, without texts where runs stay out, by its names of runs."""

import json

import pytest

from rubricweb.corpus.models import Collection
from rubricweb.grades.import_collection import ImportFiles, import_collection

pytestmark = pytest.mark.django_db
NAMES = ("judge-a.jsonl", "judge-a_first.ir_measures", "people.jsonl", "people_first.ir_measures")
ANSWER = {
    "topic_id": "t1",
    "run_id": "sea.tide",
    "sentences": [
        {"text": "Red.", "sentenceID": 0, "citations": [{"reference": "d1", "support": "2"}]},
        {"text": "", "sentenceID": 1, "citations": []},
    ],
}


@pytest.fixture
def labelled(tmp_path):
    paths = [tmp_path / "people.jsonl", tmp_path / "model.jsonl"]
    for path in paths:
        path.write_text(json.dumps(ANSWER) + "\n")
    authors = dict(zip(paths, ("people", "judge a"), strict=True))
    import_collection("sea", files=ImportFiles(support=tuple(paths), authors=authors), by=None)
    return Collection.objects.get()


def test_each_author_has_labels_and_scores(labelled, released):
    files = released(labelled, has_runs=True)
    names = sorted(name for name in files if name.startswith("support/"))
    assert names == [f"support/{name}" for name in NAMES]
    assert json.loads(files["support/people.jsonl"]) == ANSWER
    assert (
        files["support/people_first.ir_measures"].decode().splitlines()[-1]
        == "sea.tide\tall\tsupport_recall\t0.5"
    )
    assert "labels of support by people" in files["README.md"].decode()


def test_without_runs_there_are_no_texts_of_theirs(labelled, released):
    (line,) = released(labelled)["support/people.jsonl"].decode().splitlines()
    written = json.loads(line)
    assert [sentence["text"] for sentence in written["sentences"]] == ["", ""]
    assert written["sentences"][0]["citations"] == [{"reference": "d1", "support": "2"}]


def test_runs_have_the_names_of_the_release(labelled, released):
    files = released(labelled, has_runs=True, is_anonymous=True)
    assert not [name for name, content in files.items() if b"tide" in content]
    assert json.loads(files["support/people.jsonl"])["run_id"].startswith("run-")
