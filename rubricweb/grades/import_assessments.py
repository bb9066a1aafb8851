"""Join assessments of reports with the rubric that they are of, as assigned answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grading.formats import read_sample
from grading.formats.assessments import (
    ASSESSMENTS,
    LABEL_KEYS,
    PROMPT_CLASS,
    RATINGS,
    Assessment,
    by_report,
    read_all,
)
from grading.formats.assignments import AssignedAnswer
from grading.formats.banks.dragun import DIALECT, answer_id
from grading.formats.banks.records import BankItem
from rubricweb.banks.convert import BankScope, bank_lines
from rubricweb.banks.models import Bank

LABELS = ("topic_id", "answer_id", *LABEL_KEYS)
"""Columns that the grades say, so that a kept line need not."""


def are_assessments(path: Path) -> bool:
    return ASSESSMENTS.recognises(read_sample(path))


def assessed_answers(paths: Sequence[Path], bank: Bank | None, bank_name: str) -> list[AssignedAnswer]:
    """Return the reports of the files, each with the ratings of the short answers of its topic's rubric.

    A report has no text in these files. Raises BadFormat as `read_all`, and for a topic without a rubric and
    for an answer that the rubric lacks.
    """
    lines = bank_lines(BankScope(bank, has_secrets=True), DIALECT) if bank else []
    rubrics = {line.query_id: line for line in lines}
    by_id = {
        query_id: {identity: item for item in line.items if (identity := answer_id(item))}
        for query_id, line in rubrics.items()
    }
    answers = []
    for report in by_report(_of_rubrics(read_all(paths), by_id, bank_name)):
        query_id, run_id = report[0].topic_and_run
        items = [by_id[query_id][each.answer_id] for each in report]
        answers.append(
            AssignedAnswer(
                replace(rubrics[query_id], line=report[0].line, items=items),
                run_id,
                None,
                tuple(RATINGS[each.label] for each in report),
                {"assessments": [_kept(each) for each in report]},
                report[0].path,
                None,
                PROMPT_CLASS,
                tuple(each.rationale for each in report),
            )
        )
    return answers


def _of_rubrics(
    assessments: Iterable[Assessment], by_id: Mapping[str, Mapping[str, BankItem]], bank_name: str
) -> Iterable[Assessment]:
    for each in assessments:
        query_id, _ = each.topic_and_run
        if not by_id.get(query_id):
            problem = f"topic {query_id} has no rubric of DRAGUN in {bank_name}"
            raise each.error(f"{problem}, expected one before its assessments (--bank RUBRIC)")
        if each.answer_id not in by_id[query_id]:
            ids = ", ".join(by_id[query_id])
            raise each.error(
                f"answer_id {each.answer_id!r} is not in the rubric of {query_id}, expected {ids}"
            )
        yield each


def _kept(assessment: Assessment) -> dict[str, object]:
    """Return what the grades do not say of a line: its place, its columns, and all but LABELS in them."""
    cells = {name: cell for name, cell in assessment.cells.items() if name not in LABELS}
    return {
        "file": assessment.path.name,
        "line": assessment.line,
        "answer_id": assessment.answer_id,
        "columns": list(assessment.cells),
        "cells": cells,
    }
