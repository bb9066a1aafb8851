"""Submitted nuggets by the rules of RAGTIME 2026."""

import json

import pytest

from grading.submissions import check_file, rules_of

DOCUMENT = "0a1b2c3d-0000-4000-8000-000000000001_1"


def line(topic="1", *, answers=None, **changes):
    """A line that the track takes, with changes."""
    metadata = {"team_id": "beta", "topic_id": topic, "run_id": "n" * 25, "run_desc": "x"}
    whole = [{"answer": "The moon", "references": [DOCUMENT, {"doc_id": DOCUMENT, "text": "It pulls."}]}]
    question = {"question": "What moves the tides?", "aggregator_type": "OR", "answers": answers or whole}
    return {"metadata": metadata, "nugget_bank": [question]} | changes


def metadata(**changes):
    return line(metadata=line()["metadata"] | changes)


def findings(tmp_path, *rows, track="ragtime26"):
    path = tmp_path / "nuggets.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return check_file(path, rules_of(track))


def test_nuggets_that_the_track_takes_have_no_findings(tmp_path):
    assert findings(tmp_path, line(), line("2", nugget_bank=[line()["nugget_bank"][0]])) == []


DEFECTS = [
    (metadata(run_id="n" * 26), "run_id_length", "error", "at most 25"),
    (metadata(run_id=".n"), "run_id_characters", "error", "[A-Za-z0-9_-]"),
    (metadata(run_id="a b"), "metadata", "error", "an id without white space"),
    (metadata(run_id=None), "metadata", "error", "an id without white space"),
    (metadata(team_id=""), "metadata", "error", "a value"),
    (metadata(run_desc=""), "metadata_recommended", "warning", "a value"),
    (line(metadata=[]), "malformed", "error", "{metadata: {team_id, topic_id, run_id}"),
    (line(nugget_bank=[]), "empty_answer", "warning", "a question"),
    (line(nugget_bank=[{"question": "Why?", "aggregator_type": "NOT"}]), "malformed", "error", "AND or OR"),
    (line(answers=[{"answer": "A", "references": ["doc-1"]}]), "docid_pattern", "error", "[0-9a-f]{8}-"),
]


@pytest.mark.parametrize(("row", "category", "severity", "expected"), DEFECTS)
def test_each_defect_is_found(row, category, severity, expected, tmp_path):
    found = findings(tmp_path, row)
    one = next(one for one in found if one.category == category)
    assert (one.severity, one.file, one.line) == (severity, "nuggets.jsonl", 1)
    assert one.expected.startswith(expected)


def test_a_bad_line_does_not_hide_the_others(tmp_path):
    path = tmp_path / "nuggets.jsonl"
    path.write_text(f"{json.dumps(line())}\n{{\n\n{json.dumps(line())}\n")
    found = check_file(path, rules_of("ragtime26"))
    assert [(one.category, one.line) for one in found] == [
        ("malformed", 2),
        ("malformed", 3),
        ("duplicate_topics", 4),
    ]


def test_tracks_without_nuggets_read_them_as_responses(tmp_path):
    (found,) = findings(tmp_path, line(), track="rag26")
    assert (found.category, found.problem) == ("malformed", "responses or answer is missing")
