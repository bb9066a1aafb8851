"""Check generated answers, one response after the other."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from grading.formats.responses import Dialect, Shape, dialect_of, inspect_responses
from grading.formats.responses.citations import positions_in_text, shape_of
from grading.formats.responses.dialects import sentences_key
from grading.submissions.coverage import Coverage, DocumentIds, MetadataCheck, TrackTopic
from grading.submissions.findings import Findings
from grading.submissions.rules import ResponseRules, Rules
from grading.types import Response

_Issue = tuple[str, str, int | None]
"""Category, text and the number of the sentence."""


class ResponseCheck:
    """Checks the responses of one run; what is wrong goes to `findings`."""

    def __init__(
        self,
        rules: Rules,
        track: ResponseRules,
        topics: Mapping[str, TrackTopic],
        findings: Findings,
        *,
        corpus: Container[str] | None = None,
    ) -> None:
        self._track, self._topics, self._findings = track, topics, findings
        self.teams: dict[str, None] = {}
        """The teams that the responses name, in their order."""
        self.coverage = Coverage(rules.run_id, topics, findings)
        self._ids = DocumentIds(track.citations.doc_id, corpus)
        self._metadata = MetadataCheck(track.metadata)

    def file(self, path: Path) -> None:
        """Check all responses of a file. Raises `BadFormat` where the file cannot be read on."""
        for inspected in inspect_responses(path):
            query_id = inspected.response.query_id if inspected.response else ""
            for problem in inspected.problems:
                self._findings.add(
                    problem.category,
                    problem.text,
                    line=inspected.line,
                    query_id=query_id,
                    sentence=problem.sentence,
                )
            if inspected.response:
                self.response(inspected.response)
        self.finish()

    def response(self, response: Response) -> None:
        """Check one response; its `line` tells it from others of the same topic."""
        if response.team:
            self.teams[response.team] = None
        self.coverage.run_id(response.run_tag, response.line)
        first_line = self.coverage.topic(response.query_id, response.line)
        for category, text, sentence in self._issues(response, first_line):
            self._findings.add(
                category, text, line=response.line, query_id=response.query_id, sentence=sentence
            )

    def finish(self) -> None:
        self.coverage.finish()

    def _issues(self, response: Response, first_line: int | None) -> Iterator[_Issue]:
        if first_line is not None:
            yield "duplicate_topics", f"the topic again, expected it once, as on line {first_line}", None
        topic = self._topics.get(response.query_id)
        yield from _layout(response, self._track)
        if response.foreign:
            for category, text in self._metadata.problems(_metadata_of(response), response.line):
                yield category, text, None
        yield from _narrative(response, self._track, topic)
        if not any(sentence.text.strip() for sentence in response.sentences):
            yield "empty_answer", "no text, expected an answer", None
            return
        yield from _sentences(response, self._track)
        yield from _references(response, self._track)
        yield from self._document_ids(response)
        yield from _length(response, self._track, topic)

    def _document_ids(self, response: Response) -> Iterator[_Issue]:
        seen: set[str] = set()
        for number, sentence in enumerate(response.sentences, start=1):
            for citation in sentence.citations or ():
                problem = self._ids.problem(citation.doc_id)
                if problem and citation.doc_id not in seen:
                    yield *problem, number
                seen.add(citation.doc_id)
        if self._track.references.kind in ("retrieved", "cited"):
            for doc_id in dict.fromkeys(response.references or ()):
                if doc_id not in seen and (problem := self._ids.problem(doc_id)):
                    yield *problem, None


def _layout(response: Response, track: ResponseRules) -> Iterator[_Issue]:
    dialect = dialect_of(response.foreign)
    if dialect and dialect not in track.dialects:
        expected = " or ".join(one.label for one in track.dialects)
        yield "layout", f"written as {dialect.label}, expected {expected}", None
    for number, shape, cited in _shapes(response, dialect):
        if shape is Shape.IDS and positions_in_text(cited, response.references or ()):
            yield "citation_format", "citations are positions written as text, expected numbers", number
            return
        if shape not in track.citations.shapes:
            expected = " or ".join(track.citations.shapes)
            yield "citation_format", f"citations are {shape}, expected {expected}", number
            return


def _shapes(response: Response, dialect: Dialect | None) -> Iterator[tuple[int, Shape, object]]:
    """The number of each sentence that cites, with its citations as the file has them, and their shape."""
    entries = response.foreign.get(sentences_key(response.foreign))
    for number, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        cited = entry.get("citations") if isinstance(entry, Mapping) else None
        if shape := shape_of(cited):
            yield number, shape, cited
    for number, sentence in enumerate(response.sentences, start=1):
        if dialect is Dialect.BIOGEN24 and sentence.citations:
            yield number, Shape.INLINE, None


def _metadata_of(response: Response) -> Mapping[str, object]:
    metadata = response.foreign.get("metadata")
    return metadata if isinstance(metadata, Mapping) else response.foreign


def _narrative(response: Response, track: ResponseRules, topic: TrackTopic | None) -> Iterator[_Issue]:
    key = track.metadata.topic_text
    given = _metadata_of(response).get(key)
    if topic is None or not key or given is None:
        return
    texts = [text for text in (topic.title, topic.description, topic.narrative) if text]
    if texts and given not in texts:
        text, copy = texts[0], str(given)
        pairs = enumerate(zip(text, copy, strict=False))
        at = next((n for n, (one, other) in pairs if one != other), min(len(text), len(copy)))
        shown = f"{key} has {copy[at:][:20]!r} from character {at + 1} on"
        yield "narrative", f"{shown}, expected the topic's text, which has {text[at:][:20]!r}", None


def _sentences(response: Response, track: ResponseRules) -> Iterator[_Issue]:
    limit = track.citations.max_per_sentence
    is_inline = Shape.INLINE in track.citations.shapes
    for number, sentence in enumerate(response.sentences, start=1):
        count = len(sentence.citations or ())
        if not sentence.text.strip():
            yield "blank_sentence", "no text, expected a sentence", number
        if limit is not None and count > limit:
            yield "citation_count", f"{count} citations, expected at most {limit}", number
        if is_inline and "[" in sentence.text:
            problem = f"a bracket in {sentence.text!r}, expected only ids, before the full stop"
            yield "citation_format", problem, number


def _references(response: Response, track: ResponseRules) -> Iterator[_Issue]:
    rules, references = track.references, response.references
    if rules.kind == "none" and references:
        yield "references_present", f"{len(references)} references, expected none", None
    if rules.kind in ("none", "ignored"):
        return
    if references is None:
        yield "references_missing", "no references, expected a list of document ids", None
        return
    for doc_id, count in Counter(references).items():
        if count > 1:
            yield "references_duplicate", f"{doc_id} is in references {count} times, expected once", None
    if rules.max_count is not None and len(references) > rules.max_count:
        yield "references_max", f"{len(references)} references, expected at most {rules.max_count}", None
    yield from _cited(response, references)


def _cited(response: Response, references: tuple[str, ...]) -> Iterator[_Issue]:
    """What is cited and what is in the references, one against the other."""
    cited: set[str] = set()
    for number, sentence in enumerate(response.sentences, start=1):
        for citation in sentence.citations or ():
            if citation.doc_id not in cited and citation.doc_id not in references:
                problem = f"{citation.doc_id} is cited, expected it in references"
                yield "references_undeclared", problem, number
            cited.add(citation.doc_id)
    uncited = [doc_id for doc_id in dict.fromkeys(references) if doc_id not in cited]
    if uncited:
        more = f" and {len(uncited) - 1} more references" if len(uncited) > 1 else ""
        yield "references_uncited", f"no sentence cites {uncited[0]}{more}, expected one that does", None


def _length(response: Response, track: ResponseRules, topic: TrackTopic | None) -> Iterator[_Issue]:
    rules = track.length
    limit = rules.max_count
    if rules.from_topic and topic:
        limit = topic.limit_words if rules.unit == "words" else topic.limit_characters
    text = " ".join(sentence.text for sentence in response.sentences)
    count = len(text.split()) if rules.unit == "words" else len(unicodedata.normalize("NFKC", text))
    if limit is not None and count > limit:
        yield "length", f"the answer has {count:,} {rules.unit}, expected at most {limit:,}", None
