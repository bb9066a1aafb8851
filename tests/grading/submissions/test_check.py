"""Generated answers by the rules of tracks: a clean file has no findings, each defect has its category."""

import json
import random
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.responses import read_responses
from grading.submissions import (
    Severity,
    check,
    check_file,
    inspect_file,
    rules_as_json,
    rules_from_json,
    rules_of,
    track_names,
)
from grading.submissions.rules import CATEGORIES
from tests.grading.formats.mutations import damaged

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
SHARD, OTHER = "shard_00001_1", "shard_00001_2"
UUID = "0a1b2c3d-0000-4000-8000-000000000001"


@dataclass(frozen=True)
class Topic:
    query_id: str
    title: str = "How do tides work?"
    description: str = ""
    narrative: str = ""
    limit_words: int | None = None
    limit_characters: int | None = None


def rag26(topic="1", *, run_id="alpha-1", references=(SHARD,), answer=None, **metadata):
    """A line that TREC RAG 2026 takes, with changes."""
    fields = {"team_id": "alpha", "run_id": run_id, "narrative_id": topic, "narrative": "How do tides work?"}
    whole = {
        "metadata": fields | {"run_desc": "baseline"} | metadata,
        "references": list(references),
        "answer": [{"text": "By the moon.", "citations": [0]}] if answer is None else answer,
    }
    return {key: value for key, value in whole.items() if value != ["left out"]}


def ragtime(citations, *, text="By the moon.", **changes):
    metadata = {"team_id": "beta", "run_id": "beta-1", "topic_id": "1", "run_desc": "x", "task": "english"}
    return {"metadata": metadata, "responses": [{"text": text, "citations": citations}]} | changes


def dragun(**metadata):
    fields = {"team_id": "g", "run_id": "g1", "topic_id": "1", "type": "automatic", "use_starter_kit": 0}
    return {"metadata": fields | metadata, "responses": [{"text": "By the moon.", "citations": []}]}


def sentence(*citations, text="By the moon."):
    return {"text": text, "citations": list(citations)}


def findings(tmp_path, track, *rows, topics=(), corpus=None):
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return check_file(path, rules_of(track), topics, corpus=corpus)


def test_lines_that_the_track_takes_have_no_findings(tmp_path):
    assert (
        findings(tmp_path, "rag26", rag26(), rag26("2"), topics=[Topic("1"), Topic("2")], corpus={SHARD})
        == []
    )
    ids = rag26(answer=[sentence(SHARD)])
    assert findings(tmp_path, "rag26", ids, topics=[Topic("1")]) == []
    assert findings(tmp_path, "ragtime26", ragtime({f"{UUID}_3": 0.9}), ragtime([f"{UUID}_3"])) != []
    assert findings(tmp_path, "ragtime26", ragtime({f"{UUID}_3": 0.9})) == []
    assert findings(tmp_path, "dragun25", dragun(), dragun(topic_id="2")) == []


@pytest.mark.parametrize(
    ("name", "track"),
    [
        ("ragtime.jsonl", "ragtime26"),
        ("dragun.jsonl", "dragun25"),
        ("autojudge.jsonl", "kiddie"),
        ("autojudge.jsonl", "autojudge"),
        ("biogen24.json", "biogen24"),
    ],
)
def test_the_sample_files_have_no_findings(name, track):
    assert check_file(FORMATS / name, rules_of(track)) == []


