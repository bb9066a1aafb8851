"""BioGen 2024: one JSON document a run, whose answers are text with citations in square brackets.

The track reads brackets as a list of PMIDs that belongs to the sentence around it; brackets after the full
stop belong to no sentence (https://dmice.ohsu.edu/trec-biogen/submission_format.html).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.dictionary import Document, read_document
from grading.formats.json_lines import JsonDict, in_words, json_object
from grading.formats.reading import write_lines
from grading.formats.responses.inspection import SHAPE, InspectedLine, Inspection, Problem
from grading.graders.hf_batches import sentence_breaks
from grading.types import Citation, Response, Sentence

RESULT_KEYS = frozenset({"topic_id", "answer", "references"})
RUN_KEYS = frozenset({"team_id", "run_name", "results"})

_CITATIONS = re.compile(r"\s*\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")
_END = re.compile(r"[.!?]*[\"')\u201d\u2019]*$")


def inspect_document(path: Path) -> Iterator[InspectedLine]:
    """Yield each result of the document, with everything that is wrong in it.

    The `foreign` part of a response is the document with its result as the only one. Raises `BadFormat` for
    what is no JSON object with a list of results.
    """
    document = read_document(path, shape=SHAPE)
    text = "\n".join(line for _, line in document.lines)
    run = _run(document, text)
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
    """The sentences of an answer with the PMIDs in their brackets.

    >>> [sentence.text for sentence in split_answer("Aspirin thins the blood [11, 12]. It is old.")]
    ['Aspirin thins the blood.', 'It is old.']
    """
    start, sentences = 0, []
    for end, following in [*sentence_breaks(answer), (len(answer), len(answer))]:
        if part := answer[start:end].strip():
            sentences.append(_sentence(part))
        start = following
    return tuple(sentences)


def join_answer(sentences: Iterable[Sentence]) -> str:
    """One text with brackets, which `split_answer` takes apart.

    >>> join_answer([Sentence("It is old.", (Citation("11"), Citation("12")))])
    'It is old [11, 12].'
    """
    return " ".join(_with_brackets(sentence) for sentence in sentences)


def _run(document: Document, text: str) -> JsonDict:
    try:
        run = json_object(text, shape=SHAPE)
    except BadFormat as error:
        raise document.error(error.problem, error.line or 1) from error
    if not isinstance(run.get("results"), list):
        given = in_words(run["results"]) if "results" in run else "missing"
        raise document.error(f"results is {given}, expected {SHAPE}", 1)
    return run


def _inspect(run: JsonDict, result: object, line: int) -> InspectedLine:
    if not isinstance(result, Mapping):
        problem = Problem(
            "malformed", f"a result is {in_words(result)}, expected {{topic_id, answer, references}}"
        )
        return InspectedLine(line, None, (problem,))
    inspection = Inspection(result)
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


def _sentence(part: str) -> Sentence:
    """Brackets at the beginning stand after the full stop of the sentence before; they stay in the text."""
    doc_ids: list[str] = []
    kept, last = "", 0
    for match in _CITATIONS.finditer(part):
        if match.start() == 0:
            continue
        doc_ids += (doc_id.strip() for doc_id in match[1].split(","))
        kept, last = kept + part[last : match.start()], match.end()
    return Sentence(kept + part[last:], tuple(Citation(doc_id) for doc_id in doc_ids))


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
    """Where in the text of a document, which is known to be valid, its results begin."""
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
    """The next character that is neither white space nor `mark`."""
    while text[at] in f" \t\r\n{mark}":
        at += 1
    return at
