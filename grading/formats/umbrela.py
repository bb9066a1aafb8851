"""Output of UMBRELA: labels of a grader, in the order of the requests that it was given.

The output names neither topics nor passages, so that only the request file says whose label a line has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.envelopes import record_lines
from grading.formats.graded_records import DIRECT_ITEM, GradedBy, GradedLine, GradedPassage, ImportedGrade
from grading.formats.json_lines import Number, records, whole
from grading.formats.passages import PassageEntry, read_passages
from grading.types import ItemKind, Outcome, Purpose

MOST = 4
"""The highest label: 3 of UMBRELA's own scale, 4 of TREC RAG 2025."""
CLASSES = {3: "Umbrela", 4: "Umbrela-0-4"}
"""The prompt class of imported labels, by the highest label of their scale."""
SCALES: Mapping[str, tuple[tuple[int, int], int]] = {name: ((0, top), 2) for top, name in CLASSES.items()}
"""Prompt class -> (lowest label, highest) and the first that counts as relevant (arXiv 2406.06519)."""
_SHAPE = '{"query", "passage", "judgment", "model"?, "prediction"?, "result_status"?}'


class _OutputJson(msgspec.Struct):
    query: str
    passage: str
    judgment: Number | None
    model: str = "umbrela"
    prediction: object = None
    result_status: int | bool | None = None


_DECODER = msgspec.json.Decoder(_OutputJson)


@dataclass(frozen=True, slots=True)
class UmbrelaOutput:
    """One label; None where the reply could not be read, which UMBRELA writes as 0."""

    query: str
    passage: str
    label: int | None
    model: str
    reply: str
    line: int


@dataclass(frozen=True, slots=True)
class LabelledTopic:
    """The labels of one request, as a graded file would have them."""

    query_text: str
    graded: GradedLine


def read_umbrela(path: Path) -> Iterator[UmbrelaOutput]:
    """Yield the labels in the file's order. Raises `BadFormat` for a label that is not from 0 to 4."""
    return records(path, _DECODER, _output, shape=_SHAPE, numbered=record_lines(path))


def read_labels(path: Path, requests: Path) -> Iterator[LabelledTopic]:
    """Yield the labels of each request with the ids of its topic and candidates.

    Raises `BadFormat` where the two files differ in a query, a passage or the number of candidates.
    """
    top = 4 if any(output.label == MOST for output in read_umbrela(path)) else 3
    pairs = zip_longest(read_umbrela(path), read_passages(requests))
    checked = (_same(path, requests, output, entry) for output, entry in pairs)
    for (query_id, _), labelled in groupby(checked, key=lambda pair: (pair[1].query_id, pair[1].line)):
        listed = list(labelled)
        passages = [
            GradedPassage(entry.doc_id, entry.text, [], [], [_grade(output, CLASSES[top])])
            for output, entry in listed
        ]
        graded = GradedLine(query_id or "", listed[0][0].line, passages)
        yield LabelledTopic(listed[0][1].query_text, graded)


def _output(raw: _OutputJson, line: int) -> UmbrelaOutput:
    has_failed = raw.judgment is None or raw.result_status == 0
    label = None if has_failed else whole(raw.judgment, what="the judgment")
    if label is not None and not 0 <= label <= MOST:
        raise BadFormat(f"the judgment is {label}, expected 0 to {MOST}")
    reply = "" if raw.prediction is None else str(raw.prediction)
    return UmbrelaOutput(raw.query, raw.passage, label, raw.model, reply, line)


def _same(
    path: Path, requests: Path, output: UmbrelaOutput | None, entry: PassageEntry | None
) -> tuple[UmbrelaOutput, PassageEntry]:
    """The pair, which has to be of the same query and passage."""
    if output is None or entry is None:
        line = output.line if output else entry.line if entry else 1
        file = path if output else requests
        problem = f"{file.name} has more lines or candidates, expected one output a candidate"
        raise BadFormat(problem, file=file.name, line=line)
    if entry.query_id is None:
        raise BadFormat("passages without a query, expected reranker requests", file=requests.name, line=1)
    for name, here, there in (
        ("query", output.query, entry.query_text),
        ("passage", output.passage, entry.text),
    ):
        if there.strip() not in here:
            problem = f"the {name} is another than that of {entry.doc_id} in {requests.name}:{entry.line}"
            raise BadFormat(f"{problem}, expected outputs in its order", file=path.name, line=output.line)
    return output, entry


def _grade(output: UmbrelaOutput, prompt_class: str) -> ImportedGrade:
    by = GradedBy(ItemKind.DIRECT, output.model, prompt_class, Purpose.DIRECT)
    if output.label is None:
        reason = "UMBRELA found no label in the reply"
        return ImportedGrade(DIRECT_ITEM, by, None, output.reply, Outcome.FAILED, reason)
    return ImportedGrade(DIRECT_ITEM, by, output.label, output.reply, Outcome.NUMERIC)


def _is_umbrela(sample: Sample) -> bool:
    return {"query", "passage", "judgment"} <= sample.first_object.keys()


UMBRELA = Format(
    "umbrela-output",
    "Output of UMBRELA",
    Content.LABELS,
    _is_umbrela,
    read_umbrela,
    None,
    is_lossless=False,
    source="UMBRELA (arXiv 2406.06519)",
)
