"""Responses read from the JSON of a dialect, with every problem in it.

BioGen 2024 has one JSON document a run, whose answers are text with citations in square brackets. The track
reads brackets as a list of PMIDs that belongs to the sentence around it; brackets after the full stop belong
to no sentence (https://dmice.ohsu.edu/trec-biogen/submission_format.html).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from grading.errors import BadFormat
from grading.formats.json_lines import JsonDict, in_words, json_object
from grading.formats.reading import TextFile, read_text_file, write_lines
from grading.formats.responses.citations import (
    SENTENCE_KEYS,
    TOPIC_KEYS,
    CitationReader,
    ResponseDialect,
    dialect_of,
    sentences_key,
)
from grading.segmentation import sentence_breaks
from grading.types import Citation, Response, Sentence, is_one_word

SHAPE = (
    "one response a line: {metadata: {team_id, run_id, topic_id or narrative_id}, responses or answer: "
    "[{text, citations}], references}, or {run_id, topic_id, topic, references, answer}, or BioGen's "
    "{team_id, run_name, results: [{topic_id, answer, references}]}"
)


RESULT_KEYS = frozenset({"topic_id", "answer", "references"})
RUN_KEYS = frozenset({"team_id", "run_name", "results"})
_CITATIONS = re.compile(r"\s*\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")
_END = re.compile(r"[.!?]*[\"')\u201d\u2019]*$")


class Problem(NamedTuple):
    """Why a part of a response cannot be read; `category` is that of a finding of `grading.submissions`."""

    category: str
    text: str
    sentence: int | None = None
    """The number of the sentence, from 1."""


@dataclass(frozen=True, slots=True)
class InspectedLine:
    """What one line of a file holds, or one result of BioGen's document."""

    line: int
    response: Response | None
    """The response without citations that cannot be read; None where ids or sentences are missing."""
    problems: tuple[Problem, ...] = ()


class Inspector:
    """Reads one JSON object and collects what is wrong in it."""

    def __init__(self, content: Mapping[str, object]) -> None:
        self.content = content
        self.problems: list[Problem] = []

    def refuse(self, category: str, text: str, sentence: int | None = None) -> None:
        self.problems.append(Problem(category, text, sentence))

    def identifier(self, ids: Mapping[str, object], key: str, *, path: str = "") -> str:
        """Return a run's or a topic's id as text; empty, with a problem, where it cannot be one."""
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
        """Return the topic's id, under whichever keys it stands."""
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
                label = in_words(doc_id) if doc_id != "" else "empty"
                self.refuse("docid_pattern", f"references[{position}] is {label}, expected a document id")
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
    inspection = Inspector(content)
    if dialect is None or dialect is ResponseDialect.BIOGEN24:
        has_ids = isinstance(content.get("metadata"), Mapping) or "run_id" in content
        missing = "responses or answer" if has_ids else "metadata"
        inspection.refuse("malformed", f"{missing} is missing, expected {SHAPE}")
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


def _sentences(inspection: Inspector, references: tuple[str, ...]) -> tuple[Sentence, ...] | None:
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


def inspect_document(path: Path) -> Iterator[InspectedLine]:
    """Yield each result of the document, with everything that is wrong in it.

    The `foreign` part of a response is the document with its result as the only one. Raises `BadFormat` for
    what is no JSON object with a list of results.
    """
    file = read_text_file(path, shape=SHAPE)
    text = "\n".join(line for _, line in file.lines)
    run = _run(file, text)
    offsets = _result_offsets(text)
    if not offsets:
        yield InspectedLine(
            1, None, (Problem("empty_answer", "results is empty, expected a result a topic"),)
        )
    for result, offset in zip(run["results"], offsets, strict=True):
        yield _inspect(run, result, text.count("\n", 0, offset) + 1)


def write_document(path: Path, contents: Iterable[JsonDict]) -> None:
    """Write documents of one result each as the one document of their run.

    Raises `BadFormat` where they are of several runs.
    """
    whole: JsonDict = {}
    results: list[object] = []
    for content in contents:
        whole = whole or content
        if _without_results(content) != _without_results(whole):
            raise BadFormat("responses of several runs, expected one run a document", file=path.name)
        results += content["results"]
    if not whole:
        raise BadFormat("no responses, expected those of a run", file=path.name)
    write_lines(path, [json.dumps({**whole, "results": results}, ensure_ascii=False, indent=1).encode()])


