"""DRAGUN 2025: topics, short answers and labels of the automatic assessment of reports."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator

from reproduce._tables import Artefact, Figure, Files, Table, lines_of

FILE = "auto_report_assessments.csv"
LABELS = {"none": 11_841, "supports": 1_126, "partial": 1_126, "contradicts": 233}


def figures(files: Files) -> Iterator[Figure]:
    """Yield the counts that are printed, and those of labels."""
    rows = list(csv.DictReader(lines_of(files[FILE])))
    answers = {(row["topic_id"], row["answer_id"]) for row in rows}
    runs = {row["run_tag"] for row in rows}
    yield Figure("topics", 30, len({row["topic_id"] for row in rows}))
    yield Figure("short answers", 551, len(answers))
    of_all = len(answers) * (len(runs) + 2)
    yield Figure("pairs of answer and report, with the organizers' two runs", 15_428, of_all)
    yield Figure("lines of the file: answers x 26 runs", 551 * 26, len(rows))
    yield Figure("runs", 26, len(runs))
    labels = Counter(row["auto_assessment"] for row in rows)
    for label, number in LABELS.items():
        yield Figure(f"label {label}", number, labels[label])


TABLE = Table(
    "DRAGUN 2025: the automatic assessment of reports",
    "Zhang, Smucker and Clarke (arXiv 2602.24277) and the README of its resources; labels counted apart",
    figures,
    (
        Artefact(
            FILE,
            "github.com/trec-dragun/resources at 4b60fb6, auto_judge/output (CC BY 4.0)",
            "a048131662f0078e0a06994c079ad317",
        ),
    ),
    "The file leaves out the two runs of the organizers that served as examples, so that 551 x 28 is 15,428.",
)
