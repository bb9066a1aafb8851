"""What is said of two runs: never more than the topics show."""

from dataclasses import replace

import numpy as np
import pytest

from grading.statistics.max_t import PairedTest
from rubricweb.leaderboards.comparison import (
    RunComparison,
    TopicPair,
    document,
    scores_and_difference,
    sentence,
    verdict,
)

VERDICT = "A is first; 18 more are not clearly behind."
DIFFER = "B is not clearly behind A, with a difference of 0.031"
NONE = {"low": -np.inf, "high": np.inf, "p": None}


def pair_of(*, ahead=0.031, low=0.004, high=0.058, p=0.3, topics=54):
    pairs = tuple(TopicPair(n, f"t{n}", 0.5, 0.4) for n in range(topics))
    return RunComparison("A", "B", ahead, low, high, p, PairedTest.SIGN_FLIPS, VERDICT, pairs)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, f"{DIFFER} (95 % 0.004 to 0.058; 54 topics)."),
        ({"p": 0.04}, "A is clearly ahead of B by 0.031 (95 % 0.004 to 0.058; 54 topics)."),
        (
            {"low": -0.004},
            f"{DIFFER} (95 % \N{MINUS SIGN}0.004 to 0.058; 54 topics).",
        ),
        ({**NONE, "topics": 5}, f"{DIFFER} (5 topics)."),
        ({**NONE, "topics": 1}, f"{DIFFER} (1 topic)."),
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
def test_sentence_says_what_the_topics_show(values, expected):
    assert sentence(pair_of(**values)) == expected


def test_a_pair_that_only_its_own_interval_tells_apart_is_not_called_clear():
    """Of many pairs some exclude 0 by chance: "clearly" is the board's word."""
    assert sentence(pair_of(low=0.004, p=0.3)).startswith("B is not clearly behind A")


def test_document_begins_with_the_verdict_of_the_board():
    whole = document(pair_of())
    assert whole["tex"] == f"{VERDICT} {sentence(pair_of())}".replace("%", r"\%")
    assert next(iter(whole.items())) == ("verdict", VERDICT)


def test_document_has_no_infinite_number():
    few = document(pair_of(**NONE, topics=5))
    assert (few["low"], few["high"], few["is_clear"]) == (None, None, False)


def test_verdict_keeps_the_colours_of_a_and_b_whichever_is_better():
    assert verdict(pair_of(), "A", "B") == (
        '<b class="run-b">B</b> is not clearly behind <b class="run-a">A</b> with 54 topics.'
    )
    assert '<b class="run-a">B</b> is not clearly behind <b class="run-b">A</b>' in verdict(
        pair_of(), "B", "A"
    )


def test_verdict_escapes_the_names_of_runs():
    assert "&lt;i&gt;" in verdict(replace(pair_of(), first="<i>"), "<i>", "B")


def test_difference_is_that_of_a():
    minus = "\N{MINUS SIGN}"
    assert scores_and_difference(pair_of(), 0.5, 0.469) == (
        "0.500 against 0.469; difference +0.031, 95 % +0.004 to +0.058."
    )
    assert scores_and_difference(pair_of(), 0.469, 0.5) == (
        f"0.469 against 0.500; difference {minus}0.031, 95 % {minus}0.058 to {minus}0.004."
    )
