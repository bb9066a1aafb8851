"""Write the sentences of one response with their citations in one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.json_values import JsonDict
from grading.formats.responses.citations import decode, shape_of
from grading.formats.responses.dialects import Shape
from grading.types import Citation, Response, Sentence


class SentenceWriter:
    """Writes sentences; `references` grows by what they cite at positions.

    `notes` gathers what the shape drops or makes up. With `keeps_citations`, citations that the file wrote in
    this shape and that have not changed stay as they are, empty ones included.
    """

    def __init__(self, response: Response, shape: Shape, notes: list[str], *, keeps_citations: bool) -> None:
        self._response, self._shape, self._notes = response, shape, notes
        self._keeps_citations = keeps_citations
        self.references = list(response.references or ())

    @property
    def has_references(self) -> bool:
        return self._response.references is not None or bool(self.references)

    def entries(self, given: Sequence[Any]) -> list[JsonDict]:
        """The JSON of all sentences, each from what the file said of it beside text and citations."""
        sentences = self._response.sentences
        return [
            self._entry(number, sentence, entry)
            for number, (sentence, entry) in enumerate(
                zip(sentences, _aligned(sentences, given), strict=True), 1
            )
        ]

    def _entry(self, number: int, sentence: Sentence, given: JsonDict) -> JsonDict:
        entry = dict(given)
        if entry.get("text") != sentence.text:
            entry["text"] = sentence.text
        if sentence.citations is None:
            if entry.get("citations") is not None:
                del entry["citations"]
        elif not self._keeps(entry.get("citations"), sentence.citations):
            entry["citations"] = self._encoded(number, sentence.citations)
        return entry

    def _keeps(self, given: object, citations: tuple[Citation, ...]) -> bool:
        if not self._keeps_citations or given is None or shape_of(given) not in (None, self._shape):
            return False
        try:
            return decode(given, self.references) == citations
        except BadFormat:  # positions that the references no longer have
            return False

    def _encoded(self, number: int, citations: tuple[Citation, ...]) -> object:
        has_scores = all(citation.score is not None for citation in citations)
        if self._shape is Shape.SCORES:
            return self._scores(number, citations, has_scores=has_scores)
        best_first = (
            sorted(citations, key=lambda citation: -(citation.score or 0)) if has_scores else citations
        )
        self._notes += [
            f"sentence {number}: the score {citation.score:g} of {citation.doc_id} is dropped"
            for citation in citations
            if citation.score is not None
        ]
        doc_ids = [citation.doc_id for citation in best_first]
        return doc_ids if self._shape is Shape.IDS else [self._position(number, doc_id) for doc_id in doc_ids]

    def _scores(self, number: int, citations: tuple[Citation, ...], *, has_scores: bool) -> dict[str, float]:
        scores: dict[str, float] = {}
        for citation in citations:
            doc_id = citation.doc_id
            if doc_id in scores:
                self._notes.append(f"sentence {number}: {doc_id} is cited once instead of several times")
            elif has_scores and citation.score is not None:
                scores[doc_id] = citation.score
            else:
                scores[doc_id] = 1 / (len(scores) + 1)
                self._notes.append(
                    f"sentence {number}: the score {scores[doc_id]:g} of {doc_id} is made up from its rank"
                )
        return scores

    def _position(self, number: int, doc_id: str) -> int:
        if doc_id not in self.references:
            self.references.append(doc_id)
            if self._response.references is not None:
                self._notes.append(f"references: {doc_id} is added, since sentence {number} cites it")
        return self.references.index(doc_id)


def _aligned(sentences: Sequence[Sentence], given: Sequence[JsonDict]) -> list[JsonDict]:
    """What the file said of each sentence: by position where their number is the same, else by text."""
    if len(sentences) == len(given):
        return list(given)
    by_text = {entry["text"]: entry for entry in reversed(given)}
    return [by_text.get(sentence.text, {}) for sentence in sentences]
