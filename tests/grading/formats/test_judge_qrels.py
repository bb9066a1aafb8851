"""Qrels of judges: labels of one grader on one scale, refused with their place."""

import gzip
import random
from hashlib import md5
from itertools import islice
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.judge_qrels import FILE_MD5, SCALES, judge_lines, read_judge, scale_of_files
from tests.grading.formats.mutations import damaged, mutations

SAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "judgments.qrels"
TEXT = "t1 0 d1 3\nt2 0 d1 0\nt1 0 d2 1\nt1 0 d1 3\n"
MUTATIONS = mutations(300)


def judge(folder, text=TEXT, name="judge.qrels"):
    path = folder / name
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def test_labels_of_a_topic_are_one_line_of_one_grader(tmp_path):
    file = read_judge(judge(tmp_path))
    first, second = judge_lines(file, judge="gpt", top=4)
    assert [(p.doc_id, p.grades[0].rating) for p in first.passages] == [("d1", 3), ("d2", 1)]
    assert (second.query_id, second.line) == ("t2", 2)
    by = first.passages[0].grades[0].by
    assert (by.llm, by.prompt_class, dict(by.options)) == ("gpt", "Qrels-0-4", {FILE_MD5: file.md5})
    assert SCALES["Qrels-0-4"] == ((0, 4), 2)


def test_the_digest_is_that_of_the_plain_file(tmp_path):
    packed = read_judge(judge(tmp_path, name="judge.qrels.gz"))
    assert packed.md5 == md5(TEXT.encode(), usedforsecurity=False).hexdigest()


def test_the_scale_is_that_of_all_files(tmp_path):
    low = read_judge(judge(tmp_path, "t1 0 d1 0\n", "low.qrels"))
    assert scale_of_files([low]) == 1
    assert scale_of_files([low, read_judge(judge(tmp_path))]) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t1 0 d1 1\nt1 0 d1\n", "3 columns, expected 4"),
        ("t1 0 d1 1\nt1 0 d2 1 x\n", "5 columns, expected 4"),
        ("t1 0 d1 1\nt1 0 d2 2.5\n", 'the relevance is "2.5", expected a whole number'),
        ("t1 0 d1 1\nt1 0 d2 6\n", "the label of d2 for t1 is 6, expected 0 to 5"),
        ("t1 0 d1 1\nt1 0 d2 -1\n", "the label of d2 for t1 is -1, expected 0 to 5"),
        ("t1 0 d1 1\nt1 0 d1 2\n", "d1 has label 2 for t1 and label 1 on line 1, expected one label"),
    ],
)
def test_bad_lines_are_refused(tmp_path, text, message):
    with pytest.raises(BadFormat, match=message) as raised:
        read_judge(judge(tmp_path, text))
    assert (raised.value.file, raised.value.line) == ("judge.qrels", 2)


def test_a_label_above_the_scale_is_refused(tmp_path):
    with pytest.raises(BadFormat, match="is 3, expected 0 to 2") as raised:
        list(judge_lines(read_judge(judge(tmp_path)), judge="gpt", top=2))
    assert raised.value.line == 1


def test_damaged_files_are_refused_with_their_place(tmp_path):
    file, refusals = tmp_path / "damaged", []
    for content in islice(damaged(SAMPLE, random.Random(SAMPLE.name)), MUTATIONS):
        file.write_bytes(content)
        try:
            list(judge_lines(read_judge(file), judge="gpt", top=5))
        except BadFormat as error:
            refusals.append(error)
    assert refusals
    assert {error.file for error in refusals} == {"damaged"}
    assert [error for error in refusals if error.line is None or not error.problem] == []
