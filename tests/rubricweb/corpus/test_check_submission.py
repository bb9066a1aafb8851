"""`rubricweb check_submission`: what it prints, and its exit status."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


def check(*arguments):
    """(exit status, standard output, standard error) of the command."""
    out, err = StringIO(), StringIO()
    try:
        call_command("check_submission", *map(str, arguments), stdout=out, stderr=err)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_files_that_the_track_takes_end_with_status_0():
    status, out, err = check(FORMATS / "ragtime.jsonl", "--track", "ragtime26")
    assert (status, out) == (0, "")
    assert err == "TREC RAGTIME 2026: 1 file, 0 errors, 0 warnings.\n"


def test_an_error_ends_with_status_1():
    status, out, err = check(FORMATS / "rag25.jsonl", FORMATS / "ragtime.jsonl", "--track", "rag26")
    assert status == 1
    lines = out.splitlines()
    assert (
        lines[0] == "rag25.jsonl:1: error metadata: topic 7: run_desc is missing or empty, expected a value"
    )
    assert any(line.startswith("ragtime.jsonl:1: error layout: ") for line in lines)
    assert err.startswith("TREC RAG 2026: 2 files, ")


def test_warnings_are_errors_where_that_is_wanted():
    arguments = [FORMATS / "rag24.jsonl", "--track", "rag24"]
    assert check(*arguments)[0] == 0
    status, out, _ = check(*arguments, "--strict")
    assert status == 1
    assert out == "rag24.jsonl:2: error empty_answer: topic 2025: no text, expected an answer\n"


def test_topics_are_compared(tmp_path):
    topics = tmp_path / "topics.tsv"
    topics.write_text(
        "7\tWhy do bees dance? I keep two hives.\n8\tHow do bees overwinter??\n9\tWhat is wax?\n"
    )
    status, out, _ = check(FORMATS / "rag25_ids.jsonl", "--track", "rag26", "--topics", topics, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 1
    assert [(one["category"], one["severity"], one["query_id"]) for one in found] == [
        ("metadata", "error", "7"),
        ("missing_topics", "warning", "8"),
        ("missing_topics", "warning", "9"),
    ]
    assert found[0] == {
        "category": "metadata",
        "severity": "error",
        "problem": "run_desc is missing or empty",
        "expected": "a value",
        "file": "rag25_ids.jsonl",
        "line": 1,
        "query_id": "7",
        "sentence": None,
    }


def test_rules_may_be_a_file_of_their_own(tmp_path):
    rules = tmp_path / "ours.toml"
    rules.write_text('name = "ours"\nlabel = "Our track"\n[retrieval]\nmax_ranks = 2\n')
    status, out, err = check(FORMATS / "bm25.run", "--track", rules)
    assert (status, err) == (1, "Our track: 1 file, 2 errors, 0 warnings.\n")
    assert "ranking_depth" in out


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (["--track", "rag23"], "no rules for 'rag23', expected one of autojudge"),
        (["--track", "missing.toml"], "missing.toml: cannot be opened"),
        (["--track", "rag26", "--topics", "missing.tsv"], "missing.tsv: cannot be opened"),
    ],
)
def test_what_cannot_be_checked_by_is_refused(arguments, phrase):
    with pytest.raises(CommandError, match=phrase):
        check(FORMATS / "rag25.jsonl", *arguments)


def test_a_missing_file_is_an_error():
    status, out, _ = check("missing.jsonl", "--track", "rag26")
    assert status == 1
    assert out.startswith("missing.jsonl: error malformed: cannot be opened, expected a readable file")
