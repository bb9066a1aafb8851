"""Assessments of reports as TREC DRAGUN has them: what each report says of each short answer of a rubric.

A line of CSV is one answer of the rubric beside one report: `topic_id, run_tag, answer_id`, the label under
`annotation` (people) or `auto_assessment` (a model), and more columns, such as a rationale. The texts of
answers and reports are in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.reading import write_lines
from grading.formats.tables import csv_line, csv_rows
from grading.types import CONTRADICTS

KEYS = ("topic_id", "run_tag", "answer_id")
BY_PEOPLE, BY_MODEL = LABEL_KEYS = ("annotation", "auto_assessment")
RATIONALE = "auto_rationale"
PROMPT_CLASS = "NuggetStance"
"""What assessments answer, whoever made them."""
RATINGS: Mapping[str, int] = {"supports": 2, "partial": 1, "contradicts": CONTRADICTS, "none": 0}
WORDS: Mapping[int, str] = {rating: word for word, rating in RATINGS.items()}


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a report says of a short answer."""

    cells: Mapping[str, str]
    """All columns, in the file's order."""
    path: Path = field(compare=False)
    line: int = field(compare=False)

    @property
    def topic_and_run(self) -> tuple[str, str]:
        return self.cells["topic_id"], self.cells["run_tag"]

    @property
    def answer_id(self) -> str:
        return self.cells["answer_id"]

    @property
    def label_key(self) -> str:
        return BY_PEOPLE if BY_PEOPLE in self.cells else BY_MODEL

    @property
    def label(self) -> str:
        return self.cells[self.label_key]

    @property
    def rationale(self) -> str:
        return self.cells.get(RATIONALE, "")

    def error(self, problem: str) -> BadFormat:
        return BadFormat(problem, file=self.path.name, line=self.line)


def read_assessments(path: Path) -> Iterator[Assessment]:
    """Yield the assessments in the file's order.

    Raises `BadFormat` with file and line for a column or an id that is missing, an unknown label, and an
    answer that is assessed twice for a report.
    """
    return read_all([path])


def read_all(paths: Iterable[Path]) -> Iterator[Assessment]:
    """Yield the assessments of some files of one author. Raises as `read_assessments`."""
    first: dict[tuple[str, ...], Assessment] = {}
    for each in chain.from_iterable(_of_file(path) for path in paths):
        before = first.setdefault((*each.topic_and_run, each.answer_id), each)
        if before is not each:
            topic, run = each.topic_and_run
            raise each.error(
                f"answer {each.answer_id} of topic {topic} is assessed for run {run} here and in "
                f"{before.path.name}:{before.line}, expected each once"
            )
        yield each


def _of_file(path: Path) -> Iterator[Assessment]:
    for line, cells in csv_rows(path, KEYS):
        assessment = Assessment(cells, path, line)
        keys = [key for key in LABEL_KEYS if key in cells]
        if len(keys) != 1:
            problem = f"{len(keys)} columns of labels, expected {' or '.join(LABEL_KEYS)}"
            raise BadFormat(problem, file=path.name, line=1)
        for key in KEYS:
            if not cells[key].strip():
                raise assessment.error(f"{key} is empty, expected an id")
        if assessment.label not in RATINGS:
            raise assessment.error(f"{keys[0]} is {assessment.label!r}, expected {', '.join(RATINGS)}")
        yield assessment


def label_of(rating: int, *, full: int, partial: int) -> str:
    """Return the label for a rating, by the thresholds of its scale.

    >>> [label_of(rating, full=2, partial=1) for rating in (2, 1, 0, CONTRADICTS)]
    ['supports', 'partial', 'none', 'contradicts']
    """
    if rating == CONTRADICTS:
        return WORDS[CONTRADICTS]
    return WORDS[2 if rating >= full else 1 if rating >= partial else 0]


def by_report(assessments: Iterable[Assessment]) -> list[list[Assessment]]:
    """Return the assessments of each report, in the order of the file."""
    reports: dict[tuple[str, str], list[Assessment]] = {}
    for each in assessments:
        reports.setdefault(each.topic_and_run, []).append(each)
    return list(reports.values())


def write_assessments(path: Path, assessments: Iterable[Assessment]) -> None:
    write_lines(path, (line.encode() for line in csv_lines([each.cells for each in assessments])))


def csv_lines(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield the header and a line an assessment; columns that some of them lack are empty there."""
    names = list(dict.fromkeys(name for row in rows for name in row)) or [*KEYS, BY_MODEL]
    yield csv_line(names)
    for row in rows:
        yield csv_line(row.get(name, "") for name in names)


def _recognises(sample: Sample) -> bool:
    header = {name.strip('" ') for name in sample.lines[0].split(",")}
    return not sample.is_json and header.issuperset(KEYS)


ASSESSMENTS = Format(
    "dragun-assessments",
    "DRAGUN assessments of reports",
    Content.ASSESSMENTS,
    _recognises,
    read_assessments,
    write_assessments,
    is_lossless=True,
    source="TREC DRAGUN 2025 (arXiv 2602.24277)",
)
