"""Labels of a judge as TREC qrels: grades of passages by a model, never judgments of people.

The four columns name neither the judge nor the scale: whoever imports the file says both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.graded_records import DIRECT_ITEM, GradedBy, GradedLine, GradedPassage, ImportedGrade
from grading.formats.reading import encoded_lines
from grading.formats.trec import numbered_qrels
from grading.types import MAX_RATING, ItemKind, Outcome, Purpose, Qrel

QRELS = "trec-qrels"
"""The name of their format, which is that of people's judgments too."""
FILE_MD5 = "file_md5"
"""The option of a grader whose labels came in one file: labels of another file are another grader's."""
_CLASSES = {top: f"Qrels-0-{top}" for top in range(1, MAX_RATING + 1)}
SCALES: Mapping[str, tuple[tuple[int, int], int]] = {
    name: ((0, top), (top + 1) // 2) for top, name in _CLASSES.items()
}
"""Prompt class -> (lowest label, highest) and the first that counts as relevant: the upper half."""


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """The labels of one judge."""

    path: Path
    labels: tuple[tuple[int, Qrel], ...]
    """(line, label) of each pair once, in the file's order."""
    md5: str
    """Of the file without its compression."""

    @property
    def highest(self) -> int:
        return max(qrel.relevance for _, qrel in self.labels)


def read_judge(path: Path) -> JudgeFile:
    """Read a judge's labels.

    Raises `BadFormat` with file and line for another number of columns, a label that is no whole number from
    0 to 5, and a pair with two labels; a line that repeats another is left out.
    """
    labels: dict[tuple[str, str], tuple[int, Qrel]] = {}
    for line, qrel in numbered_qrels(path):
        _refuse_outside(qrel, MAX_RATING, path, line)
        first, before = labels.setdefault((qrel.query_id, qrel.doc_id), (line, qrel))
        if before.relevance != qrel.relevance:
            problem = (
                f"{qrel.doc_id} has label {qrel.relevance} for {qrel.query_id} and label "
                f"{before.relevance} on line {first}, expected one label a passage"
            )
            raise BadFormat(problem, file=path.name, line=line)
    digest = hashlib.md5(usedforsecurity=False)
    for _, text in encoded_lines(path):
        digest.update(text + b"\n")
    return JudgeFile(path, tuple(labels.values()), digest.hexdigest())


def scale_of_files(files: Iterable[JudgeFile]) -> int:
    """Return the top of a scale that nobody named: the highest label of all files, at least 1."""
    return max(1, *(file.highest for file in files))


def judge_lines(file: JudgeFile, *, judge: str, top: int) -> Iterator[GradedLine]:
    """Yield the labels of each topic, as a graded file would have them, without texts.

    Raises `BadFormat` with file and line for a label above `top`.
    """
    by = GradedBy(ItemKind.DIRECT, judge, _CLASSES[top], Purpose.DIRECT, ((FILE_MD5, file.md5),))
    for line, qrel in file.labels:
        _refuse_outside(qrel, top, file.path, line)
    in_order = sorted(file.labels, key=lambda label: label[1].query_id)  # stable: a topic keeps its order
    for query_id, labels in groupby(in_order, key=lambda label: label[1].query_id):
        listed = list(labels)
        passages = [
            GradedPassage(
                qrel.doc_id,
                "",
                [],
                [],
                [ImportedGrade(DIRECT_ITEM, by, qrel.relevance, "", Outcome.NUMERIC)],
            )
            for _, qrel in listed
        ]
        yield GradedLine(query_id, listed[0][0], passages)


def _refuse_outside(qrel: Qrel, top: int, path: Path, line: int) -> None:
    if not 0 <= qrel.relevance <= top:
        problem = f"the label of {qrel.doc_id} for {qrel.query_id} is {qrel.relevance}, expected 0 to {top}"
        raise BadFormat(problem, file=path.name, line=line)
