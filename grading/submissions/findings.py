"""What is wrong with a submission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from grading.errors import BadFormat

CATEGORIES = {
    "malformed": "a line or a part of it cannot be read",
    "layout": "another kind of file, or the dialect of another track",
    "empty_answer": "no sentences, or none with text",
    "blank_sentence": "a sentence without text",
    "citation_format": "citations in a shape that the track does not take, or in several shapes",
    "citation_count": "more citations on a sentence than count",
    "citation_score": "a citation's score is no number",
    "reference_index": "a citation's position is outside the references",
    "docid_pattern": "a document id that is none of the track's collection by its form",
    "docid_unknown": "a document id that the collection does not have",
    "references_present": "references, though the track takes none",
    "references_missing": "no list of references",
    "references_duplicate": "a document twice in the references",
    "references_undeclared": "a cited document that is not in the references",
    "references_uncited": "a reference that no sentence cites",
    "references_max": "more references than allowed",
    "documents": "a document that comes with the response has no text",
    "metadata": "a required field is missing, empty or not as on the other lines",
    "metadata_recommended": "a recommended field is missing",
    "run_id_length": "the run id is too long",
    "run_id_characters": "the run id has characters that it must not have",
    "length": "the answer is too long",
    "narrative": "the topic's text is not copied exactly",
    "duplicate_topics": "a topic twice",
    "missing_topics": "a topic of the track that the file does not have",
    "new_topics": "a topic that the track does not have",
    "ranking_duplicate": "a document twice in the ranking of a topic",
    "ranking_order": "scores that increase down the ranking",
    "ranking_depth": "more ranks for a topic than allowed",
}
"""Category -> what it means. AutoJudge's names where it has one."""
ALWAYS_ERRORS = frozenset({"malformed"})
"""Nobody can take what cannot be read."""


class Severity(StrEnum):
    ERROR = "error"
    """The track refuses the submission."""
    WARNING = "warning"
    """The track takes it, perhaps not all of it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a submission, and where."""

    category: str
    """One of CATEGORIES."""
    severity: Severity
    problem: str
    expected: str
    file: str = ""
    line: int | None = None
    """None where it concerns the whole file."""
    query_id: str = ""
    sentence: int | None = None
    """From 1."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        topic = f"topic {self.query_id}" if self.query_id else ""
        sentence = f"sentence {self.sentence}" if self.sentence is not None else ""
        where = ", ".join(part for part in (topic, sentence) if part)
        text = f"{self.problem}, expected {self.expected}" if self.expected else self.problem
        return ": ".join(part for part in (place, f"{self.severity} {self.category}", where, text) if part)


class Findings:
    """The findings of one file, in the order in which they were made."""

    def __init__(
        self, file: str, severity: Callable[[str], Severity | None], *, most_each: int | None = None
    ) -> None:
        """`severity` says of a category how much it matters to the track, None for not at all.

        Of each category at most `most_each` are kept; `counts` has how many there are.
        """
        self._file, self._severity, self._most_each = file, severity, most_each
        self.all: list[Finding] = []
        self.counts: Counter[str] = Counter()

    def add(
        self,
        category: str,
        text: str,
        *,
        line: int | None = None,
        query_id: str = "",
        sentence: int | None = None,
    ) -> None:
        """Add a finding. `text` is the problem and ", expected ...", as messages of `BadFormat` are."""
        severity = self._severity(category)
        if severity is None:
            return
        self.counts[category] += 1
        if self._most_each is not None and self.counts[category] > self._most_each:
            return
        problem, _, expected = BadFormat(text).problem.partition(", expected ")
        self.all.append(Finding(category, severity, problem, expected, self._file, line, query_id, sentence))
