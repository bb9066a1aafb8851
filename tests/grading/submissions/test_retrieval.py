"""TREC runs by the rules of tracks."""

from dataclasses import dataclass

import pytest

from grading.submissions import check_file, rules_of


@dataclass(frozen=True)
class Topic:
    query_id: str
    title: str = ""
    description: str = ""
    narrative: str = ""
    limit_words: int | None = None
    limit_characters: int | None = None


def found_in(tmp_path, text, *, track="rag26", topics=()):
    path = tmp_path / "bm25.run"
    path.write_text(text)
    return [
        (one.category, one.severity.value, one.line, one.query_id)
        for one in check_file(path, rules_of(track), topics)
    ]


def test_a_run_that_the_track_takes_has_no_findings(tmp_path):
    text = "1 Q0 shard_1_1 1 2.5 r\n1\tQ0\tshard_1_2\t2\t2.5\tr\n\n2 Q0 shard_1_1 0 -1e-3 r\n"
    assert found_in(tmp_path, text, topics=[Topic("1"), Topic("2")]) == []


@pytest.mark.parametrize(
    ("line", "category", "query_id"),
    [
        ("1 Q0 shard_1_2 2 1.0", "malformed", ""),
        ("1 Q0 shard_1_2 2 1.0 r x", "malformed", ""),
        ("1 Q0 shard_1_2 second 1.0 r", "malformed", "1"),
        ("1 Q0 shard_1_2 2 nan r", "malformed", "1"),
        ("1 Q0 shard_1_2 2 9.5 r", "ranking_order", "1"),
        ("1 Q0 shard_1_1 2 1.0 r", "ranking_duplicate", "1"),
        ("1 Q0 shard_1_2xyz 2 1.0 r", "docid_pattern", "1"),
        ("9 Q0 shard_1_2 1 1.0 r", "new_topics", "9"),
        ("1 Q0 shard_1_2 2 1.0 other", "metadata", ""),
    ],
)
def test_each_defect_is_found_once(line, category, query_id, tmp_path):
    found = found_in(tmp_path, f"1 Q0 shard_1_1 1 2.0 r\n{line}\n", topics=[Topic("1")])
    assert found == [(category, "error", 2, query_id)]


def test_scores_are_compared_down_the_ranks_not_the_lines(tmp_path):
    assert found_in(tmp_path, "1 Q0 shard_1_1 2 1 r\n1 Q0 shard_1_2 1 2 r\n") == []
    assert found_in(tmp_path, "1 Q0 shard_1_1 2 3 r\n1 Q0 shard_1_2 1 2 r\n") == [
        ("ranking_order", "error", 1, "1")
    ]


def test_rankings_may_have_a_largest_depth(tmp_path):
    rows = [f"1 Q0 msmarco_v2.1_doc_00_1#{n}_1 {n} {-n} r\n" for n in range(1, 103)]
    assert found_in(tmp_path, "".join(rows), track="rag25") == [("ranking_depth", "error", 101, "1")]
    assert found_in(tmp_path, "".join(rows[:100]), track="rag25") == []


def test_missing_topics_and_run_ids_are_those_of_responses(tmp_path):
    text = f"1 Q0 shard_1_1 1 2.0 {'a' * 21}\n"
    assert found_in(tmp_path, text, topics=[Topic("1"), Topic("2")]) == [
        ("run_id_length", "error", 1, ""),
        ("missing_topics", "warning", None, "2"),
    ]


def test_a_track_without_runs_says_so(tmp_path):
    assert found_in(tmp_path, "1 Q0 d 1 1 r\n", track="kiddie") == [("layout", "error", 1, "")]
    (finding,) = check_file(tmp_path / "bm25.run", rules_of("kiddie"))
    assert (finding.problem, finding.expected) == ("a TREC run", "responses")
