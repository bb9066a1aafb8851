"""Labels of support: from replies, and as scores."""

import math

import pytest

from grading import support
from grading.errors import UnknownPrompt
from grading.support import UNKNOWN, JudgedCitations, Support, SupportRule, majority, support_score
from grading.types import FAILED, MISSING


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("full_support", Support.FULL),
        ("Label: Full support", Support.FULL),
        ("The passage does not support the statement.\nLabel: no_support", Support.NONE),
        ('{"label": "partial_support"}', Support.PARTIAL),
        ("unsupported", Support.NONE),
        ("full_support or partial_support", None),
        ("It does not give full support.", None),
        ("", None),
    ],
)
def test_a_reply_counts_only_where_it_names_one_label(reply, label):
    assert support.label_of(reply, support.support_prompt()) is label


def test_braces_in_a_statement_are_no_placeholders():
    ((_, text),) = support.question("{passage}", "Bread {statement} rises.", support.support_prompt())
    assert "Statement: {passage}" in text
    assert "Passage: Bread {statement} rises." in text


def test_an_unknown_prompt_is_named_with_the_known_ones():
    with pytest.raises(UnknownPrompt, match=r"known are .*SupportOfStatement@1"):
        support.support_prompt("SupportOfStatement@0")


def test_only_the_first_three_citations_of_a_sentence_are_judged():
    assert JudgedCitations.ALL.of("abcd") == ("a", "b", "c")
    assert JudgedCitations.ALL.of(()) == ()


WORKED = {
    "[2] [1] [0] []": [(0.5, 0.375)] * 2 + [(1 / 3, 0.25), (0.5, 0.375)],
    "[2,0] [1,1] []": [(0.75, 0.5), (0.5, 1 / 3), (0.5, 1 / 3), (0.5, 0.5)],
    "[-1] [2] []": [(1, 0.5)] * 4,
    "[-1,2] [0]": [(0, 0), (0.5, 0.5), (0, 0), (0.5, 0.5)],
    "[1,-1] [0]": [(0.25, 0.25), (0.25, 0.25), (0, 0), (0.25, 0.25)],
    "[0,0,0,2]": [(0, 0), (0.25, 0.25), (0, 0), (0, 0)],
    "": [(0, 0)] * 4,
    "[] []": [(0, 0)] * 4,
    "[-1]": [(0, 0)] * 4,
}
"""Labels by sentence -> precision and recall by each rule, in their order."""


def labels_of(text: str) -> list[list[int]]:
    return [[int(label) for label in row.strip("[]").split(",") if label] for row in text.split()]


@pytest.mark.parametrize("text", WORKED)
def test_each_rule_scores_an_answer_as_worked_by_hand(text):
    scores = [support_score(labels_of(text), rule) for rule in SupportRule]
    assert [(score.precision, score.recall) for score in scores] == [
        pytest.approx(pair) for pair in WORKED[text]
    ]


def test_an_unjudged_answer_counts_0_or_is_unknown():
    labels = [[MISSING], [FAILED], []]
    assert (support_score(labels).precision, support_score(labels).recall) == (0, 0)
    score = support_score(labels, unjudged=UNKNOWN)
    assert math.isnan(score.precision)
    assert math.isnan(score.recall)
    assert (score.missing, score.failed, score.judged, score.is_unjudged) == (1, 1, 0, True)


@pytest.mark.parametrize("text", ["", "[] []"])
def test_an_answer_that_cites_nothing_is_0_and_not_unknown(text):
    score = support_score(labels_of(text), unjudged=UNKNOWN)
    assert (score.precision, score.recall, score.is_unjudged) == (0, 0, False)


def test_the_majority_of_nobody_is_an_error():
    with pytest.raises(ValueError, match="no labels"):
        majority([])
