"""What must never pass: each vector fails with its file, its line, the field, and what was expected.

They are vectors of the exchange formats of TREC AutoJudge, RAG and RAGTIME. Two that the tools of these
tracks stumble over are no errors here: a measure of whole numbers whose row of `all` has decimals, since
that is a mean (tests/grading/formats/test_leaderboards.py), and the assignment "failed" of nuggetizer,
which stays a failure and is left out of what AutoJudge reads
(tests/grading/formats/test_bank_dialects.py). An accepted answer of 301 characters is refused by the
import (tests/rubricweb/banks/test_dialects.py).
"""

import json

import pytest

from grading.errors import BadFormat
from grading.formats.banks import read_bank
from grading.formats.responses import read_responses
from grading.formats.topics import read_topics
from grading.formats.trec import read_qrels
from grading.submissions import Severity, check_file, rules_of
from tests.grading.submissions.test_check import SHARD, Topic, rag26, sentence

GOOD = rag26("2")
EMPTY = {"query_id": "0", "nugget_bank": []}
TWICE = {"query_id": "1", "nugget_bank": [{"question": "Why?"}, {"question": "Why?"}]}
EMPTY_26 = {"metadata": {"topic_id": "0"}, "nugget_bank": []}
NOT = {"metadata": {"topic_id": "1"}, "nugget_bank": [{"question": "Why?", "aggregator_type": "NOT"}]}


def alike(run_id):
    return [rag26(run_id=run_id), rag26("2", run_id=run_id)]


def submitted(path):
    topics = [Topic("1"), Topic("2")]
    return [str(one) for one in check_file(path, rules_of("rag26"), topics) if one.severity is Severity.ERROR]


def read_by(read):
    def refused(path):
        with pytest.raises(BadFormat) as caught:
            list(read(path))
        return [str(caught.value)]

    return refused


ONE_SHAPE = [GOOD, rag26(answer=[sentence(SHARD), sentence(0)])]
LONG = [GOOD, rag26(answer=[sentence(0, text="word " * 1025)])]
NO_ID = [{"request_id": "1", "title": "tides"}, {"title": "bees"}]
VECTORS = {
    "mixed citations": (submitted, ONE_SHAPE, 2, "answer[1].citations", "document ids as in answer[0]"),
    "position": (submitted, [GOOD, rag26(answer=[sentence(1)])], 2, "answer[0].citations", "0 to 0, a posi"),
    "narrative": (submitted, [GOOD, rag26(narrative="Tides")], 2, "narrative has", "the topic's text, which"),
    "1,025 words": (submitted, LONG, 2, "the answer has 1,025 words", "at most 1,024"),
    "21 characters": (submitted, alike("a" * 21), 1, f"the run id '{'a' * 21}' has 21", "at most 20"),
    "leading dot": (submitted, alike(".a"), 1, "the run id is '.a'", "[A-Za-z0-9_-][A-Za-z0-9_.-]*"),
    "blank in an id": (read_by(read_responses), alike("a b"), 1, "metadata.run_id is 'a b'", "an id without"),
    "tail": (submitted, [GOOD, rag26(references=["shard_1_2xyz"])], 2, "'shard_1_2xyz'", r"shard_\d+_\d+"),
    "topic twice": (
        submitted,
        [GOOD, rag26(), rag26()],
        3,
        "topic 1: the topic again",
        "it once, as on line 2",
    ),
    "no request_id": (read_by(read_topics), NO_ID, 2, "request_id is missing", "an id"),
    "equal texts": (
        read_by(read_bank),
        [EMPTY, TWICE],
        2,
        "nugget_bank[0] and nugget_bank[1]",
        "each text once",
    ),
    "NOT in RAGTIME": (read_by(read_bank), [EMPTY_26, NOT], 2, "nugget_bank[0].aggregator_type", "AND or OR"),
    "three columns": (
        read_by(read_qrels),
        ["1 0 d1 1", "1 0 d2"],
        2,
        "3 columns",
        "4 columns: query_id 0 doc_id",
    ),
    "blank line": (
        submitted,
        [GOOD, "", rag26()],
        2,
        "malformed: blank line",
        "one response a line: {metadata",
    ),
}


@pytest.mark.parametrize(("checked", "rows", "line", "field", "expected"), VECTORS.values(), ids=VECTORS)
def test_it_fails_with_file_line_field_and_what_was_expected(checked, rows, line, field, expected, tmp_path):
    path = tmp_path / "file"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    (problem,) = checked(path)
    assert problem.startswith(f"file:{line}: ")
    assert field in problem
    assert f", expected {expected}" in problem
