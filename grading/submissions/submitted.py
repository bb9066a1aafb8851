"""Check the three kinds of submitted files: generated answers, TREC runs and nuggets."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.banks.ragtime26 import DIALECT
from grading.formats.banks.records import BankLine, RecordPlace
from grading.formats.json_lines import JsonDict, json_object, real, whole
from grading.formats.reading import MAX_HELD_BYTES, column_count, lines
from grading.formats.responses import ResponseDialect, Shape, dialect_of, inspect_responses
from grading.formats.responses.citations import positions_in_text, sentences_key, shape_of
from grading.submissions.coverage import Coverage, DocumentIds, MetadataCheck, TrackTopic
from grading.submissions.rules import Findings, NuggetRules, ResponseRules, RetrievalRules, Rules
from grading.types import Response, is_one_word

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
        limit = self._track.citations.max_per_sentence
        is_inline = Shape.INLINE in self._track.citations.shapes
        for number, sentence in enumerate(response.sentences, start=1):
            count = len(sentence.citations or ())
            if not sentence.text.strip():
                yield "blank_sentence", "no text, expected a sentence", number
            if limit is not None and count > limit:
                yield "citation_count", f"{count} citations, expected at most {limit}", number
            if is_inline and "[" in sentence.text:
                problem = f"a bracket in {sentence.text!r}, expected only ids, before the full stop"
                yield "citation_format", problem, number
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
        expected = " or ".join(dialect.label for dialect in track.dialects)
        yield "layout", f"written as {dialect.label}, expected {expected}", None
    for number, shape, cited in _shapes(response, dialect):
        if shape is Shape.IDS and positions_in_text(cited, response.references or ()):
            yield "citation_format", "citations are positions written as text, expected numbers", number
            return
        if shape not in track.citations.shapes:
            expected = " or ".join(track.citations.shapes)
            yield "citation_format", f"citations are {shape}, expected {expected}", number
            return


def _shapes(response: Response, dialect: ResponseDialect | None) -> Iterator[tuple[int, Shape, object]]:
    """Yield the number of each sentence that cites, with its citations as in the file, and their shape."""
    entries = response.foreign.get(sentences_key(response.foreign))
    for number, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        cited = entry.get("citations") if isinstance(entry, Mapping) else None
        if shape := shape_of(cited):
            yield number, shape, cited
    for number, sentence in enumerate(response.sentences, start=1):
        if dialect is ResponseDialect.BIOGEN24 and sentence.citations:
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
        at = next((n for n, (left, right) in pairs if left != right), min(len(text), len(copy)))
        difference = f"{key} has {copy[at:][:20]!r} from character {at + 1} on"
        yield "narrative", f"{difference}, expected the topic's text, which has {text[at:][:20]!r}", None


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
    """Yield what is cited and what is in the references, one against the other."""
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


_COLUMNS = "6 columns: query_id Q0 doc_id rank score run_tag"


@dataclass(slots=True)
class _Ranking:
    """One topic's lines."""

    ranked: list[tuple[int, float, int]] = field(default_factory=list)
    """Rank, score and line."""
    first_line: dict[str, int] = field(default_factory=dict)
    """The first line of each document."""