def split_answer(answer: str) -> tuple[Sentence, ...]:
    """Return the sentences of an answer with the PMIDs in their brackets.

    >>> [sentence.text for sentence in split_answer("Aspirin thins the blood [11, 12]. It is old.")]
    ['Aspirin thins the blood.', 'It is old.']
    """
    start, sentences = 0, []
    for end, following in [*sentence_breaks(answer), (len(answer), len(answer))]:
        if part := answer[start:end].strip():
            # Brackets at its beginning, after the previous full stop, stay in the text.
            doc_ids: list[str] = []
            kept, last = "", 0
            for match in _CITATIONS.finditer(part):
                if match.start() == 0:
                    continue
                doc_ids += (doc_id.strip() for doc_id in match[1].split(","))
                kept, last = kept + part[last : match.start()], match.end()
            sentences.append(Sentence(kept + part[last:], tuple(Citation(doc_id) for doc_id in doc_ids)))
        start = following
    return tuple(sentences)


def join_answer(sentences: Iterable[Sentence]) -> str:
    """Return one text with brackets, which `split_answer` takes apart.

    >>> join_answer([Sentence("It is old.", (Citation("11"), Citation("12")))])
    'It is old [11, 12].'
    """
    return " ".join(_with_brackets(sentence) for sentence in sentences)


def _run(file: TextFile, text: str) -> JsonDict:
    try:
        run = json_object(text, shape=SHAPE)
    except BadFormat as error:
        raise file.error(error.problem, error.line or 1) from error
    if not isinstance(run.get("results"), list):
        given = in_words(run["results"]) if "results" in run else "missing"
        raise file.error(f"results is {given}, expected {SHAPE}", 1)
    return run


def _inspect(run: JsonDict, result: object, line: int) -> InspectedLine:
    if not isinstance(result, Mapping):
        problem = Problem(
            "malformed", f"a result is {in_words(result)}, expected {{topic_id, answer, references}}"
        )
        return InspectedLine(line, None, (problem,))
    inspection = Inspector(result)
    run_tag, team = inspection.identifier(run, "run_name"), inspection.team(run)
    query_id, references = inspection.topic(result), inspection.references()
    answer = result.get("answer")
    if not isinstance(answer, str):
        given = in_words(answer) if "answer" in result else "missing"
        category = "malformed" if answer is not None else "empty_answer"
        inspection.refuse(category, f"answer is {given}, expected text with PMIDs in square brackets")
    response = None
    if run_tag and query_id and isinstance(answer, str):
        foreign = {**run, "results": [result]}
        response = Response(run_tag, query_id, split_answer(answer), team, references, {}, foreign, line)
    return InspectedLine(line, response, tuple(inspection.problems))


def _with_brackets(sentence: Sentence) -> str:
    if not sentence.citations:
        return sentence.text
    ids = ", ".join(citation.doc_id for citation in sentence.citations)
    end = _END.search(sentence.text)
    place = end.start() if end else len(sentence.text)
    return f"{sentence.text[:place]} [{ids}]{sentence.text[place:]}"


def _without_results(content: Mapping[str, object]) -> JsonDict:
    return {key: value for key, value in content.items() if key != "results"}


def _result_offsets(text: str) -> list[int]:
    """Return where in the text of a valid document its results begin."""
    decoder = json.JSONDecoder()
    at = _skip(text, text.index("{") + 1, ",")
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        at = _skip(text, at, ":")
        if key == "results":
            break
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, at, ",")
    at = _skip(text, at + 1, ",")
    offsets = []
    while text[at] != "]":
        offsets.append(at)
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, at, ",")
    return offsets


def _skip(text: str, at: int, mark: str) -> int:
    """Return the next character that is neither white space nor `mark`."""
    while text[at] in f" \t\r\n{mark}":
        at += 1
    return at
