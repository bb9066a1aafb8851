"""Check what was submitted by the rules of a track: everything that is wrong, with its place."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.reading import lines
from grading.submissions.coverage import TrackTopic
from grading.submissions.findings import Finding, Findings
from grading.submissions.responses import ResponseCheck
from grading.submissions.retrieval import RunCheck
from grading.submissions.rules import Rules
from grading.types import Response


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


def check_file(
    path: Path,
    rules: Rules,
    topics: Iterable[TrackTopic] = (),
    *,
    corpus: Container[str] | None = None,
) -> list[Finding]:
    """Check a file of responses, or a TREC run where the file is one; what cannot be read is a finding, too.

    A kind of file that tracks take beside these has a table of its own in `Rules` and is told apart here.
    """
    findings = Findings(path.name, rules.severity)
    try:
        is_json = _is_json(path)
        if is_json and rules.responses:
            ResponseCheck(rules, rules.responses, _by_id(topics), findings, corpus=corpus).file(path)
        elif not is_json and rules.retrieval:
            RunCheck(rules, rules.retrieval, _by_id(topics), findings, corpus=corpus).file(path)
        else:
            given, taken = ("JSON", "a TREC run") if is_json else ("no JSON", "responses")
            findings.add("layout", f"{given}, expected {taken}", line=1)
    except BadFormat as error:
        findings.add("malformed", error.problem, line=error.line)
    return findings.all


def _is_json(path: Path) -> bool:
    first = next((text for _, text in lines(path) if text.strip()), "")
    return first.lstrip().startswith(("{", "["))


def _by_id(topics: Iterable[TrackTopic]) -> dict[str, TrackTopic]:
    return {topic.query_id: topic for topic in topics}
