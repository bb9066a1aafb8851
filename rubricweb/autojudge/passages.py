"""What of the reports is graded, as passages that are known by the md5 of their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from grading.errors import GradingError
from grading.formats.ids import text_md5
from grading.segmentation import PassagesOf, response_passages
from grading.types import Passage
from rubricweb.autojudge.settings import GradeText


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
    """Of the document that it is from; empty for the response."""
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
