"""From the JSON of one response to a `Response`, with everything in it that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from grading.formats.ids import is_one_word
from grading.formats.json_lines import in_words
from grading.formats.responses.citations import CitationReader
from grading.formats.responses.dialects import SENTENCE_KEYS, TOPIC_KEYS, Dialect, dialect_of, sentences_key
from grading.types import Response, Sentence

SHAPE = (
    "one response a line: {metadata: {team_id, run_id, topic_id or narrative_id}, responses or answer: "
    "[{text, citations}], references}, or {run_id, topic_id, topic, references, answer}, or BioGen's "
    "{team_id, run_name, results: [{topic_id, answer, references}]}"
)


class Problem(NamedTuple):
    """Why a part of a response cannot be read; `category` is that of a finding of `grading.submissions`."""

    category: str
    text: str
    sentence: int | None = None
    """From 1."""


@dataclass(frozen=True, slots=True)
class InspectedLine:
    """What one line of a file holds, or one result of BioGen's document."""

    line: int
    response: Response | None
    """Without the citations that cannot be read; None where ids or sentences are missing."""
    problems: tuple[Problem, ...] = ()


class Inspection:
    """Reads one JSON object and collects what is wrong in it."""

    def __init__(self, content: Mapping[str, object]) -> None:
        self.content = content
        self.problems: list[Problem] = []

    def refuse(self, category: str, text: str, sentence: int | None = None) -> None:
        self.problems.append(Problem(category, text, sentence))

    def identifier(self, ids: Mapping[str, object], key: str, *, path: str = "") -> str:
        """A run's or a topic's id as text; empty, with a problem, where it cannot be one."""
        value = ids.get(key)
        is_id = isinstance(value, str | int) and not isinstance(value, bool)
        if is_id and is_one_word(str(value)):
            return str(value)
        given = repr(value) if is_id else in_words(value) if key in ids else "missing"
        self.refuse("metadata", f"{path}{key} is {given}, expected an id without white space")
        return ""

    def team(self, ids: Mapping[str, object], *, path: str = "") -> str:
        value = ids.get("team_id")
        if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
            return "" if value is None else str(value)
        self.refuse("metadata", f"{path}team_id is {in_words(value)}, expected text")
        return ""

    def topic(self, ids: Mapping[str, object], *, path: str = "") -> str:
        """The topic's id, under whichever keys it stands."""
        keys = [key for key in TOPIC_KEYS if ids.get(key) is not None]
        if not keys:
            self.refuse("metadata", f"{path}topic_id is missing, expected topic_id or narrative_id")
            return ""
        first, *others = [self.identifier(ids, key, path=path) for key in keys]
        for key, other in zip(keys[1:], others, strict=True):
            if first and other and other != first:
                problem = f"{path}{key} is {other!r}, expected {first!r} as in {keys[0]}"
                self.refuse("metadata", problem)
        return first

    def references(self) -> tuple[str, ...] | None:
        given = self.content.get("references")
        if given is None:
            return None
        if not isinstance(given, list):
            self.refuse(
                "references_missing", f"references is {in_words(given)}, expected a list of document ids"
            )
            return None
        for position, doc_id in enumerate(given):
            if not isinstance(doc_id, str) or not doc_id:
                shown = in_words(doc_id) if doc_id != "" else "empty"
                self.refuse("docid_pattern", f"references[{position}] is {shown}, expected a document id")
        return tuple(str(doc_id) for doc_id in given)

    def documents(self) -> dict[str, str]:
        given = self.content.get("documents")
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            self.refuse(
                "documents", f"documents is {in_words(given)}, expected an object of document id: document"
            )
            return {}
        texts = {}
        for doc_id, document in given.items():
            text = document.get("text") if isinstance(document, Mapping) else None
            if isinstance(text, str):
                texts[doc_id] = text
            else:
                self.refuse("documents", f"documents[{doc_id!r}] has no text, expected {{id, text}}")
        return texts


def inspect(content: Mapping[str, object], line: int) -> InspectedLine:
    """Read the JSON object of one line, in any dialect but BioGen's."""
    dialect = dialect_of(content)
    inspection = Inspection(content)
    if dialect is None or dialect is Dialect.BIOGEN24:
        inspection.refuse("malformed", _what_is_missing(content))
        return InspectedLine(line, None, tuple(inspection.problems))
    metadata = content.get("metadata")
    ids, path = (metadata, "metadata.") if isinstance(metadata, Mapping) else (content, "")
    run_tag, query_id = inspection.identifier(ids, "run_id", path=path), inspection.topic(ids, path=path)
    team = inspection.team(ids, path=path) if path else ""
    references = inspection.references()
    documents = inspection.documents()
    sentences = _sentences(inspection, references or ())
    response = None
    if run_tag and query_id and sentences is not None:
        response = Response(run_tag, query_id, sentences, team, references, documents, content, line)
    return InspectedLine(line, response, tuple(inspection.problems))


def _what_is_missing(content: Mapping[str, object]) -> str:
    has_ids = isinstance(content.get("metadata"), Mapping) or "run_id" in content
    missing = "responses or answer" if has_ids else "metadata"
    return f"{missing} is missing, expected {SHAPE}"


def _sentences(inspection: Inspection, references: tuple[str, ...]) -> tuple[Sentence, ...] | None:
    content = inspection.content
    key = sentences_key(content)
    entries = content[key]
    if not isinstance(entries, list):
        problem = f"{key} is {in_words(entries)}, expected a list of sentences"
        inspection.refuse("empty_answer" if entries is None else "malformed", problem)
        return None
    for other in SENTENCE_KEYS:
        if isinstance(content.get(other), list) and content[other] != entries:
            inspection.refuse("malformed", f"{other} and {key} differ, expected one of them or both alike")
    reader = CitationReader(inspection.refuse, references)
    sentences = []
    for position, entry in enumerate(entries):
        place = f"{key}[{position}]"
        text = entry.get("text") if isinstance(entry, Mapping) else None
        if not isinstance(text, str):
            given = in_words(entry) if not isinstance(entry, Mapping) else "without text"
            inspection.refuse("malformed", f"{place} is {given}, expected {{text, citations}}", position + 1)
            text = ""
        citations = entry.get("citations") if isinstance(entry, Mapping) else None
        sentences.append(Sentence(text, reader.read(citations, place=place, sentence=position + 1)))
    return tuple(sentences)