SHORT = sentence(0, text="word " * 1024)
DEFECTS = [
    ("rag26", rag26(run_id="bäum"), "run_id_characters", "error", "[A-Za-z0-9_-][A-Za-z0-9_.-]*"),
    ("rag26", rag26(run_desc=" "), "metadata", "error", "a value"),
    ("rag26", rag26(answer=[]), "empty_answer", "warning", "an answer"),
    ("rag26", rag26(answer=[sentence(text=" \n")]), "empty_answer", "warning", "an answer"),
    ("rag26", rag26(answer=[sentence(0), sentence(text=" ")]), "blank_sentence", "error", "a sentence"),
    ("rag26", rag26(answer=[sentence(0, 0, 0, 0)]), "citation_count", "warning", "at most 3"),
    ("rag26", rag26(answer=[sentence(-1)]), "reference_index", "error", "0 to 0, a position in references"),
    (
        "rag26",
        rag26(answer=[{"text": "A.", "citations": {SHARD: 1}}]),
        "citation_format",
        "error",
        "positions or ids",
    ),
    (
        "rag26",
        rag26(answer=[{"text": "A.", "citations": {SHARD: "x"}}]),
        "citation_score",
        "error",
        "a number",
    ),
    ("rag26", rag26(references=[SHARD, "xshard_1_2"]), "docid_pattern", "error", r"shard_\d+_\d+"),
    ("rag26", rag26(references=[SHARD, SHARD]), "references_duplicate", "warning", "once"),
    ("rag26", rag26(references=[SHARD, OTHER]), "references_uncited", "warning", "one that does"),
    (
        "rag26",
        rag26(references=["left out"], answer=[sentence()]),
        "references_missing",
        "error",
        "a list of document ids",
    ),
    ("rag26", rag26(answer=[sentence(OTHER)]), "references_undeclared", "error", "it in references"),
    ("rag26", ragtime([SHARD]), "layout", "error", "TREC RAG 2025 and 2026 answers"),
    ("rag26", ["t1"], "malformed", "error", "one response a line: {metadata"),
    ("rag25", rag26(answer=[sentence(0, text="word " * 401)]), "length", "warning", "at most 400"),
    ("rag25", rag26(references=[f"r{n}" for n in range(101)]), "references_max", "error", "at most 100"),
    (
        "ragtime25",
        ragtime([f"{UUID}_3"], references=[f"{UUID}_3", f"{UUID}_4"]),
        "references_uncited",
        "error",
        "one that",
    ),
    (
        "ragtime25",
        ragtime([f"{UUID}_3"], references=[]),
        "references_undeclared",
        "warning",
        "it in references",
    ),
    ("ragtime25", ragtime([f"{UUID}_3"]), "references_missing", "warning", "a list of document ids"),
    ("ragtime26", ragtime([f"{UUID}_3"], text="ﬁ" * 6), "length", "warning", "at most 10"),
    ("ragtime26", ragtime({"doc-1": 1}), "docid_pattern", "error", UUID[:0]),
    (
        "dragun25",
        dragun(prompt="p"),
        "metadata",
        "error",
        "only team_id, run_id, topic_id, type, use_starter_kit",
    ),
    ("dragun25", dragun(type=None), "metadata", "error", "a value"),
]


@pytest.mark.parametrize(("track", "row", "category", "severity", "expected"), DEFECTS)
def test_each_defect_is_found(track, row, category, severity, expected, tmp_path):
    topics = [Topic("1", limit_characters=10), Topic("t1")]
    found = [one for one in findings(tmp_path, track, row, topics=topics) if one.category == category]
    assert [(one.severity, one.file, one.line) for one in found] == [(severity, "run.jsonl", 1)]
    assert found[0].expected.startswith(expected)
    assert found[0].problem


def test_the_limit_itself_is_within_the_limit(tmp_path):
    assert findings(tmp_path, "rag26", rag26(run_id="a" * 20, answer=[SHORT])) == []
    assert (
        findings(tmp_path, "ragtime26", ragtime([], text="ﬁ" * 5), topics=[Topic("1", limit_characters=10)])
        == []
    )


def test_findings_name_the_sentence(tmp_path):
    (found,) = findings(tmp_path, "rag26", rag26(answer=[sentence(0), sentence(0, 0, 0, 0)]))
    assert (found.query_id, found.sentence) == ("1", 2)
    assert str(found) == (
        "run.jsonl:1: warning citation_count: topic 1, sentence 2: 4 citations, expected at most 3"
    )


def test_topics_are_counted_over_the_file(tmp_path):
    rows = [rag26("1"), rag26("1"), rag26("9")]
    found = findings(tmp_path, "rag26", *rows, topics=[Topic("1"), Topic("2")])
    assert [(one.category, one.severity, one.line, one.query_id) for one in found] == [
        ("duplicate_topics", Severity.ERROR, 2, "1"),
        ("new_topics", Severity.ERROR, 3, "9"),
        ("missing_topics", Severity.WARNING, None, "2"),
    ]
    assert str(found[2]) == "run.jsonl: warning missing_topics: topic 2: no line, expected one of this topic"


def test_what_is_off_is_not_looked_for(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(rag26(topic)) + "\n" for topic in "119"))
    rules = rules_from_json(
        rules_as_json(rules_of("rag26")) | {"off": ["duplicate_topics", "missing_topics"]}
    )
    assert [one.category for one in check_file(path, rules, [Topic("1"), Topic("2")])] == ["new_topics"]


def test_a_report_keeps_some_of_many_findings_and_counts_all(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(rag26(topic)) + "\n" for topic in "12345"))
    inspected = inspect_file(path, rules_of("rag26"), [Topic("1")], most_each=2)
    assert [one.query_id for one in inspected.findings] == ["2", "3"]
    assert inspected.counts == {"new_topics": 4}
    assert (inspected.run_tags, inspected.query_ids) == (("alpha-1",), tuple("12345"))
    assert inspected.teams == ("alpha",)


def test_topic_ids_are_compared_as_text(tmp_path):
    assert findings(tmp_path, "rag26", rag26(1), rag26("2"), topics=[Topic("1"), Topic("2")]) == []


def test_a_file_is_of_one_run(tmp_path):
    (found,) = findings(tmp_path, "rag26", rag26("1"), rag26("2", run_id="other"), rag26("3", run_id="other"))
    assert (found.category, found.line, found.expected) == ("metadata", 2, "'alpha-1' as on line 1")