class RunCheck:
    """Checks the lines of one run; what is wrong goes to `findings`."""

    def __init__(
        self,
        rules: Rules,
        track: RetrievalRules,
        topics: Mapping[str, TrackTopic],
        findings: Findings,
        *,
        corpus: Container[str] | None = None,
    ) -> None:
        self._track = track
        self._findings = findings
        self.coverage = Coverage(rules.run_id, topics, findings)
        self._ids = DocumentIds(self._track.doc_id, corpus)
        self._rankings: dict[str, _Ranking] = {}

    def file(self, path: Path) -> None:
        """Check all lines; blank ones are skipped. Raises `BadFormat` where the file cannot be read on."""
        for number, text in lines(path, max_bytes=MAX_HELD_BYTES):
            if text.strip():
                self._line(number, text.split())
        for query_id, ranking in self._rankings.items():
            self._finish(query_id, ranking)
        self.coverage.finish()

    def _line(self, line: int, columns: list[str]) -> None:
        if len(columns) != 6:
            self._findings.add("malformed", f"{column_count(columns)}, expected {_COLUMNS}", line=line)
            return
        query_id, _, doc_id, _, _, run_tag = columns
        try:
            rank, score = whole(columns[3], what="the rank"), real(columns[4], what="the score")
        except BadFormat as error:
            self._findings.add("malformed", error.problem, line=line, query_id=query_id)
            return
        self.coverage.run_id(run_tag, line)
        self.coverage.topic(query_id, line)
        if unfit := self._ids.problem(doc_id):
            self._findings.add(*unfit, line=line, query_id=query_id)
        ranking = self._rankings.setdefault(query_id, _Ranking())
        ranking.ranked.append((rank, score, line))
        first = ranking.first_line.setdefault(doc_id, line)
        if first != line:
            problem = f"{doc_id} is ranked again, expected it once, as on line {first}"
            self._findings.add("ranking_duplicate", problem, line=line, query_id=query_id)

    def _finish(self, query_id: str, ranking: _Ranking) -> None:
        """Check a topic's whole ranking; the first line that is out of order stands for all."""
        limit, count = self._track.max_ranks, len(ranking.ranked)
        if limit is not None and count > limit:
            line = ranking.ranked[limit][2]
            problem = f"{count:,} ranks, expected at most {limit:,}"
            self._findings.add("ranking_depth", problem, line=line, query_id=query_id)
        by_rank = sorted(ranking.ranked, key=lambda entry: entry[0])
        for (_, better, _), (rank, score, line) in pairwise(by_rank):
            if score > better:
                problem = f"the score {score:g} at rank {rank} below {better:g}, expected no higher score"
                self._findings.add("ranking_order", problem, line=line, query_id=query_id)
                return


_SHAPE = "{metadata: {team_id, topic_id, run_id}, nugget_bank: [{question, aggregator_type, answers}, ...]}"


class NuggetCheck:
    """Checks the nuggets of one run; what is wrong goes to `findings`."""

    def __init__(
        self,
        rules: Rules,
        track: NuggetRules,
        topics: Mapping[str, TrackTopic],
        findings: Findings,
        *,
        corpus: Container[str] | None = None,
    ) -> None:
        self._findings = findings
        self.coverage = Coverage(track.run_id or rules.run_id, topics, findings)
        self._metadata = MetadataCheck(track.metadata)
        self._ids = DocumentIds(track.doc_id, corpus)

    def file(self, path: Path) -> None:
        """Check all lines. Raises `BadFormat` where the file cannot be read on."""
        for number, text in lines(path):
            try:
                self._line(json_object(text, shape=_SHAPE), RecordPlace(number, path.name))
            except BadFormat as error:
                self._findings.add("malformed", error.problem, line=number)
        self.coverage.finish()

    def _line(self, raw: JsonDict, source: RecordPlace) -> None:
        """Check one topic. The length of its run id is the rules' affair, not that of the reader."""
        metadata = raw.get("metadata")
        if not isinstance(metadata, dict):
            raise BadFormat(f"metadata is missing, expected {_SHAPE}")
        run_id = metadata.get("run_id")
        bank = DIALECT.read(raw | {"metadata": {**metadata, "run_id": "-"}}, source)
        if isinstance(run_id, str) and is_one_word(run_id):
            self.coverage.run_id(run_id, source.line)
        else:
            problem = f"run_id is {run_id!r}, expected an id without white space"
            self._findings.add("metadata", problem, line=source.line, query_id=bank.query_id)
        for category, text in self._issues(bank, metadata, source.line):
            self._findings.add(category, text, line=source.line, query_id=bank.query_id)

    def _issues(self, bank: BankLine, metadata: JsonDict, line: int) -> Iterator[tuple[str, str]]:
        first_line = self.coverage.topic(bank.query_id, line)
        if first_line is not None:
            yield "duplicate_topics", f"the topic again, expected it once, as on line {first_line}"
        yield from self._metadata.problems(metadata, line)
        if not bank.items:
            yield "empty_answer", "no nuggets, expected a question"
        for doc_id in dict.fromkeys(_nugget_references(bank)):
            if problem := self._ids.problem(doc_id):
                yield problem


def _nugget_references(bank: BankLine) -> Iterator[str]:
    """Yield the documents that attest the answers, by id or as objects with one."""
    for item in bank.items:
        for answer in item.parts.get("answers") or ():
            for reference in answer.get("references") or ():
                yield str(reference["doc_id"] if isinstance(reference, dict) else reference)
