"""Assessments of whole answers by one author, as TREC DRAGUN's `score.py` reads them.

A line that came with a file is written in its place, with the label of now; answers that were graded here
follow in the collection's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grading.formats.assessments import BY_MODEL, BY_PEOPLE, LABEL_KEYS, PROMPT_CLASS, csv_lines, label_of
from grading.formats.assignments import PEOPLE
from grading.formats.banks.dragun import DIALECT, answer_ids
from grading.measures.cover import partial_grade
from rubricweb.banks.convert import BankScope
from rubricweb.banks.kept_assignments import KeptLine, kept_lines
from rubricweb.exports.assignments import WholeAnswer, whole_answers
from rubricweb.grades.configs import default_min_grade
from rubricweb.grades.models import GraderConfig

Cells = dict[str, str]


def assessment_lines(scope: BankScope, config: GraderConfig) -> Iterator[str]:
    """Yield the header, and a line of CSV for each item that the grader rated of each whole answer."""
    answers = {(a.topic.pk, a.run_tag): a for a in whole_answers(scope, config, DIALECT)}
    kept = kept_lines(scope.bank, config.llm) if config.prompt_class == PROMPT_CLASS else []
    labels = {key: _labels(answer, config) for key, answer in answers.items()}
    placed: list[tuple[int, int, Cells]] = []
    files: dict[str, int] = {}
    for topic, line in kept:
        key = topic, line.run_tag
        if key in answers:
            rows = _as_read(line, answers[key], labels[key])
            placed += [(files.setdefault(file, len(files)), number, cells) for file, number, cells in rows]
    read = [cells for _, _, cells in sorted(placed, key=lambda row: row[:2])]
    label_key = next((key for cells in read for key in LABEL_KEYS if key in cells), _label_key(config))
    new = [
        {
            "topic_id": answer.topic.query_id,
            "run_tag": answer.shown_tag,
            "answer_id": identity,
            label_key: label,
        }
        for key, answer in answers.items()
        for identity, label in labels[key].items()
    ]
    yield from csv_lines([*read, *new])


def _label_key(config: GraderConfig) -> str:
    return BY_PEOPLE if config.llm == PEOPLE else BY_MODEL


def _labels(answer: WholeAnswer, config: GraderConfig) -> Cells:
    """Return the label of each short answer that has a rating, by its id."""
    full = default_min_grade(config)
    ids = answer_ids(answer.items)
    return {
        ids[item.item_id]: label_of(answer.ratings[item.item_id], full=full, partial=partial_grade(full))
        for item in answer.items
        if item.item_id in answer.ratings
    }


def _as_read(line: KeptLine, answer: WholeAnswer, labels: Cells) -> Iterator[tuple[str, int, Cells]]:
    """Yield (file, number of its line, cells) of an answer's assessments, and take them from `labels`."""
    rows: list[Mapping[str, Any]] = line.line.get("assessments", [])
    for row in rows:
        label = labels.pop(row["answer_id"], None)
        if label is None:
            continue
        stated = {"topic_id": answer.topic.query_id, "answer_id": row["answer_id"]}
        if answer.shown_tag != answer.run_tag:
            stated["run_tag"] = answer.shown_tag
        cells = row["cells"] | stated | dict.fromkeys(LABEL_KEYS, label)
        yield row["file"], row["line"], {name: cells[name] for name in row["columns"]}
