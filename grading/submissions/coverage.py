"""What lines of a submission say together: one run, the track's topics, each of them once."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Protocol

from grading.submissions.rules import Findings, MetadataRules, RunIdRules


class TrackTopic(Protocol):
    """What the checks read of a topic; `TopicEntry` of the topics' files has it."""

    @property
    def query_id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def narrative(self) -> str: ...
    @property
    def limit_words(self) -> int | None: ...
    @property
    def limit_characters(self) -> int | None: ...


class Coverage:
    """The run ids and topics of one file; `topics` by their ids, empty where they are not known."""

    def __init__(self, rules: RunIdRules, topics: Mapping[str, TrackTopic], findings: Findings) -> None:
        self._rules, self._topics, self._findings = rules, topics, findings
        self._first_run: tuple[str, int] | None = None
        self.run_tags: dict[str, None] = {}
        """The run ids of the file, in their order."""
        self._first_line: dict[str, int] = {}

    def run_id(self, run_tag: str, line: int) -> None:
        """Check the run id of a line, each run id once."""
        if run_tag in self.run_tags:
            return
        self.run_tags[run_tag] = None
        limit = self._rules.max_characters
        if limit is not None and len(run_tag) > limit:
            problem = f"the run id {run_tag!r} has {len(run_tag)} characters, expected at most {limit}"
            self._findings.add("run_id_length", problem, line=line)
        if not re.fullmatch(self._rules.pattern, run_tag):
            problem = f"the run id is {run_tag!r}, expected {self._rules.pattern}"
            self._findings.add("run_id_characters", problem, line=line)
        first, first_line = self._first_run = self._first_run or (run_tag, line)
        if run_tag != first:
            problem = f"the run id is {run_tag!r}, expected {first!r} as on line {first_line}"
            self._findings.add("metadata", problem, line=line)

    def topic(self, query_id: str, line: int) -> int | None:
        """Return the line on which the topic came first, None where this is it; then it must be known."""
        first = self._first_line.setdefault(query_id, line)
        if first != line:
            return first
        if self._topics and query_id not in self._topics:
            problem = f"no such topic, expected one of the track's {len(self._topics)}"
            self._findings.add("new_topics", problem, line=line, query_id=query_id)
        return None

    @property
    def query_ids(self) -> tuple[str, ...]:
        """Return the topics of the file, in their order."""
        return tuple(self._first_line)

    def finish(self) -> None:
        """Add the topics that no line has."""
        for query_id in self._topics:
            if query_id not in self._first_line:
                self._findings.add("missing_topics", "no line, expected one of this topic", query_id=query_id)


class MetadataCheck:
    """The fields that describe the run and the topic, on each line and between lines."""

    def __init__(self, rules: MetadataRules) -> None:
        self._rules = rules
        self._first: tuple[Mapping[str, object], int] | None = None

    def problems(self, metadata: Mapping[str, object], line: int) -> Iterator[tuple[str, str]]:
        """Yield (category, text) of what is wrong in the metadata of a line."""
        rules = self._rules
        for category, keys in (("metadata", rules.required), ("metadata_recommended", rules.recommended)):
            for key in keys:
                value = metadata.get(key)
                if value is None or (isinstance(value, str) and not value.strip()):
                    yield category, f"{key} is missing or empty, expected a value"
        others = [key for key in metadata if key not in {*rules.required, *rules.recommended}]
        if others and not rules.allows_others:
            yield "metadata", f"{', '.join(others)} in metadata, expected only {', '.join(rules.required)}"
        first, first_line = self._first = self._first or (metadata, line)
        for key in rules.same_on_all_lines:
            if key != "run_id" and metadata.get(key) != first.get(key):
                expected = f"{first.get(key)!r} as on line {first_line}"
                yield "metadata", f"{key} is {metadata.get(key)!r}, expected {expected}"


class DocumentIds:
    """The form of document ids, and whether the collection has them; each id is checked once."""

    def __init__(self, pattern: str, corpus: Container[str] | None) -> None:
        """Compile `pattern` for whole ids, empty where any will do.

        `corpus` is None where it is not known.
        """
        self._pattern = re.compile(pattern) if pattern else None
        self._corpus = corpus
        self._checked: dict[str, tuple[str, str] | None] = {}

    def problem(self, doc_id: str) -> tuple[str, str] | None:
        """Return the category of what is wrong with the id, and the text of it; None where nothing is."""
        if doc_id not in self._checked:
            self._checked[doc_id] = self._problem(doc_id)
        return self._checked[doc_id]

    def _problem(self, doc_id: str) -> tuple[str, str] | None:
        if self._pattern and not self._pattern.fullmatch(doc_id):
            return "docid_pattern", f"the document id {doc_id!r}, expected {self._pattern.pattern}"
        if self._corpus is not None and doc_id not in self._corpus:
            return "docid_unknown", f"the document id {doc_id!r}, expected one of the collection"
        return None
