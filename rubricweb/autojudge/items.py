"""Topics, items and passages as the judge grades them, and the measures of the track."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grading.arrays import take_rows
from grading.errors import GradingError
from grading.measures import Rows
from grading.measures.cover import cover, covered_items, weighted_cover
from grading.segmentation import PassagesOf, response_passages
from grading.types import FAILED, MISSING, Item, Passage, Ratings, Topic, text_md5
from rubricweb.autojudge.model import Graded, GradeText, Query

MEASURES: dict[str, tuple[type, str]] = {
    "NUGGET_COVERAGE": (float, "share of a topic's items with a grade of at least grade_threshold"),
    "WEIGHTED_COVERAGE": (float, "the same by the items' weights: vital 1, okay 0.5, avoid -1"),
    "COVERED_COUNT": (int, "items with a grade of at least grade_threshold"),
    "AVG_GRADE": (float, "mean over items of the best grade, 0 to 5"),
    "MAX_GRADE": (int, "the best grade of any item, 0 to 5"),
}
"""Name -> type of the value on each topic, and description."""


class Request(Protocol):
    """A topic, as the runner read it."""

    request_id: str
    title: str
    problem_statement: str | None


@dataclass(frozen=True, slots=True)
class WeighedItem:
    item: Item
    weight: float
    nugget_id: str
    """Id of the nugget in the bank."""


def topic_of(request: Request, query: Query) -> Topic:
    """Return the topic with the query that drafts and labels are of."""
    fields = {
        Query.TITLE: [request.title],
        Query.PROBLEM_STATEMENT: [request.problem_statement or request.title],
        Query.BOTH: [request.title, request.problem_statement or ""],
    }[query]
    return Topic(request.request_id, "\n".join(filter(None, (text.strip() for text in fields))))


class NothingToGrade(GradingError):
    """The setting `grade_text` asks for documents, and the reports bring none."""


class CitedDocument(Protocol):
    """A document of a report."""

    def get_text(self) -> str: ...


class Metadata(Protocol):
    run_id: str
    topic_id: str


class Report(Protocol):
    """A system's answer to a topic, as the runner read it."""

    metadata: Metadata
    documents: Mapping[str, CitedDocument] | None
    evaldata: dict[str, Any] | None

    def get_sentences(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A passage of a report."""

    passage: Passage
    doc_id: str = ""
    """Id of the source document; empty for the response."""
    paragraph: int | None = None
    """Its place in the document, from 0, where paragraphs are graded."""


def parts_of(report: Report, grade_text: GradeText) -> list[Part]:
    """Return the passages of a report, at most 400 tokens each, in its order."""
    parts = []
    if grade_text.has_response:
        parts += [Part(passage) for passage in _cut(report.get_sentences(), PassagesOf.RESPONSE)]
    if grade_text.has_documents:
        parts += _document_parts(report.documents or {}, grade_text)
    return parts


def check_documents(reports: Sequence[Report], grade_text: GradeText) -> None:
    """Raise NothingToGrade where documents are to be graded, and no report brings any."""
    if grade_text.has_documents and not any(report.documents for report in reports):
        raise NothingToGrade(
            f"grade_text is {grade_text}, and no report has documents; response grades what the runs say"
        )


def whole_text(report: Report) -> str:
    """Return the response as the track's qrels know it: its sentences, joined by blanks."""
    return " ".join(report.get_sentences())


def _document_parts(documents: Mapping[str, CitedDocument], grade_text: GradeText) -> Iterator[Part]:
    passages_of = PassagesOf.PARAGRAPH if grade_text.has_paragraphs else PassagesOf.RESPONSE
    for doc_id, document in documents.items():
        text = document.get_text()
        paragraphs = [f"{paragraph}\n\n" for paragraph in text.split("\n\n")]
        for place, passage in enumerate(_cut(paragraphs, passages_of)):
            yield Part(passage, doc_id, place if grade_text.has_paragraphs else None)


def _cut(sentences: Sequence[str], passages_of: PassagesOf) -> list[Passage]:
    return [
        Passage(text_md5(passage.text), passage.text) for passage in response_passages(sentences, passages_of)
    ]


Values = dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class GradedReports:
    """The reports on one topic."""

    ratings: Ratings
    """Shape (passages, items)."""
    ranked: Rows
    """Shape (reports, longest): the passages of each."""
    weights: list[float]


def graded_reports(
    reports: Sequence[Sequence[Part]], items: Sequence[WeighedItem], graded: Graded
) -> GradedReports:
    """Return the matrix of a topic from the parts of its reports."""
    ids = dict.fromkeys(part.passage.passage_id for parts in reports for part in parts)
    rows = {passage_id: row for row, passage_id in enumerate(ids)}
    ratings = np.full((len(rows), len(items)), FAILED, dtype=np.int8)
    for column, item in enumerate(items):
        for passage_id, row in rows.items():
            grade = graded.get((item.item.item_id, passage_id))
            if grade is not None and grade.rating is not None:
                ratings[row, column] = grade.rating
    longest = max((len(parts) for parts in reports), default=0) or 1
    ranked = np.full((len(reports), longest), -1, dtype=np.int32)
    for place, parts in enumerate(reports):
        ranked[place, : len(parts)] = [rows[part.passage.passage_id] for part in parts]
    return GradedReports(ratings, ranked, [item.weight for item in items])


def best_grades(topic: GradedReports) -> Ratings:
    """Return, shape (reports, items), the best grade of any of a report's passages; 0 where none was read."""
    best: Ratings = take_rows(topic.ratings, topic.ranked, outside=MISSING).max(axis=1)
    return np.maximum(best, np.int8(0))


def values_of(topic: GradedReports, *, grade_threshold: int) -> list[Values]:
    """Return the measures of each report."""
    reach = {"cutoff": topic.ranked.shape[1], "min_grade": grade_threshold}
    best = best_grades(topic)
    columns = {
        "NUGGET_COVERAGE": cover(topic.ratings, topic.ranked, **reach),
        "WEIGHTED_COVERAGE": np.nan_to_num(
            weighted_cover(topic.ratings, topic.ranked, topic.weights, **reach)
        ),
        "COVERED_COUNT": covered_items(topic.ratings, topic.ranked, **reach).sum(axis=1),
        "AVG_GRADE": best.mean(axis=1),
        "MAX_GRADE": best.max(axis=1),
    }
    kinds = {name: kind for name, (kind, _) in MEASURES.items()}
    return [
        {name: kinds[name](column[place]) for name, column in columns.items()}
        for place in range(len(topic.ranked))
    ]
