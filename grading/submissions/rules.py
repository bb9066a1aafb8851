"""Rules of tracks, as tables that an organizer edits, and the findings of a check by them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from grading.errors import BadFormat
from grading.formats.reading import lines
from grading.formats.responses import ResponseDialect, Shape

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


Count = Annotated[int, msgspec.Meta(ge=0)]
MAX_RULES_BYTES = 100_000


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
    """The number of the sentence, from 1."""

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
        """Collect findings; `severity` tells how a category matters to the track, None for not at all.

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


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; keys that it does not have are refused."""


class RunIdRules(_Table, frozen=True):
    """What a run may be called."""

    max_characters: Count | None = None
    pattern: str = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"
    """The pattern of the whole run id."""


class MetadataRules(_Table, frozen=True):
    """The fields of `metadata`, or of the line where the dialect has no `metadata`."""

    required: tuple[str, ...] = ()
    recommended: tuple[str, ...] = ()
    allows_others: bool = True
    same_on_all_lines: tuple[str, ...] = ("run_id",)
    topic_text: str = ""
    """The field that must copy the topic's text; empty where none does."""


class CitationRules(_Table, frozen=True):
    """What sentences may cite, and how."""

    shapes: tuple[Shape, ...]
    max_per_sentence: Count | None = None
    doc_id: str = ""
    """A pattern of the whole document id; empty where any will do."""


class ReferenceRules(_Table, frozen=True):
    """What the list `references` must hold."""

    kind: Literal["retrieved", "cited", "none", "ignored"] = "ignored"
    """`retrieved`: at least what is cited; `cited`: exactly what is cited."""
    max_count: Count | None = None


class LengthRules(_Table, frozen=True):
    """The limit of an answer, of its sentences joined by blanks."""

    unit: Literal["words", "characters"] = "words"
    """Words between white space, or characters after NFKC."""
    max_count: Count | None = None
    from_topic: bool = False
    """Whether the topic states the limit."""


class ResponseRules(_Table, frozen=True):
    """What the track takes as generated answers."""

    dialects: tuple[ResponseDialect, ...]
    citations: CitationRules
    metadata: MetadataRules = MetadataRules()
    references: ReferenceRules = ReferenceRules()
    length: LengthRules = LengthRules()


class RetrievalRules(_Table, frozen=True):
    """What the track takes as TREC runs of six columns."""

    doc_id: str = ""
    """A pattern of the whole document id; empty where any will do."""
    max_ranks: Count | None = None


class NuggetRules(_Table, frozen=True):
    """What the track takes as nuggets: questions with answers, as RAGTIME 2026 has them."""

    run_id: RunIdRules | None = None
    """The rules of run ids, where they differ from those of the track's other files."""
    metadata: MetadataRules = MetadataRules()
    doc_id: str = ""
    """A pattern of the whole document id; empty where any will do."""


class Rules(_Table, frozen=True):
    """The rules of one track."""

    name: str
    label: str
    source: str = ""
    warnings: frozenset[str] = frozenset()
    """Categories of findings for which the track refuses nothing."""
    off: frozenset[str] = frozenset()
    """Categories that the track does not look for."""
    run_id: RunIdRules = RunIdRules()
    responses: ResponseRules | None = None
    retrieval: RetrievalRules | None = None
    nuggets: NuggetRules | None = None

    @property
    def kinds(self) -> str:
        """Return the kinds of files that the track takes, in words."""
        tables = {"responses": self.responses, "nuggets": self.nuggets, "a TREC run": self.retrieval}
        return " or ".join(name for name, table in tables.items() if table)

    def severity(self, category: str) -> Severity | None:
        """Return how a finding of the category counts; None where the track does not look for it."""
        if category in self.off:
            return None
        return Severity.WARNING if category in self.warnings else Severity.ERROR

    def strict(self) -> Rules:
        """Return the same rules with every warning an error."""
        return msgspec.structs.replace(self, warnings=frozenset())


def track_names() -> tuple[str, ...]:
    """Return the tracks whose rules come with the package."""
    files = resources.files(__package__).joinpath("tracks").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def rules_of(track: str) -> Rules:
    """Return the rules of one of `track_names()`. Raises `BadFormat` for another name, which lists them."""
    if track not in track_names():
        raise BadFormat(f"no rules for {track!r}, expected one of {', '.join(track_names())}")
    text = resources.files(__package__).joinpath("tracks", f"{track}.toml").read_text(encoding="utf-8")
    return parse_rules(text, file=f"{track}.toml")


def read_rules(path: Path) -> Rules:
    """Read rules from a file.

    Raises `BadFormat` for bad TOML, unknown keys and categories, and patterns that are no regular
    expressions.
    """
    text = "\n".join(line for _, line in lines(path, max_bytes=MAX_RULES_BYTES))
    return parse_rules(text, file=path.name)


def named_rules(name: str) -> Rules:
    """Return the rules of a track, or of the TOML file of this name. Raises `BadFormat` as both do."""
    return read_rules(Path(name)) if name.endswith(".toml") else rules_of(name)


def parse_rules(text: str, *, file: str) -> Rules:
    """Parse rules from their TOML.

    Raises `BadFormat` as `read_rules` does; `file` is its name in messages.
    """
    try:
        parsed = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFormat(f"malformed TOML ({error}), expected the rules of a track", file=file) from error
    return rules_from_json(parsed, file=file)


def rules_as_json(rules: Rules) -> dict[str, Any]:  # Any: what JSON holds
    """Return the rules as a JSON object, which `rules_from_json` takes; equal rules are equal objects."""
    stored: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(rules))
    return stored | {"warnings": sorted(rules.warnings), "off": sorted(rules.off)}


def rules_from_json(value: object, *, file: str = "") -> Rules:
    """Return rules from a JSON object.

    Raises `BadFormat` for unknown keys and categories, and bad patterns.
    """
    try:
        rules = msgspec.convert(value, Rules)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadFormat(f"{error}, expected the rules of a track", file=file) from error
    unknown = sorted((rules.warnings | rules.off) - set(CATEGORIES))
    if unknown:
        raise BadFormat(f"no category {unknown[0]!r}, expected one of {', '.join(CATEGORIES)}", file=file)
    if mild := sorted((rules.warnings | rules.off) & ALWAYS_ERRORS):
        raise BadFormat(f"{mild[0]} in warnings or off, expected it to be an error always", file=file)
    for pattern in _patterns(rules):
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadFormat(
                f"the pattern {pattern!r} ({error}), expected a regular expression", file=file
            ) from error
    return rules


def _patterns(rules: Rules) -> list[str]:
    responses = [rules.responses.citations.doc_id] if rules.responses else []
    retrieval = [rules.retrieval.doc_id] if rules.retrieval else []
    nuggets = [rules.nuggets.doc_id] if rules.nuggets else []
    if rules.nuggets and rules.nuggets.run_id:
        nuggets.append(rules.nuggets.run_id.pattern)
    return [rules.run_id.pattern, *responses, *retrieval, *nuggets]
