"""Labels of support: from replies, and as scores."""

import math

import pytest

from grading import support
from grading.errors import UnknownPrompt
from grading.support import JudgedCitations, Support, majority, support_score
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
    with pytest.raises(UnknownPrompt, match="known are SupportOfStatement@1"):
        support.support_prompt("SupportOfStatement@0")


def test_only_the_first_three_citations_of_a_sentence_are_judged():
    assert JudgedCitations.ALL.of("abcd") == ("a", "b", "c")
    assert JudgedCitations.ALL.of(()) == ()


def test_an_answer_without_a_label_has_no_score_rather_than_0():
    score = support_score([[MISSING], [FAILED]])
    assert math.isnan(score.precision)
    assert math.isnan(score.recall)
    assert (score.missing, score.failed, score.judged) == (1, 1, 0)


def test_an_uncited_sentence_beside_unlabelled_ones_makes_no_score():
    score = support_score([[MISSING], []])
    assert math.isnan(score.precision)
    assert math.isnan(score.recall)


def test_an_answer_without_sentences_has_no_score():
    assert math.isnan(support_score([]).recall)
    assert math.isnan(support_score([]).precision)


def test_a_sentence_whose_last_label_is_missing_counts_only_with_full_support():
    assert support_score([[1, MISSING], [0]]).recall == 0
    assert support_score([[2, MISSING], [0]]).recall == 0.5


def test_the_majority_of_nobody_is_an_error():
    with pytest.raises(ValueError, match="no labels"):
        majority([])
