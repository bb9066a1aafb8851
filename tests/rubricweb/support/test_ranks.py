"""Ranks on the board of support, and who is clearly ahead."""

import json

import pytest

from rubricweb.corpus.models import Collection
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.support.board import Counting, board
from rubricweb.support.labels import raters

pytestmark = pytest.mark.django_db
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