def test_metadata_is_the_same_on_all_lines_where_the_track_says_so(tmp_path):
    (found,) = findings(tmp_path, "dragun25", dragun(), dragun(topic_id="2", type="manual"))
    assert (found.category, found.line, found.problem) == ("metadata", 2, "type is 'manual'")
    assert findings(tmp_path, "rag26", rag26("1"), rag26("2", run_desc="another")) == []


def test_documents_are_looked_up_in_the_collection(tmp_path):
    row = rag26(references=[SHARD, OTHER], answer=[sentence(0)])
    found = findings(tmp_path, "rag26", row, corpus={"shard_9_9"})
    unknown = [(one.problem, one.sentence) for one in found if one.category == "docid_unknown"]
    assert unknown == [(f"the document id {SHARD!r}", 1), (f"the document id {OTHER!r}", None)]


def test_a_line_that_cannot_be_read_does_not_hide_the_others(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(f"{{\n\n{json.dumps(rag26(answer=[]))}\n")
    found = check_file(path, rules_of("rag26"))
    assert [(one.category, one.line) for one in found] == [
        ("malformed", 1),
        ("malformed", 2),
        ("empty_answer", 3),
    ]


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(json.dumps(rag26()).encode() + b"\n\xff\n")
    (found,) = check_file(path, rules_of("rag26"))
    assert (found.category, found.line, found.expected) == ("malformed", 2, "UTF-8 text")


def test_brackets_without_ids_are_found_in_biogen(tmp_path):
    run = {"team_id": "a", "run_name": "b", "contact_email": "c@example.org"}
    result = {"topic_id": "1", "answer": "Honey [sic] [11]. [12] It is old.", "references": ["11"]}
    found = findings(tmp_path, "biogen24", run | {"results": [result]})
    assert [(one.category, one.severity, one.sentence) for one in found] == [
        ("citation_format", Severity.WARNING, 1),
        ("citation_format", Severity.WARNING, 2),
    ]


def test_rag24_has_its_fields_on_the_line(tmp_path):
    line = {
        "run_id": "a",
        "topic_id": 1,
        "topic": "How do tides work",
        "references": [],
        "answer": [sentence()],
    }
    found = findings(tmp_path, "rag24", line, topics=[Topic("1")])
    assert [one.category for one in found] == ["narrative"]
    assert [one.category for one in findings(tmp_path, "rag24", line | {"topic": ""})] == ["metadata"]


@pytest.mark.parametrize("track", ["rag24", "rag25"])
def test_positions_written_as_text_are_found(track, tmp_path):
    line = {
        "rag24": {"run_id": "a", "topic_id": "1", "topic": "tides", "response_length": 3},
        "rag25": {"metadata": {"team_id": "a", "run_id": "b", "narrative_id": "1", "type": "manual"}},
    }[track] | {"references": [SHARD], "answer": [sentence("0")]}
    reported = findings(tmp_path, track, line)
    (finding,) = [each for each in reported if each.category == "citation_format"]
    assert (finding.expected, finding.sentence) == ("numbers", 1)


def test_responses_from_anywhere_are_checked():
    responses = list(read_responses(FORMATS / "rag25.jsonl"))
    found = check(responses, rules_of("rag26"), file="run 7")
    assert {(one.category, one.file) for one in found} == {
        ("metadata", "run 7"),
        ("references_uncited", "run 7"),
    }


def test_a_track_without_responses_is_refused(tmp_path):
    rules = rules_of("rag26")
    only_runs = type(rules)(name="x", label="X", retrieval=rules.retrieval)
    with pytest.raises(BadFormat, match="X takes no responses"):
        check([], only_runs)
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(rag26()))
    assert [str(one) for one in check_file(path, only_runs)] == [
        "run.jsonl:1: error layout: JSON, expected a TREC run"
    ]


@pytest.mark.parametrize("track", track_names())
def test_strict_rules_have_no_warnings(track, tmp_path):
    rules = rules_of(track)
    assert rules.name == track
    assert rules.warnings
    assert rules.strict().severity(next(iter(rules.warnings))) is Severity.ERROR


@pytest.mark.parametrize(
    ("name", "track"),
    [
        ("rag25.jsonl", "rag26"),
        ("rag24.jsonl", "rag24"),
        ("ragtime.jsonl", "ragtime25"),
        ("biogen24.json", "biogen24"),
    ],
)
def test_damaged_files_have_findings_with_their_place(name, track, tmp_path):
    path, count = tmp_path / "damaged", 0
    for content in islice(damaged(FORMATS / name, random.Random(name)), 200):
        path.write_bytes(content)
        for one in check_file(path, rules_of(track), [Topic("7"), Topic("116")]):
            assert one.file == "damaged"
            assert one.line or one.category == "missing_topics"
            assert one.category in CATEGORIES
            count += 1
    assert count
