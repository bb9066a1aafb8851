"""Ranks on the board of support, and who is clearly ahead."""

import json

import pytest
from django.core.management import call_command

from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import find_runs
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.support.board import Counting, board
from rubricweb.support.labels import raters
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db
ENDS = ("low", "high", "rank_best", "rank_worst")
LABELS = {"good": "2222222", "fair": "2222221", "bad": "0000000"}
"""The label of the one citation of each run, by topic."""


def imported(tmp_path, topics):
    path = tmp_path / "labels.jsonl"
    rows = [
        {
            "topic_id": f"t{topic}",
            "run_id": run,
            "sentences": [{"text": "Red.", "citations": [{"reference": "d1", "support": labels[topic]}]}],
        }
        for run, labels in LABELS.items()
        for topic in range(topics)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    import_collection("sea", files=ImportFiles(support=(path,), authors={path: "people"}), by=None)
    return Collection.objects.get()


def test_runs_that_the_topics_cannot_tell_apart_share_their_ranks(tmp_path):
    collection = imported(tmp_path, 7)
    read = board(collection, raters(collection)[0], Counting())
    assert [(row.run_tag, row.precision.ranks, row.recall.ranks) for row in read.rows] == [
        ("good", "1\N{EN DASH}2", "1\N{EN DASH}2"),
        ("fair", "1\N{EN DASH}2", "1\N{EN DASH}2"),
        ("bad", "3", "3"),
    ]
    assert read.ahead == (
        "Precision: good is first, 1 more is not clearly behind.",
        "Recall: good is first, 1 more is not clearly behind.",
    )
    assert read.rows[1].precision.high == 1


def test_with_few_topics_nobody_is_ahead(tmp_path):
    collection = imported(tmp_path, 3)
    read = board(collection, raters(collection)[0], Counting())
    assert {row.precision.ranks for row in read.rows} == {""}
    assert read.ahead[0] == "Precision: with 3 topics no run can be clearly ahead."


def test_the_board_of_a_task_ranks_its_runs_alone(tmp_path, client_of):
    """Equal to the board of a collection of two runs, on the page, in its files, and by command."""
    collection = imported(tmp_path, 7)
    collection.runs.exclude(run_tag="bad").update(task="RAG")
    collection.runs.filter(run_tag="bad").update(task="AG")
    rater = raters(collection)[0]
    of_task = repr(board(collection, rater, Counting(runs=find_runs(collection, "rag", ""))))
    collection.runs.filter(run_tag="bad").update(state="withdrawn")
    assert of_task == repr(board(collection, rater, Counting()))
    collection.runs.filter(run_tag="bad").update(state="accepted")
    organizer = MembershipFactory(collection=collection, role="organizer").user
    client, address = client_of(organizer), f"/collections/{collection.slug}/support/"
    page = client.get(address, {"task": "rag"})
    assert [row.run_tag for row in page.context["board"].rows] == ["good", "fair"]
    assert "task=rag" in page.context["query"]
    assert "no run named x here" in client.get(address, {"runs": "x"}).content.decode()
    scores = f"/collections/{collection.slug}/exports/support/scores/"
    text = b"".join(client.get(scores, {"runs": "ba*"}).streaming_content).decode()
    assert ("bad" in text, "good" in text) == (True, False)
    assert client.get(scores, {"runs": "x"}).status_code == 404


def test_the_command_writes_the_board_and_the_agreement_of_people_with_models(tmp_path, capsys):
    collection = imported(tmp_path, 7)
    model = tmp_path / "labels.jsonl"
    import_collection("sea", files=ImportFiles(support=(model,), authors={model: "judge"}), by=None)
    call_command("export_support", collection.slug, "--by", "people", "--format", "board")
    labels, first, _, header, *rows = capsys.readouterr().out.splitlines()
    assert labels == "# labels: People; the first citation of each sentence"
    assert first == "# order: Precision: good is first, 1 more is not clearly behind."
    assert header.split("\t")[:6] == ["run_tag", "precision", *(f"precision_{end}" for end in ENDS)]
    assert [row.split("\t")[4:6] for row in rows] == [["1", "2"], ["1", "2"], ["3", "3"]]
    for author in ("people", "judge"):
        call_command("export_support", collection.slug, "--by", author, "--format", "agreement")
        row = capsys.readouterr().out.splitlines()[-1].split("\t")
        assert row[:5] == ["judge", "from scratch", "21", "1.0", "1.0"]
