"""Assignments of nuggets to whole answers: read, kept as they are, and refused with their place."""

import copy
import json
import random
from itertools import islice

import pytest

from grading.errors import BadFormat
from grading.formats.assignments import in_order, read_assigned, read_assignment_file
from grading.formats.json_lines import encode_json
from grading.types import Outcome
from tests.grading.formats.mutations import damaged, mutations
from tests.grading.formats.samples import FOLDER

SAMPLE = FOLDER / "assigned_answers.jsonl"
GRADED = FOLDER / "banks" / "ragdoll_graded.jsonl"
LINES = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
MUTATIONS = mutations(300)


def changed(number, **values):
    """The sample with some values of a line changed; `nugget` changes its first nugget."""
    lines = copy.deepcopy(LINES)
    lines[number]["nuggets"][0] |= values.pop("nugget", {})
    lines[number] |= values
    return lines


def written(folder, lines):
    path = folder / "assigned.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_is_kept_as_it_was():
    assert [answer.foreign for answer in read_assignment_file(SAMPLE)] == LINES
    assert [json.dumps(in_order(line)) for line in LINES] == [json.dumps(line) for line in LINES]


def test_assignments_are_grades_and_failed_ones_have_none():
    first, *_, last = read_assignment_file(SAMPLE)
    assert (first.run_id, first.query_id, first.text) == ("beta", "1", "Anthocyanins are red [1].\n")
    grades = first.grades("judge")
    assert [grade.rating for grade in grades] == [2, 0, None]
    assert (grades[2].outcome, grades[2].by.llm) == (Outcome.FAILED, "judge")
    assert last.grades("judge") == []


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (
            changed(1, nugget={"text": "Other"}),
            2,
            r"nuggets\[0\] of topic 1 is 'Other' .* expected the same nug",
        ),
        (changed(1, nugget={"importance": "okay"}), 2, r"\(okay\) here and .* \(vital\) in assigned.jsonl:1"),
        (changed(1, nuggets=LINES[1]["nuggets"][:2]), 2, r"nuggets\[2\] of topic 1 is missing here"),
        (
            changed(0, nugget={"assignment": "maybe"}),
            1,
            r"nuggets\[0\].assignment is 'maybe', expected support",
        ),
        (changed(0, nugget={"assignment": None}), 1, r"nuggets\[0\].assignment is None, expected support"),
        (changed(0, nugget={"importance": "must"}), 1, r"nuggets\[0\].importance is 'must', expected vital"),
        (
            changed(0, nugget={"text": "Leaves fall in autumn "}),
            1,
            r"nuggets\[0\] and nuggets\[1\] have equal",
        ),
        (changed(1, run_id="beta"), 2, "run beta answers topic 1 here and in assigned.jsonl:1"),
        (changed(0, run_id=None), 1, "no run_id, expected"),
        (changed(0, qid=None), 1, "no qid, expected"),
        (changed(0, answer_text=None), 1, "answer_text is None, expected the text"),
        (changed(0, response_length="4"), 1, "response_length is '4', expected a number"),
        (changed(0, nuggets={}), 1, "nuggets is {}, expected a list"),
    ],
)
def test_bad_lines_are_refused(tmp_path, lines, line, message):
    with pytest.raises(BadFormat, match=message) as raised:
        read_assignment_file(written(tmp_path, lines))
    assert (raised.value.file, raised.value.line) == ("assigned.jsonl", line)


def test_files_of_one_author_are_checked_together(tmp_path):
    other = written(tmp_path, LINES[:1])
    with pytest.raises(BadFormat, match=r"run beta answers topic 1 here and in assigned_answers.jsonl:1"):
        read_assigned([SAMPLE, other])


def test_the_old_word_for_failed_is_read(tmp_path):
    (answer, *_) = read_assignment_file(written(tmp_path, changed(0, nugget={"assignment": "fail"})))
    assert answer.grades("judge")[0].outcome is Outcome.FAILED


@pytest.mark.parametrize("sample", [SAMPLE, GRADED], ids=lambda path: path.name)
def test_damaged_files_are_refused_with_their_place(sample, tmp_path):
    file, refusals = tmp_path / "damaged", []
    for content in islice(damaged(sample, random.Random(sample.name)), MUTATIONS):
        file.write_bytes(content)
        try:
            for answer in read_assignment_file(file):
                encode_json(answer.foreign)
        except BadFormat as error:
            refusals.append(error)
    assert refusals
    assert {error.file for error in refusals} == {"damaged"}
    assert [error for error in refusals if error.line is None or not error.problem] == []
