"""What is said of two runs: never more than the topics show."""

import numpy as np
import pytest

from grading.statistics.max_t import PairedTest
from rubricweb.leaderboards.comparison.selectors import RunComparison, TopicPair
from rubricweb.leaderboards.comparison.sentences import document, sentence

VERDICT = "A is first; 18 more are not clearly behind."
NONE = {"low": -np.inf, "high": np.inf, "p": None}


def found(*, ahead=0.031, low=0.004, high=0.058, p=0.3, topics=54):
    pairs = tuple(TopicPair(n, f"t{n}", 0.5, 0.4) for n in range(topics))
    return RunComparison("A", "B", ahead, low, high, p, PairedTest.SIGN_FLIPS, VERDICT, pairs)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "A is ahead of B by 0.031 (95 % 0.004 to 0.058; 54 topics)."),
        ({"p": 0.04}, "A is clearly ahead of B by 0.031 (95 % 0.004 to 0.058; 54 topics)."),
        (
            {"low": -0.004},
            "A is ahead of B by 0.031 (95 % \N{MINUS SIGN}0.004 to 0.058; 54 topics).",
        ),
        ({**NONE, "topics": 5}, "A is ahead of B by 0.031 (5 topics)."),
        ({**NONE, "topics": 1}, "A is ahead of B by 0.031 (1 topic)."),
        (
            {"ahead": 0.0, "low": -0.0001, "high": 0.0001, "p": 1.0},
            "A and B score the same (95 % \N{MINUS SIGN}0.0001 to 0.0001; 54 topics).",
        ),
        (
            {"ahead": 0.0002, "low": 0.0001, "high": 0.0008, "p": 0.01},
            "A is clearly ahead of B by 0.0002 (95 % 0.0001 to 0.0008; 54 topics).",
        ),
        ({"ahead": np.nan}, "No topic counts for both A and B."),
    ],
)
def test_sentence_says_what_the_topics_show(known, said):
    assert sentence(found(**known)) == said


def test_a_pair_that_only_its_own_interval_tells_apart_is_not_called_clear():
    """Of many pairs some exclude 0 by chance: "clearly" is the board's word."""
    assert "clearly" not in sentence(found(low=0.004, p=0.3))


def test_document_begins_with_the_verdict_of_the_board():
    whole = document(found())
    assert whole["tex"] == f"{VERDICT} {sentence(found())}".replace("%", r"\%")
    assert next(iter(whole.items())) == ("verdict", VERDICT)


def test_document_has_no_infinite_number():
    few = document(found(**NONE, topics=5))
    assert (few["low"], few["high"], few["is_clear"]) == (None, None, False)
