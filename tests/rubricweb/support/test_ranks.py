"""Ranks on the board of support, and who is clearly ahead."""

import json

import pytest
from django.core.management import call_command

from rubricweb.corpus.models import Collection
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.support.board import Counting, board
from rubricweb.support.labels import raters

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
