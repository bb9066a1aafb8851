"""Check submitted nuggets: questions with answers and the documents that attest them, one topic a line."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.banks.ragtime26 import DIALECT
from grading.formats.banks.types import BankLine, Source
from grading.formats.ids import is_one_word
from grading.formats.json_values import JsonDict, json_object
from grading.formats.reading import lines
from grading.submissions.coverage import Coverage, DocumentIds, MetadataCheck, TrackTopic
from grading.submissions.findings import Findings
from grading.submissions.rules import NuggetRules, Rules

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
                self._line(json_object(text, shape=_SHAPE), Source(number, path.name))
            except BadFormat as error:
                self._findings.add("malformed", error.problem, line=number)
        self.coverage.finish()

    def _line(self, raw: JsonDict, source: Source) -> None:
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
        for doc_id in dict.fromkeys(_references(bank)):
            if problem := self._ids.problem(doc_id):
                yield problem


def _references(bank: BankLine) -> Iterator[str]:
    """The documents that attest the answers, by id or as objects with one."""
    for item in bank.items:
        for answer in item.parts.get("answers") or ():
            for reference in answer.get("references") or ():
                yield str(reference["doc_id"] if isinstance(reference, dict) else reference)
