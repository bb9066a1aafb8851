"""What a track takes, as rules that are data, and the check of submitted files: all that is wrong."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.reading import lines
from grading.submissions.coverage import TrackTopic
from grading.submissions.rules import (
    Finding,
    Findings,
    Rules,
    Severity,
    named_rules,
    parse_rules,
    read_rules,
    rules_as_json,
    rules_from_json,
    rules_of,
    track_names,
)
from grading.submissions.submitted import NuggetCheck, ResponseCheck, RunCheck
from grading.types import Response

__all__ = [
    "Finding",
    "Inspection",
    "Rules",
    "Severity",
    "check",
    "check_file",
    "inspect_file",
    "named_rules",
    "parse_rules",
    "read_rules",
    "rules_as_json",
    "rules_from_json",
    "rules_of",
    "track_names",
]


def check(
    responses: Iterable[Response],
    rules: Rules,
    topics: Iterable[TrackTopic] = (),
    *,
    file: str = "",
    corpus: Container[str] | None = None,
) -> list[Finding]:
    """Check the responses of one run. What the file said beside them is taken from `Response.foreign`.

    Without `topics` no topic is missing, unknown or copied wrongly; without `corpus`, the ids of the
    collection's documents, no document is unknown. Raises `BadFormat` where the track takes no responses.
    """
    if rules.responses is None:
        raise BadFormat(f"{rules.label} takes no responses, expected the rules of a track that does")
    findings = Findings(file, rules.severity)
    checking = ResponseCheck(rules, rules.responses, _by_id(topics), findings, corpus=corpus)
    for response in responses:
        checking.response(response)
    checking.finish()
    return findings.all


@dataclass(frozen=True, slots=True)
class Inspection:
    """A checked file: what is wrong with it, and what it names."""

    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    """By category: how many findings there are, of which `findings` may lack some."""
    run_tags: tuple[str, ...]
    query_ids: tuple[str, ...]
    teams: tuple[str, ...]


def check_file(
    path: Path,
    rules: Rules,
    topics: Iterable[TrackTopic] = (),
    *,
    corpus: Container[str] | None = None,
) -> list[Finding]:
    """Check a file by what it holds: responses, nuggets or a TREC run. What cannot be read is a finding."""
    return list(inspect_file(path, rules, topics, corpus=corpus).findings)


def inspect_file(
    path: Path,
    rules: Rules,
    topics: Iterable[TrackTopic] = (),
    *,
    corpus: Container[str] | None = None,
    most_each: int | None = None,
) -> Inspection:
    """Check a file as `check_file` does, with what it names; at most `most_each` findings of a category.

    A kind of file that tracks take beside these has a table of its own in `Rules` and is told apart here.
    """
    findings = Findings(path.name, rules.severity, most_each=most_each)
    checking = None
    try:
        first = next((text for _, text in lines(path) if text.strip()), "").lstrip()
        checking = _checking(first, rules, _by_id(topics), findings, corpus)
        if checking:
            checking.file(path)
        else:
            findings.add("layout", f"{_given(first)}, expected {rules.kinds}", line=1)
    except BadFormat as error:
        findings.add("malformed", error.problem, line=error.line)
    return Inspection(
        findings=tuple(findings.all),
        counts=dict(findings.counts),
        run_tags=tuple(checking.coverage.run_tags) if checking else (),
        query_ids=checking.coverage.query_ids if checking else (),
        teams=tuple(getattr(checking, "teams", ())),
    )


def _checking(
    first_line: str,
    rules: Rules,
    topics: Mapping[str, TrackTopic],
    findings: Findings,
    corpus: Container[str] | None,
) -> ResponseCheck | NuggetCheck | RunCheck | None:
    """Return what checks a file that begins so; None where the track takes nothing of the kind."""
    if not _is_json(first_line):
        return RunCheck(rules, rules.retrieval, topics, findings, corpus=corpus) if rules.retrieval else None
    if '"nugget_bank"' in first_line and rules.nuggets:
        return NuggetCheck(rules, rules.nuggets, topics, findings, corpus=corpus)
    return ResponseCheck(rules, rules.responses, topics, findings, corpus=corpus) if rules.responses else None


def _is_json(first_line: str) -> bool:
    return first_line.startswith(("{", "["))


def _given(first_line: str) -> str:
    """Name what a file is that the track does not take."""
    if _is_json(first_line):
        return "JSON"
    return "a TREC run" if len(first_line.split()) == 6 else "no JSON"


def _by_id(topics: Iterable[TrackTopic]) -> dict[str, TrackTopic]:
    return {topic.query_id: topic for topic in topics}
